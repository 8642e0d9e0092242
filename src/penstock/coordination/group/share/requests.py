"""What a ShareGroupHeartbeat may say, and what it says of its member.

A field that is null is as it was. The first heartbeat of a member, with epoch 0, says everything.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from penstock.coordination.group.share.draft import is_shared
from penstock.coordination.group.share.state import Profile, ShareGroup
from penstock.errors import ErrorCode, Refused
from penstock.metadata.image import Image
from penstock.wire.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest

JOIN = 0
LEAVE = -1
ID_CHARS_MAX = 1_000
TOPICS_MAX = 10_000
TOPIC_CHARS_MAX = 249
NAMES_MAX = 100_000
"""Of topics in all different subscriptions of a group. Members that name the same count once."""


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    """Refuse what makes no sense whatever the group."""
    names = request.subscribed_topic_names
    if not request.group_id:
        raise _invalid("a group has a name")
    if not request.member_id:
        raise _invalid("a member brings an id of its own")
    if request.member_epoch < LEAVE:
        raise _invalid(f"there is no member epoch {request.member_epoch}")
    if request.rack_id == "":
        raise _invalid("a rack id is null or a text, and not empty")
    if request.member_epoch == JOIN and not names:
        raise _invalid("a member that joins subscribes to topics, by name")
    if max(len(request.member_id), len(request.rack_id or "")) > ID_CHARS_MAX:
        raise _invalid(f"an id has at most {ID_CHARS_MAX} characters")
    if names is not None and len(names) > TOPICS_MAX:
        raise _invalid(f"a member subscribes to at most {TOPICS_MAX} topics")
    if any(len(name) > TOPIC_CHARS_MAX for name in names or ()):
        raise _invalid(f"a topic's name has at most {TOPIC_CHARS_MAX} characters")


def check_subscription(
    image: Image, body: ShareGroup, before: Profile, names: Collection[str]
) -> None:
    """Refuse one of which nothing could ever be given to the member, and one too many."""
    count = body.names_after(before.topics, tuple(sorted(set(names))))
    if count > max(NAMES_MAX, body.names):
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"the members would name {count} topics in different subscriptions, {NAMES_MAX} are "
            "allowed: let them name the same, or use another group",
        )
    if names and all(_cannot_be_shared(image, name) for name in names):
        first = min(names)
        raise _invalid(
            f"{first} is a view, or a topic that brokers keep for themselves: share groups read "
            "neither; subscribe to the topic that the view is of, or read the view in a consumer "
            "group"
        )


def _cannot_be_shared(image: Image, name: str) -> bool:
    is_view = name not in image.topics and image.readable.topic(name) is not None
    return is_view or not is_shared(name)


def _invalid(reason: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, reason)


def profile_after(
    profile: Profile, request: ShareGroupHeartbeatRequest, client_id: str, client_host: str
) -> Profile:
    """What a member says of itself, with what the request says. It is the same if nothing new."""
    names = request.subscribed_topic_names
    after = replace(
        profile,
        rack_id=profile.rack_id if request.rack_id is None else request.rack_id,
        client_id=client_id,
        client_host=client_host,
        topics=profile.topics if names is None else tuple(sorted(set(names))),
    )
    return profile if after == profile else after
