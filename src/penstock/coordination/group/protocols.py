"""What happens to every group, done in the way of the protocol that it speaks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.coordination.group import offsets
from penstock.coordination.group.classic import leaving as classic
from penstock.coordination.group.classic import stored as classic_stored
from penstock.coordination.group.classic.plans import fits_topics
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.subscriptions import (
    CONSUMER,
    classic_subscribes_to,
    may_subscribe_to,
)
from penstock.coordination.group.consumer import commits as consumer_commits
from penstock.coordination.group.consumer import expiry as consumer
from penstock.coordination.group.consumer import stored as consumer_stored
from penstock.coordination.group.consumer import topics as consumer_topics
from penstock.coordination.group.consumer.describing import state_name as consumer_state_name
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused

DEAD = "Dead"


def begin(turn: Turn, group: Group) -> None:
    """A coordinator has been loaded: members are given the time of a session to find it.

    While there was none, nobody was told of topics that were deleted or have grown.
    """
    offsets.note_strays(turn, group)
    if isinstance(group.body, Classic):
        classic.begin_sessions(turn, group.body)
        if group.body.leader is None or not fits_topics(turn.image, group.body):
            classic.rebalance(turn, group, group.body)
        return
    if group.is_empty:  # since when is not written
        group.emptied_ms = group.emptied_ms or turn.now_ms
    consumer.begin_sessions(turn, group.body)


def expire(turn: Turn, group: Group) -> None:
    """What is due by now: sessions, rounds, revocations, offsets of deleted topics."""
    if group.has_strays:
        offsets.forget_strays(turn, group)
    if isinstance(group.body, Classic):
        classic.expire(turn, group, group.body)
    else:
        consumer.expire(turn, group)


def forget_old(turn: Turn, group: Group) -> None:
    """Offsets of a group that has been empty for long, and then the group itself."""
    if not group.is_empty:
        return
    expired = offsets.forget_expired(turn, group)
    if expired == sum(map(len, group.offsets.values())):
        write_end(turn, group)


def delete(turn: Turn, group: Group) -> None:
    if not group.is_empty:
        raise _non_empty(group)
    for topic in group.offsets:
        offsets.forget_topic(turn, group, topic)
    write_end(turn, group)


def _non_empty(group: Group) -> Refused:
    return Refused(
        ErrorCode.NON_EMPTY_GROUP,
        f"group {group.name} has {len(group.body.members)} members: stop them first",
    )


def write_end(turn: Turn, group: Group) -> None:
    """Everything that is stored of it apart from offsets goes."""
    if not isinstance(group.body, Classic):
        consumer_stored.write_end(turn, group)
    elif group.body.is_saved:
        classic_stored.write_end(turn, group.name)


def topics_deleted(turn: Turn, group: Group, deleted: Mapping[str, int]) -> None:
    """When each was: by now there may be another topic of the same name, and offsets in that."""
    for topic, until_ms in deleted.items():
        offsets.forget_unmarked(turn, group, topic, until_ms)
    offsets.note_strays(turn, group)


def topics_changed(turn: Turn, group: Group, topics: Collection[str]) -> None:
    """Their partitions are others now, or they are new, or gone: members share the work anew."""
    if not isinstance(group.body, Classic):
        consumer_topics.topics_changed(turn, group, topics)
    elif classic_subscribes_to(group.body, topics):
        classic.rebalance(turn, group, group.body)


def check_may_commit(
    turn: Turn, group: Group, member_id: str, instance_id: str | None, generation: int
) -> None:
    if isinstance(group.body, Classic):
        classic.check_may_commit(turn, group.body, member_id, instance_id, generation)
    else:
        consumer_commits.check_may_commit(turn, group.body, member_id, instance_id, generation)


def check_may_fetch(group: Group, member_id: str | None, epoch: int) -> None:
    if not isinstance(group.body, Classic):
        consumer_commits.check_may_fetch(group.body, member_id, epoch)


def check_may_forget(group: Group) -> None:
    """Refuse to delete offsets under members of whom it cannot be known what they read."""
    if not group.is_empty and protocol_type(group) != CONSUMER:
        raise _non_empty(group)


def subscribes_to(group: Group, topic: str) -> bool:
    if isinstance(group.body, Classic):
        return may_subscribe_to(group.body, topic)
    return consumer_commits.subscribes_to(group.body, topic)


def state_name(group: Group) -> str:
    if isinstance(group.body, Classic):
        return group.body.phase.value
    return consumer_state_name(group)


def type_name(group: Group) -> str:
    return "Classic" if isinstance(group.body, Classic) else "Consumer"


def protocol_type(group: Group) -> str:
    return group.body.protocol_type if isinstance(group.body, Classic) else CONSUMER
