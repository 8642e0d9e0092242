"""The states of a transaction, and which may follow which; the docs' drawing is made from it."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """Named as DescribeTransactions tells them; `stored` is how the log does."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"

    @property
    def stored(self) -> int:
        return _STORED.index(self)

    @staticmethod
    def of_stored(number: int) -> Phase:
        if not 0 <= number < len(_STORED):
            raise ValueError(f"{number} is no state of a transaction that this release knows")
        return _STORED[number]

    @property
    def is_prepared(self) -> bool:
        """It is decided how it ends, and its partitions are being told."""
        return self in (Phase.PREPARE_COMMIT, Phase.PREPARE_ABORT)

    @property
    def is_commit(self) -> bool:
        return self in (Phase.PREPARE_COMMIT, Phase.COMPLETE_COMMIT)

    @property
    def is_over(self) -> bool:
        """The next transaction may begin."""
        return self in (Phase.EMPTY, Phase.COMPLETE_COMMIT, Phase.COMPLETE_ABORT)


_STORED = tuple(Phase)

_OVER = frozenset({Phase.EMPTY, Phase.ONGOING, Phase.COMPLETE_ABORT})
"""What may follow one that is over: its producer begins anew, or the next transaction does, or it
is aborted before anything was written."""

MOVES: dict[Phase, frozenset[Phase]] = {
    Phase.EMPTY: _OVER,
    Phase.ONGOING: frozenset({Phase.ONGOING, Phase.PREPARE_COMMIT, Phase.PREPARE_ABORT}),
    Phase.PREPARE_COMMIT: frozenset({Phase.COMPLETE_COMMIT}),
    Phase.PREPARE_ABORT: frozenset({Phase.COMPLETE_ABORT}),
    Phase.COMPLETE_COMMIT: _OVER,
    Phase.COMPLETE_ABORT: _OVER,
}


def prepared(is_commit: bool) -> Phase:
    return Phase.PREPARE_COMMIT if is_commit else Phase.PREPARE_ABORT


def completed(is_commit: bool) -> Phase:
    return Phase.COMPLETE_COMMIT if is_commit else Phase.COMPLETE_ABORT
