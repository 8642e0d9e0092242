"""Topics that show a part of another one: its partitions, offsets and epochs, and of its records
those that match a predicate.

Nothing is stored for a view but its record. To who reads, it is a topic like others, with an id of
its own; to who writes, elects or places, it is not there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster import Topic
from penstock.metadata.records import TopicRecord, ViewRecord

VIEW_OF, VIEW_WHERE, VIEW_IDLE = "view.of", "view.where", "view.idle.ms"
"""What CreateTopics says of a view, and DescribeConfigs: the topic, the predicate, and after how
long without a reader it goes."""


class View(Topic):
    __slots__ = ("held", "source")

    def __init__(self, held: ViewRecord, revision: int, source: Topic) -> None:
        super().__init__(_shown(held, source), revision, source.table)
        self.held = held
        self.source = source

    def is_newer(self, index: int, shown_id: bytes, epoch: int) -> bool:
        mine, theirs = (self.shown_id, *self.record.former_ids), self.source.record.former_ids
        known = dict(zip(mine, (self.source.shown_id, *theirs), strict=True))
        return self.source.is_newer(index, known.get(shown_id, b""), epoch)

    def log_id(self, index: int) -> bytes:
        """Offsets that were committed in a view are of that view, and of no other of its name; nor
        of a partition that was in the same place."""
        log_id = self.source.log_id(index)
        return self.id if log_id == self.source.id else _derived(self.id, log_id)


class Views:
    """By the topic that they are of, whether that is there yet or not."""

    __slots__ = ("_by_name", "_by_source")

    def __init__(self) -> None:
        self._by_name: dict[str, tuple[ViewRecord, int]] = {}
        """With the revision."""
        self._by_source: dict[bytes, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def held(self) -> Iterable[tuple[ViewRecord, int]]:
        return self._by_name.values()

    def of(self, source_id: bytes) -> list[tuple[ViewRecord, int]]:
        return [self._by_name[name] for name in self._by_source.get(source_id, ())]

    def put(self, record: ViewRecord, revision: int) -> None:
        self.remove(record.name)
        self._by_name[record.name] = record, revision
        self._by_source.setdefault(record.source_id, {})[record.name] = None

    def remove(self, name: str) -> ViewRecord | None:
        record, _ = self._by_name.pop(name, (None, 0))
        if record is not None:
            names = self._by_source[record.source_id]
            del names[name]
            if not names:
                del self._by_source[record.source_id]
        return record


def is_view(view: View) -> Refused:
    """For whoever wants to do with it what can only be done with a topic."""
    return Refused(
        ErrorCode.INVALID_TOPIC,
        f"{view.name} is a view of {view.source.name}, and shows what is there: write to that "
        "topic, and change that one; for another predicate make another view",
    )


def _shown(held: ViewRecord, source: Topic) -> TopicRecord:
    """What clients are told. As its source, it has another id once there are fewer partitions."""
    of = source.record
    return TopicRecord(
        name=held.name,
        topic_id=held.view_id,
        partitions=of.partitions,
        replication_factor=of.replication_factor,
        created_ms=held.created_ms,
        shown_id=_derived(held.view_id, of.shown_id) if of.shown_id else b"",
        former_ids=_former(held, source),
    )


def _former(held: ViewRecord, source: Topic) -> tuple[bytes, ...]:
    return tuple(
        held.view_id if each == source.id else _derived(held.view_id, each)
        for each in source.record.former_ids
    )


def _derived(view_id: bytes, of: bytes) -> bytes:
    """The same on every broker, and unlike any other id."""
    return hashlib.blake2b(view_id + of, digest_size=len(view_id)).digest()
