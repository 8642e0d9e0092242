"""Messages that come twice are told by the id that their producer gave them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.sdk.message import TopicPartition, id_of


class Window:
    """The last ids of each partition. Dictionaries keep their order, so the oldest is at hand."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._seen: dict[TopicPartition, dict[str, int]] = {}

    def is_new(self, raw: Any) -> bool:
        """Messages without an id are always new, and so is one that is read again at its offset."""
        name = id_of(raw)
        if name is None:
            return True
        seen = self._seen.setdefault(TopicPartition(raw.topic(), raw.partition()), {})
        offset = seen.pop(name, raw.offset())
        seen[name] = offset
        if len(seen) > self._size:
            del seen[next(iter(seen))]
        return bool(offset == raw.offset())

    def forget(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            self._seen.pop(place, None)
