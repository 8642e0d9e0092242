"""What happens to every group, done in the way of the protocol that it speaks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from penstock.coordination.group import offsets
from penstock.coordination.group.classic import leaving as classic
from penstock.coordination.group.classic import stored as classic_stored
from penstock.coordination.group.classic.plans import fits_topics
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.subscriptions import CONSUMER
from penstock.coordination.group.consumer import commits as consumer_commits
from penstock.coordination.group.consumer import expiry as consumer
from penstock.coordination.group.consumer import stored as consumer_stored
from penstock.coordination.group.consumer import topics as consumer_topics
from penstock.coordination.group.consumer.describing import state_name as consumer_state_name
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share import sessions as share
from penstock.coordination.group.share import shares
from penstock.coordination.group.share.describing import state_of as share_state_of
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.image import Image
from penstock.wire.stored.group_metadata import GroupMetadataKey

DEAD = "Dead"
SHARE = "share"
"""As a type of protocol."""


class Found(NamedTuple):
    """What has come of a group while there was no coordinator: nobody was told of topics that were
    deleted or have grown."""

    has_strays: bool = False
    fits_topics: bool = True


def look_at(image: Image, group: Group, pace: Pace) -> Steps[Found]:
    """Ahead of `begin`, as it takes long where there are many offsets or long subscriptions."""
    has_strays = yield from offsets.look_for_strays(image, group, pace)
    if not isinstance(group.body, Classic):
        return Found(has_strays)
    fits = yield from fits_topics(image, group.body, pace)
    return Found(has_strays, fits)


def begin(turn: Turn, group: Group, found: Found) -> None:
    """A coordinator has been loaded: members are given the time of a session to find it."""
    if group.is_ending:
        turn.wake_at(turn.time_ms)
        return
    if found.has_strays:
        offsets.note_strays(turn, group)
    if isinstance(group.body, Classic):
        classic.begin_sessions(turn, group.body)
        if group.body.leader is None or not found.fits_topics:
            classic.rebalance(turn, group, group.body)
        return
    if isinstance(group.body, ShareGroup):
        share.begin_sessions(turn, group.body)
        return
    if group.is_empty:  # since when is not written
        group.emptied_ms = group.emptied_ms or turn.now_ms
    consumer.begin_sessions(turn, group.body)


def expire(turn: Turn, group: Group) -> None:
    """What is due by now: sessions, rounds, revocations, offsets of deleted topics."""
    if group.is_ending:
        end_on(turn, group)
        return
    if group.doubtful is not None:
        offsets.clear_strays(turn, group)
    if isinstance(group.body, Classic):
        classic.expire(turn, group, group.body)
    elif isinstance(group.body, ShareGroup):
        share.expire(turn, group, group.body)
    else:
        consumer.expire(turn, group)


def delete(turn: Turn, group: Group) -> None:
    """Decide that it goes, if nobody is in it. One that has many offsets ends by and by, with turns
    of its own (`end_on`), and whatever happens: should the broker stop, when it is loaded again. So
    does a share group, whose shares others have to delete."""
    if not group.is_empty:
        raise _non_empty(group)
    if isinstance(group.body, ShareGroup):
        shares.delete(turn, group)
        return
    if group.pending is not None:
        raise Refused(
            ErrorCode.NON_EMPTY_GROUP,
            f"a transaction is about to commit offsets of group {group.name}: wait for its end",
        )
    if not offsets.are_many(group):
        _forget_all(turn, group)
        return
    if not isinstance(group.body, Classic):
        consumer_stored.write_end(turn, group)
    classic_stored.write_ending(turn, group.name)
    turn.wake_at(turn.time_ms)


def ends_in_turns(group: Group) -> bool:
    """Whether it is a matter of some more turns, and of nobody else."""
    return group.is_ending and isinstance(group.body, Classic)


def end_on(turn: Turn, group: Group) -> None:
    """Some more of a group that is being deleted goes, and in the end all of it."""
    if isinstance(group.body, ShareGroup):
        return
    if offsets.are_many(group):
        offsets.forget_some(turn, group)
        turn.wake_at(turn.time_ms)
    else:
        _forget_all(turn, group)


def _forget_all(turn: Turn, group: Group) -> None:
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
    if isinstance(group.body, Consumer):
        consumer_stored.write_end(turn, group)
    elif isinstance(group.body, Classic) and group.body.is_saved:
        classic_stored.write_end(turn, group.name)


def topics_deleted(turn: Turn, group: Group, deleted: Mapping[str, int]) -> None:
    """When each was: by now there may be another topic of the same name, and offsets in that."""
    topics = group.offsets.keys() & deleted.keys()
    for topic in topics:
        offsets.forget_unmarked(turn, group, topic, deleted[topic])
    if next(offsets.strays(turn.image, group, topics), None) is not None:
        offsets.note_strays(turn, group)


def topics_changed(turn: Turn, group: Group, topics: Collection[str]) -> None:
    """Their partitions are others now, or they are new, or gone: members share the work anew.

    Those of a classic group are known to read them; others look for themselves.
    """
    if isinstance(group.body, ShareGroup):
        share.topics_changed(turn, group, group.body, topics)
    elif not isinstance(group.body, Classic):
        consumer_topics.topics_changed(turn, group, topics)
    elif topics:
        classic.rebalance(turn, group, group.body)


def has_left_traces(turn: Turn) -> bool:
    """Whether memory is not as it was before: classic groups change as it is decided, others when
    it is applied, and so does a group that becomes one of the other protocol."""
    if turn.hands_on:
        return False
    return bool(turn.answers) or any(
        isinstance(event.key, GroupMetadataKey) and event.value is not None for event in turn.events
    )


def check_may_commit(
    turn: Turn, group: Group, member_id: str, instance_id: str | None, generation: int
) -> None:
    refuse_shares(group)
    if isinstance(group.body, Classic):
        classic.check_may_commit(turn, group.body, member_id, instance_id, generation)
    elif isinstance(group.body, Consumer):
        consumer_commits.check_may_commit(turn, group.body, member_id, instance_id, generation)


def refuse_shares(group: Group) -> None:
    """What is about the offsets of a share group: where it is, its shares know."""
    if isinstance(group.body, ShareGroup):
        raise Refused(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"{group.name[:300]!r} is a share group, which has no committed offsets: ask for the "
            "offsets of a share group",
        )


def check_may_fetch(group: Group, member_id: str | None, epoch: int) -> None:
    refuse_shares(group)
    if isinstance(group.body, Consumer):
        consumer_commits.check_may_fetch(group.body, member_id, epoch)


def check_may_forget(group: Group) -> None:
    """Refuse to delete offsets under members of whom it cannot be known what they read."""
    refuse_shares(group)
    if not group.is_empty and protocol_type(group) != CONSUMER:
        raise _non_empty(group)


def has_been_read(group: Group, topic: str) -> bool:
    """Whether it is known where the group is in a topic, or was in one of that name."""
    if isinstance(group.body, ShareGroup):
        return group.body.begun.has(topic)
    return topic in group.offsets


def state_name(group: Group) -> str:
    if isinstance(group.body, Classic):
        return group.body.phase.value
    if isinstance(group.body, ShareGroup):
        return share_state_of(group.body).value
    return consumer_state_name(group)


def type_name(group: Group) -> str:
    if isinstance(group.body, ShareGroup):
        return "Share"
    return "Classic" if isinstance(group.body, Classic) else "Consumer"


def protocol_type(group: Group) -> str:
    if isinstance(group.body, ShareGroup):
        return SHARE
    return group.body.protocol_type if isinstance(group.body, Classic) else CONSUMER
