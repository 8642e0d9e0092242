"""What a ConsumerGroupHeartbeat may say, and what it says of its member.

A field that is null is as it was. The first heartbeat of a member, with epoch 0, says everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from penstock.config import BrokerConfig
from penstock.coordination.group.consumer.member import LEFT_FOR_NOW, Profile
from penstock.coordination.regexes import check_regex
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

JOIN = 0
LEAVE = -1
UNCHANGED_MS = -1
ID_CHARS_MAX = 1_000
TOPICS_MAX = 10_000
TOPIC_CHARS_MAX = 249


def check_request(config: BrokerConfig, request: ConsumerGroupHeartbeatRequest) -> None:
    """Refuse what makes no sense whatever the group."""
    epoch = request.member_epoch
    if not request.group_id:
        raise _invalid("a group has a name")
    if not request.member_id and epoch != JOIN:
        raise _invalid("a member has an id: give the one that it joined with")
    for what, text in (("instance", request.instance_id), ("rack", request.rack_id)):
        if text == "":
            raise _invalid(f"an {what} id is null or a text, and not empty")
    _check_lengths(request)
    if epoch == JOIN:
        _check_join(request)
    elif epoch == LEFT_FOR_NOW and request.instance_id is None:
        raise _invalid("only static members leave for a while: give the instance id")
    elif epoch < LEFT_FOR_NOW:
        raise _invalid(f"there is no member epoch {epoch}")
    elif request.rebalance_timeout_ms < UNCHANGED_MS:
        raise _invalid("a rebalance timeout is not negative")
    _check_wishes(config, request)


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms < 0:
        raise _invalid("a member that joins gives its rebalance timeout")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("a member that joins has no partitions: send an empty list of them")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid("a member that joins subscribes to topics, by name or by expression")


def _check_lengths(request: ConsumerGroupHeartbeatRequest) -> None:
    for text in (request.member_id, request.instance_id, request.rack_id):
        if text is not None and len(text) > ID_CHARS_MAX:
            raise _invalid(f"an id has at most {ID_CHARS_MAX} characters")
    names = request.subscribed_topic_names
    if names is None:
        return
    check_topic_count(names)
    if any(len(name) > TOPIC_CHARS_MAX for name in names):
        raise _invalid(f"a topic's name has at most {TOPIC_CHARS_MAX} characters")


def check_topic_count(names: Sequence[str]) -> None:
    """Of a member's subscription, whichever protocol it speaks."""
    if len(names) > TOPICS_MAX:
        raise _invalid(f"a member subscribes to at most {TOPICS_MAX} topics by name")


def _check_wishes(config: BrokerConfig, request: ConsumerGroupHeartbeatRequest) -> None:
    assignor, regex = request.server_assignor, request.subscribed_topic_regex
    if assignor is not None and assignor not in config.group_consumer_assignors:
        raise Refused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"there is no assignor {assignor[:100]!r}; this broker has "
            f"{', '.join(config.group_consumer_assignors)}",
        )
    if regex:
        check_regex(regex)


def _invalid(reason: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, reason)


def profile_after(
    profile: Profile, request: ConsumerGroupHeartbeatRequest, client_id: str, client_host: str
) -> Profile:
    """What a member says of itself, with what the request says. It is the same if nothing new."""
    changes: dict[str, object] = {"client_id": client_id, "client_host": client_host}
    changes["classic"] = None
    if request.instance_id is not None:
        changes["instance_id"] = request.instance_id
    if request.rack_id is not None:
        changes["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != UNCHANGED_MS:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.subscribed_topic_names is not None:
        changes["topics"] = tuple(sorted(set(request.subscribed_topic_names)))
    if request.subscribed_topic_regex is not None:
        changes["regex"] = request.subscribed_topic_regex
    if request.server_assignor is not None:
        changes["assignor"] = request.server_assignor
    after = replace(profile, **changes)
    return profile if after == profile else after


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether it says everything: then the member may have missed an answer."""
    return (
        request.rebalance_timeout_ms != UNCHANGED_MS
        and request.topic_partitions is not None
        and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
    )


def says_nothing_new(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Of the member: what it has may be said."""
    return (
        request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.server_assignor is None
        and request.rack_id is None
        and request.rebalance_timeout_ms == UNCHANGED_MS
    )
