"""The things that an image of the cluster is made of."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from penstock.config import TopicConfig
from penstock.metadata.records import BrokerRecord, PartitionRecord, Record, TopicRecord, decode
from penstock.metadata.store import Entry

K = TypeVar("K")
R = TypeVar("R", bound=Record)

OPEN = "partitions.open"
"""The setting that says how many partitions a topic is to have."""


@dataclass(frozen=True, slots=True)
class Held(Generic[R]):
    record: R
    revision: int
    session: str | None = None


def hold(held: dict[K, Held[R]], kind: type[R], key: K, entry: Entry | None) -> None:
    """What a key says now, or nothing any more."""
    if entry is None:
        held.pop(key, None)
    else:
        held[key] = Held(decode(kind, entry.key, entry.value), entry.revision)


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that is registered, which is to say alive as far as the store knows."""

    record: BrokerRecord
    epoch: int
    session: str | None

    @property
    def node_id(self) -> int:
        return self.record.node_id


class Topic:
    """A topic as long as it has the same id; changed in place."""

    __slots__ = ("config", "record", "revision", "table")

    def __init__(self, record: TopicRecord, revision: int, table: Partitions) -> None:
        self.record = record
        self.revision = revision
        self.table = table
        self.config: TopicConfig | None = None
        """Kept here until something it depends on changes; ask `Settings.of_topic`."""

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def id(self) -> bytes:
        return self.record.topic_id

    @property
    def shown_id(self) -> bytes:
        """What clients know it by."""
        return self.record.shown_id or self.record.topic_id

    @property
    def open_partitions(self) -> int:
        """How many are to stay; the others are closing."""
        if self.record.closing is None:
            return self.record.partitions
        return int(self.record.configs[OPEN])

    @property
    def closed_range(self) -> range:
        """Partitions that nothing is written to for the moment in which the topic loses some: all,
        where keys move between those that stay too, which is where the new number does not divide
        the old one."""
        count, left = self.record.partitions, self.open_partitions
        return range(0 if count % left else left, count)

    @property
    def partitions(self) -> Sequence[PartitionRecord | None]:
        """By index. None only while the store is changed by hand or not wholly loaded."""
        records, count = self.table.records, self.record.partitions
        return records if len(records) <= count else records[:count]

    @property
    def record_count(self) -> int:
        """Of partitions that there are or were."""
        return len(self.table.records)

    def last_record(self, index: int) -> PartitionRecord | None:
        """Of a partition that may have gone: its record is left, for one that comes after it."""
        return self.table.get(index)

    def has_lost(self, index: int) -> bool:
        """Whether there was such a partition, and is no more."""
        return index >= self.record.partitions and self.last_record(index) is not None

    def is_newer(self, index: int, shown_id: bytes, epoch: int) -> bool:
        """Than who knows the topic by an id, and the partition by a leader epoch (-1: by none). It
        means the partition that was in this place before."""
        record = self.partition(index)
        if record is None or not record.log_id:
            return False
        ids = (self.shown_id, *self.record.former_ids)  # the latest first
        is_older_id = shown_id in ids and ids.index(shown_id) > _place(ids, record.log_id)
        return is_older_id or 0 <= epoch < record.first_epoch

    def log_id(self, index: int) -> bytes:
        """What the log of a partition is known by, on disk and in committed offsets."""
        record = self.table.get(index)
        return (record.log_id if record else b"") or self.id

    @property
    def log_ids(self) -> Collection[bytes]:
        """All that its logs may be known by, also when its partitions' records have gone."""
        return self.id, *self.record.log_ids

    def partition(self, index: int) -> PartitionRecord | None:
        return self.table.get(index) if index < self.record.partitions else None

    def partition_revision(self, index: int) -> int:
        return self.table.revisions[index]


class Partitions:
    """The partitions of one topic id."""

    __slots__ = ("records", "revisions")

    def __init__(self) -> None:
        self.records: list[PartitionRecord | None] = []
        self.revisions = array("q")

    def get(self, index: int) -> PartitionRecord | None:
        return self.records[index] if 0 <= index < len(self.records) else None

    def put(self, index: int, record: PartitionRecord, revision: int) -> None:
        missing = index + 1 - len(self.records)
        if missing > 0:
            self.records.extend([None] * missing)
            self.revisions.extend([0] * missing)
        self.records[index] = record
        self.revisions[index] = revision

    def remove(self, index: int) -> None:
        if index < len(self.records):
            self.records[index] = None
        while self.records and self.records[-1] is None:
            self.records.pop()
            self.revisions.pop()


def replicas_of(topic: Topic) -> Counter[int]:
    """How many replicas of a topic's partitions each broker has.

    Partitions of one shape share their record, so they are counted together.
    """
    shapes = {id(record): record for record in topic.partitions}
    held: Counter[int] = Counter()
    for shape, count in Counter(map(id, topic.partitions)).items():
        record = shapes[shape]
        for broker in record.replicas if record else ():
            held[broker] += count
    return held


@dataclass(slots=True)
class Changed:
    """What a step changed, for a node that has to follow. A topic is in one of the first three."""

    created: dict[bytes, Topic] = field(default_factory=dict)
    altered: dict[bytes, Topic] = field(default_factory=dict)
    """Its settings or its number of partitions."""
    reduced: dict[bytes, range] = field(default_factory=dict)
    """Partitions that topics among the altered ones have no more."""
    deleted: dict[bytes, Topic] = field(default_factory=dict)
    """As they were, but that `partitions` may be empty; `record.partitions` is their number."""
    partitions: dict[tuple[bytes, int], None] = field(default_factory=dict)
    """New or changed, of topics that are there; in order, each once."""
    brokers: set[int] = field(default_factory=set)
    """Registered, registered again, about to stop, or gone."""
    members: set[int] = field(default_factory=set)
    """New, with another data folder, or gone for good."""
    controller: bool = False
    """Another broker is the controller now, or may be."""
    broker_configs: bool = False
    """So any topic or group may behave otherwise, and this broker too."""
    group_configs: set[str] = field(default_factory=set)
    """Groups that got other settings of their own, by name; there may be no such groups yet."""
    features: bool = False
    views: dict[str, Topic | None] = field(default_factory=dict)
    """New, with another number of partitions, or gone; by name."""


def _place(ids: Sequence[bytes], wanted: bytes) -> int:
    return ids.index(wanted) if wanted in ids else len(ids)
