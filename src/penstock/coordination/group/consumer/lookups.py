"""What is still to be found out about the expressions of a group. It is lost with the leader."""

from __future__ import annotations

from collections.abc import Iterable


class Search:
    """For the topics that an expression stands for, among all there are."""

    __slots__ = ("found", "left", "text")

    def __init__(self, text: str, names: Iterable[str]) -> None:
        self.text = text
        self.left = list(names)
        self.found: set[str] = set()


class Sweep:
    """Of all expressions, for some topics that have come or gone."""

    __slots__ = ("left", "names")

    def __init__(self, names: Iterable[str], texts: Iterable[str]) -> None:
        self.names = frozenset(names)
        self.left = list(texts)


class Lookups:
    __slots__ = ("changed", "search", "sweep", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[str, None] = {}
        """Expressions that have yet to be searched for, in turn: one at a time is, as each takes a
        list of all topics."""
        self.search: Search | None = None
        self.changed: set[str] = set()
        """Topics that have come or gone since the sweep under way began: there is one for all."""
        self.sweep: Sweep | None = None

    @property
    def is_done(self) -> bool:
        return not (self.waiting or self.search or self.changed or self.sweep)

    def is_to_be_searched(self, text: str) -> bool:
        return text in self.waiting or (self.search is not None and self.search.text == text)

    def next_sweep(self, texts: Iterable[str]) -> Sweep | None:
        """The one under way, or a new one, of these expressions; None if there is no need."""
        if self.changed and self.sweep is None:
            self.sweep = Sweep(self.changed, texts)
            self.changed = set()
        if self.sweep is not None and not self.sweep.left:
            self.sweep = None
        return self.sweep
