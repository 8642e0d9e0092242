"""A group with offsets, and the topics that they are in."""

from __future__ import annotations

from typing import Any

from tests.coordination.group.classic.stage import NAME, NOW_MS, Stage

from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import MINUTE_MS, Committed, every, write_commit
from penstock.coordination.turn import Turn
from penstock.metadata.records import (
    PartitionRecord,
    Sealed,
    TopicRecord,
    encode,
    partition_key,
    topic_key,
)
from penstock.metadata.store import Entry
from penstock.metadata.store import Event as StoreEvent

RETENTION_MS = 60 * MINUTE_MS
DAY_MS = 24 * 60 * MINUTE_MS
FORMER_ID, TOPIC_ID, SEALED_ID = b"f" * 16, b"t" * 16, b"s" * 16
SEALED = "orders.sealed-1"


def a_stage() -> Stage:
    stage = Stage(offsets_retention_minutes=60)
    for name in ("orders", "other"):
        set_topic(stage, TOPIC_ID, name)
    return stage


def set_topic(
    stage: Stage, topic_id: bytes | None, name: str = "orders", created_ms: int = NOW_MS
) -> None:
    """The topic of that name is this one from now on, or none."""
    key, revision = topic_key(name), stage.image.revision + 1
    entry = None
    if topic_id is not None:
        record = TopicRecord(name, topic_id, 9, 1, created_ms)
        entry = Entry(key, encode(record), revision)
    stage.image.apply([StoreEvent(key, entry, revision)], revision)


def seal(stage: Stage, first: int = 6) -> None:
    """The last partitions of the topic are in a topic of their own from now on."""
    revision = stage.image.revision + 1
    reduced = TopicRecord("orders", TOPIC_ID, first, 1, NOW_MS)
    sealed = TopicRecord(
        SEALED, SEALED_ID, 9 - first, 1, NOW_MS + DAY_MS, sealed=Sealed(name="orders", first=first)
    )
    entries = [Entry(topic_key(each.name), encode(each), revision) for each in (reduced, sealed)]
    record = PartitionRecord((1,), 1, (1,), log_id=TOPIC_ID)
    entries += [
        Entry(partition_key(SEALED_ID, index), encode(record), revision)
        for index in range(9 - first)
    ]
    stage.image.apply([StoreEvent(each.key, each, revision) for each in entries], revision)


def commit(stage: Stage, partition: int = 0, *, topic: str = "orders", **fields: Any) -> None:
    def decide(turn: Turn, group: Group) -> None:
        committed = Committed(fields.pop("offset", 5), commit_ms=turn.now_ms, **fields)
        write_commit(turn, group.name, topic, partition, committed)

    stage.run(decide)


def offsets(stage: Stage) -> dict[tuple[str, int], int]:
    group = stage.groups.get(NAME)
    return {(topic, part): each.offset for topic, part, each in every(group)} if group else {}
