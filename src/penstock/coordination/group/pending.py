"""Offsets that were committed in transactions which are still open: they count once these are over.

Where two of them, or a transaction and a plain commit, are about one partition, what was written
later counts, whoever ends first: that is what compaction leaves in the log, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from penstock.wire.stored.offset_commit import OffsetCommitKey, OffsetCommitValue

Place = tuple[str, int]


class Held(NamedTuple):
    key: OffsetCommitKey
    value: OffsetCommitValue
    end: int
    """Of its batch in the log."""


class Pending:
    """Of one group."""

    __slots__ = ("_by_producer",)

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[Place, Held]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def add(
        self, producer_id: int, key: OffsetCommitKey, value: OffsetCommitValue, end: int
    ) -> None:
        held = self._by_producer.setdefault(producer_id, {})
        held[key.topic, key.partition] = Held(key, value, end)

    def take(self, producer_id: int) -> Iterable[Held]:
        """The transaction is over."""
        return self._by_producer.pop(producer_id, {}).values()

    def drop(self, key: OffsetCommitKey, before: int | None = None) -> None:
        """Something was written later, or behind that offset."""
        for producer_id, held in list(self._by_producer.items()):
            found = held.get((key.topic, key.partition))
            if found is not None and (before is None or found.end <= before):
                del held[key.topic, key.partition]
                if not held:
                    del self._by_producer[producer_id]

    def has(self, topic: str, partition: int) -> bool:
        """Whether it is not known yet where the group will be."""
        return any((topic, partition) in held for held in self._by_producer.values())

    @property
    def places(self) -> set[Place]:
        return {place for held in self._by_producer.values() for place in held}
