"""What open transactions have written, until they are over: found by its writer, and by its key.

Where two have written something under one key, what was written later counts, whoever ends first:
that is what compaction leaves in the log, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, KeysView
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Written(NamedTuple, Generic[V]):
    value: V
    end: int
    """Of its batch in the log."""


class Held(Generic[K, V]):
    __slots__ = ("_by_producer", "_writers")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[K, Written[V]]] = {}
        self._writers: dict[K, dict[int, None]] = {}
        """Of each key, in the order in which they have written it."""

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def __contains__(self, key: K) -> bool:
        return key in self._writers

    def __iter__(self) -> Iterator[tuple[int, K, Written[V]]]:
        """By key, and of each key in the order in which it was written."""
        for key, writers in self._writers.items():
            for producer_id in writers:
                yield producer_id, key, self._by_producer[producer_id][key]

    @property
    def keys(self) -> KeysView[K]:
        return self._writers.keys()

    def add(self, producer_id: int, key: K, value: V, end: int) -> None:
        """What is added of one key comes in the order in which it was written."""
        self._by_producer.setdefault(producer_id, {})[key] = Written(value, end)
        writers = self._writers.setdefault(key, {})
        writers.pop(producer_id, None)
        writers[producer_id] = None

    def take(self, producer_id: int) -> dict[K, Written[V]]:
        """The transaction is over."""
        taken = self._by_producer.pop(producer_id, {})
        for key in taken:
            self._forget_writer(key, producer_id)
        return taken

    def drop(self, key: K, before: int | None = None) -> None:
        """Something was written later, or behind that offset. Only who goes is looked at, and the
        first who stays: thousands may have written the same key."""
        for producer_id in self._written_before(key, before):
            held = self._by_producer[producer_id]
            del held[key]
            if not held:
                del self._by_producer[producer_id]
            self._forget_writer(key, producer_id)

    def _written_before(self, key: K, before: int | None) -> list[int]:
        found: list[int] = []
        for producer_id in self._writers.get(key, ()):
            if before is not None and self._by_producer[producer_id][key].end > before:
                break
            found.append(producer_id)
        return found

    def _forget_writer(self, key: K, producer_id: int) -> None:
        writers = self._writers[key]
        del writers[producer_id]
        if not writers:
            del self._writers[key]
