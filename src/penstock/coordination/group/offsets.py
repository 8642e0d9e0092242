"""Where groups are: the offsets that they have committed, and when those are forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from penstock.coordination.pace import Pace
from penstock.coordination.turn import Turn
from penstock.log.steps import Steps
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.wire.primitives import NULL_UUID
from penstock.wire.stored.offset_commit import OffsetCommitKey, OffsetCommitValue

if TYPE_CHECKING:
    from penstock.coordination.group.groups import Group, Groups

MINUTE_MS = 60_000
NEVER_MS = -1
WITH_EXPIRY, WITH_TOPIC_ID = 1, 4
"""Versions of what is written: no one of them can say both."""
OFFSETS_A_TURN = 1000
"""Of a group that is deleted: a few milliseconds."""
STRAYS_A_TURN = 50
"""Of topics or partitions that are no more. Many groups are looked at one after the other, and each
may have thousands."""
LOOKED_AT_A_TURN = 5000
"""To find those: one or two milliseconds."""
TOPIC_IDS_SHARED = 10_000


class Committed(Struct, frozen=True, gc=False):
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_ms: int = 0
    expire_ms: int = NEVER_MS
    """When a client of old has asked for it to be forgotten."""
    topic_id: bytes = NULL_UUID
    """There may be another topic of the same name by now. Null where nobody has written it."""


def write_commit(turn: Turn, group: str, topic: str, partition: int, committed: Committed) -> None:
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
        topic_id=committed.topic_id,
    )
    version = WITH_TOPIC_ID if committed.expire_ms == NEVER_MS else WITH_EXPIRY
    turn.write(OffsetCommitKey(group, topic, partition), value, version)


def forget(turn: Turn, group: str, topic: str, partition: int) -> None:
    turn.write(OffsetCommitKey(group, topic, partition), None)


def are_many(group: Group) -> bool:
    """More than should go in one turn."""
    return count(group) > OFFSETS_A_TURN


def count(group: Group) -> int:
    return sum(map(len, group.offsets.values()))


def forget_some(turn: Turn, group: Group) -> None:
    for topic, partition, _ in islice(every(group), OFFSETS_A_TURN):
        forget(turn, group.name, topic, partition)


def forget_topic(turn: Turn, group: Group, topic: str) -> None:
    for partition in group.offsets.get(topic, ()):
        forget(turn, group.name, topic, partition)


def forget_unmarked(turn: Turn, group: Group, topic: str, until_ms: int) -> None:
    """What was committed until a moment and does not say in which of the topics of that name."""
    for partition, committed in group.offsets.get(topic, {}).items():
        if is_awaited(group, topic, partition):
            continue
        if committed.topic_id == NULL_UUID and committed.commit_ms <= until_ms:
            forget(turn, group.name, topic, partition)


def is_of(topic: Topic | None, partition: int, committed: Committed) -> bool:
    """Whether it was committed in this partition, and not in a deleted one of the same name. Where
    it does not say which, the time tells."""
    if topic is None or partition >= topic.record.partitions:
        return False
    if committed.topic_id == NULL_UUID:
        return committed.commit_ms >= topic.record.created_ms
    return committed.topic_id == topic.log_id(partition)


def is_awaited(group: Group, topic: str, partition: int) -> bool:
    """Whether a transaction is about to say where the group is."""
    return group.pending is not None and (topic, partition) in group.pending


def strays(image: Image, group: Group, topics: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Partitions with offsets whose topic is no more, whatever has its name now."""
    for name in topics:
        topic = image.readable.topic(name)
        for partition, committed in group.offsets.get(name, {}).items():
            if is_of(topic, partition, committed):
                continue
            if is_awaited(group, name, partition):
                group.has_awaited_strays = True
                continue  # an end that is written now would hide what the transaction commits
            yield name, partition


def look_for_strays(image: Image, group: Group, pace: Pace) -> Steps[bool]:
    """Whether there are any, in all of its topics."""
    for name in list(group.offsets):
        if next(strays(image, group, (name,)), None) is not None:
            return True
        if pace.is_spent(1 + len(group.offsets[name])):
            yield None
    return False


def note_strays(turn: Turn, group: Group) -> None:
    """There are some: the group is looked at for that at once."""
    group.doubtful = list(group.offsets)
    turn.wake_at(turn.time_ms)


def clear_strays(turn: Turn, group: Group) -> None:
    """Some of them, and what is left is looked at in the next turn."""
    doubtful, left, looked_at = group.doubtful or [], STRAYS_A_TURN, 0
    while doubtful and left and looked_at < LOOKED_AT_A_TURN:
        found = list(islice(strays(turn.image, group, doubtful[-1:]), left))
        for topic, partition in found:
            _carry_over(turn, group, topic, partition)
            forget(turn, group.name, topic, partition)
        left -= len(found)
        looked_at += 1 + len(group.offsets.get(doubtful[-1], ()))
        if left:
            doubtful.pop()
    turn.spend(looked_at)
    group.doubtful = doubtful or None
    if doubtful:
        turn.wake_at(turn.time_ms)


def _carry_over(turn: Turn, group: Group, topic: str, partition: int) -> None:
    """Where the partition is read in a sealed topic now, the group goes on there from where it was;
    unless it has begun to already. In one turn with the end of what was committed before, so that
    it is in either place whatever happens."""
    committed = group.offsets[topic][partition]
    place = turn.image.sealed.place(topic, partition, committed.topic_id)
    if place is None or is_awaited(group, place[0].name, place[1]):
        return
    if committed_in_sealed(group, *place) is committed:
        write_commit(turn, group.name, place[0].name, place[1], committed)


def committed_in_sealed(group: Group, topic: Topic, partition: int) -> Committed | None:
    """Where a group is in a sealed topic. What was not carried over yet is where it was before."""
    sealed = topic.record.sealed
    places = [(topic.name, partition)]
    if sealed is not None:
        places.append((sealed.name, sealed.first + partition))
    for name, index in places:
        committed = group.offsets.get(name, {}).get(index)
        if committed is not None and is_of(topic, partition, committed):
            return committed
    return None


def every(group: Group) -> Iterator[tuple[str, int, Committed]]:
    for topic, partitions in group.offsets.items():
        for partition, committed in partitions.items():
            yield topic, partition, committed


def apply_commit(groups: Groups, key: OffsetCommitKey, value: OffsetCommitValue | None) -> None:
    if value is None:
        _remove(groups, key)
        return
    group = groups.get_or_add(key.group)
    if group.pending is not None:
        group.pending.drop((key.topic, key.partition))
        group.pending = group.pending or None
    put_commit(groups, key, value)


def put_commit(groups: Groups, key: OffsetCommitKey, value: OffsetCommitValue) -> None:
    offsets, topic = groups.get_or_add(key.group).offsets, groups.intern(key.topic)
    partitions = offsets.get(topic)
    if partitions is None:
        partitions = offsets[topic] = {}
    partitions[key.partition] = Committed(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        _shared(value.topic_id),
    )


@lru_cache(maxsize=TOPIC_IDS_SHARED)
def _shared(topic_id: bytes) -> bytes:
    """The same object for the same id: there are many more offsets than topics."""
    return topic_id


def _remove(groups: Groups, key: OffsetCommitKey) -> None:
    group = groups.get(key.group)
    if group is not None and group.pending is not None:
        group.pending.drop((key.topic, key.partition))
        group.pending = group.pending or None
    partitions = group.offsets.get(key.topic) if group else None
    if group is None or partitions is None:
        return
    partitions.pop(key.partition, None)
    if not partitions:
        del group.offsets[key.topic]
