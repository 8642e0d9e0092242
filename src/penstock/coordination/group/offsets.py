"""Where groups are: the offsets that they have committed, and when those are forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from penstock.coordination.turn import Turn
from penstock.wire.stored.offset_commit import OffsetCommitKey, OffsetCommitValue

if TYPE_CHECKING:
    from penstock.coordination.group.groups import Group, Groups

MINUTE_MS = 60_000
NEVER_MS = -1
WITH_EXPIRY, WITH_EPOCH = 1, 3
"""Versions of what is written: no one of them can say both."""


class Committed(Struct, frozen=True, gc=False):
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_ms: int = 0
    expire_ms: int = NEVER_MS
    """When a client of old has asked for it to be forgotten."""


def write_commit(turn: Turn, group: str, topic: str, partition: int, committed: Committed) -> None:
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
    )
    version = WITH_EPOCH if committed.expire_ms == NEVER_MS else WITH_EXPIRY
    turn.write(OffsetCommitKey(group, topic, partition), value, version)


def forget(turn: Turn, group: str, topic: str, partition: int) -> None:
    turn.write(OffsetCommitKey(group, topic, partition), None)


def forget_topic(turn: Turn, group: Group, topic: str, until_ms: int | None = None) -> None:
    """All of it, or what was committed until a moment."""
    for partition, committed in group.offsets.get(topic, {}).items():
        if until_ms is None or committed.commit_ms <= until_ms:
            forget(turn, group.name, topic, partition)


def forget_expired(turn: Turn, group: Group) -> int:
    """Only of a group without members: one that is there, however quiet, keeps its place."""
    count = 0
    retention_ms = turn.config.offsets_retention_minutes * MINUTE_MS
    for topic, partition, committed in every(group):
        since_ms = max(committed.commit_ms, group.emptied_ms)
        if committed.expire_ms != NEVER_MS:
            is_due = turn.now_ms >= committed.expire_ms
        else:
            is_due = turn.now_ms - since_ms >= retention_ms
        if is_due:
            forget(turn, group.name, topic, partition)
            count += 1
    return count


def every(group: Group) -> Iterator[tuple[str, int, Committed]]:
    for topic, partitions in group.offsets.items():
        for partition, committed in partitions.items():
            yield topic, partition, committed


def apply_commit(groups: Groups, key: OffsetCommitKey, value: OffsetCommitValue | None) -> None:
    if value is None:
        _remove(groups, key)
        return
    offsets = groups.get_or_add(key.group).offsets
    topic = groups.intern(key.topic)
    partitions = offsets.get(topic)
    if partitions is None:
        partitions = offsets[topic] = {}
    partitions[key.partition] = Committed(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
    )


def _remove(groups: Groups, key: OffsetCommitKey) -> None:
    group = groups.get(key.group)
    partitions = group.offsets.get(key.topic) if group else None
    if group is None or partitions is None:
        return
    partitions.pop(key.partition, None)
    if not partitions:
        del group.offsets[key.topic]
