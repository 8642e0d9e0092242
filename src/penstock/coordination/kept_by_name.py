"""What a coordinator looks after in one partition, where each is made as it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic

from penstock.coordination.kind import K
from penstock.coordination.turn import Event


class KeptByName(Generic[K]):
    def __init__(self, make: Callable[[str], K]) -> None:
        """`make` may refuse a name."""
        self._make = make
        self._by_name: dict[str, K] = {}
        self.unread: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[K]:
        return iter(self._by_name.values())

    def get(self, name: str) -> K | None:
        return self._by_name.get(name)

    def get_or_add(self, name: str) -> K:
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = self._make(name)
        return found

    def remove(self, name: str) -> None:
        self._by_name.pop(name, None)

    def hold(self, producer_id: int, event: Event, end: int) -> None:
        """Nobody writes them in a transaction."""

    def release(self, producer_id: int, is_commit: bool) -> Iterable[K]:
        return ()
