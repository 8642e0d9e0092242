"""A share as a table of single records: slow, and plain enough to be believed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from penstock.sharing.acknowledging import UNSEEN, Acknowledgement, Answer
from penstock.sharing.limits import Limits
from penstock.sharing.phases import FINISHED, STORED, Phase
from penstock.sharing.writes import Write
from penstock.wire.delivery import StateBatch


@dataclass
class Row:
    phase: Phase = Phase.AVAILABLE
    deliveries: int = 0
    member: str = ""
    lock_ms: float = 0
    after: tuple[Phase, int, float] | None = None
    """What was said of it, and is not stored yet."""


class Naive:
    def __init__(self, start: int, limits: Limits) -> None:
        self.start = start
        self.limits = limits
        self.rows: dict[int, Row] = {}
        self.buried: set[int] = set()
        """Handed out to be."""
        self.gaps: set[int] = set()
        """Where there is no record."""

    @property
    def end(self) -> int:
        return self.start + len(self.rows)

    @property
    def in_flight(self) -> int:
        return sum(row.phase not in FINISHED for row in self.rows.values())

    def _settle(self, offset: int, phase: Phase, deliveries: int, until_ms: float) -> None:
        if phase is Phase.BURYING:
            self.buried.add(offset)
        self.rows[offset] = Row(phase, deliveries, lock_ms=until_ms)

    def _given_up(self, deliveries: int) -> tuple[Phase, int, float]:
        if self.limits.buries:
            return Phase.BURYING, max(deliveries, self.limits.deliveries), 0
        return Phase.ARCHIVED, 0, 0

    def _given_back(
        self, deliveries: int, now_ms: float, delay_ms: float = 0
    ) -> tuple[Phase, int, float]:
        is_unseen = delay_ms == UNSEEN
        deliveries -= is_unseen
        if deliveries >= self.limits.deliveries:
            return self._given_up(deliveries)
        if is_unseen:
            return Phase.AVAILABLE, deliveries, 0
        if not delay_ms and self.limits.backoff_ms:
            delay_ms = self.limits.backoff_ms
            for _ in range(deliveries - 1):
                delay_ms = min(2 * delay_ms, self.limits.backoff_ms_max)
        return (
            (Phase.WAITING, deliveries, now_ms + delay_ms)
            if delay_ms
            else (Phase.AVAILABLE, deliveries, 0)
        )

    def _advance(self) -> None:
        while (row := self.rows.get(self.start)) and row.phase in FINISHED:
            del self.rows[self.start]
            self.start += 1

    # -- what happens to it

    def expire(self, now_ms: float) -> None:
        for offset, row in list(self.rows.items()):
            if row.phase is Phase.ACQUIRED and row.after is None and row.lock_ms <= now_ms:
                self._settle(offset, *self._given_back(row.deliveries, now_ms))
            elif row.phase is Phase.WAITING and row.lock_ms <= now_ms:
                self.rows[offset] = Row(Phase.AVAILABLE, row.deliveries)
        self._advance()

    def held(self) -> list[tuple[str, int, int]]:
        """Who has what of which nothing was said yet: records in a row, by their first and last."""
        found: list[tuple[str, int, int]] = []
        for offset, row in self.rows.items():
            if row.phase is Phase.ACQUIRED and row.after is None:
                if found and found[-1][0] == row.member and found[-1][2] == offset - 1:
                    found[-1] = (row.member, found[-1][1], offset)
                else:
                    found.append((row.member, offset, offset))
        return found

    def told(self, said: Collection[int]) -> tuple[int, int]:
        """Where it begins once what was said of these is stored, and how many more are finished."""
        is_finished = {
            offset: (row.after[0] if offset in said and row.after else row.phase) in FINISHED
            for offset, row in self.rows.items()
        }
        start = next((at for at, finished in is_finished.items() if not finished), self.end)
        return start, sum(finished for at, finished in is_finished.items() if at >= start)

    def miss(self, missing: Iterable[tuple[int, int]]) -> None:
        for first, last in missing:
            self.gaps |= set(range(first, last + 1))
            for offset in range(first, last + 1):
                row = self.rows.get(offset)
                if row is not None and row.phase is Phase.AVAILABLE:
                    self.rows[offset] = Row(Phase.ARCHIVED)
            self._advance()
            if last >= self.end:
                if max(first - self.end, 0) > max(self.limits.locks - self.in_flight, 0):
                    break
                for offset in range(self.end, last + 1):
                    self.rows[offset] = Row(Phase.ARCHIVED if offset >= first else Phase.AVAILABLE)
                self._advance()

    def acquire(
        self, member: str, first: int, end: int, most: int, lock_ms: float
    ) -> dict[int, int]:
        """The offsets, and how often each has been delivered with this."""
        taken: dict[int, int] = {}
        for offset in range(max(first, self.start), min(end, self.end)):
            row = self.rows[offset]
            if len(taken) < most and row.phase is Phase.AVAILABLE:
                if row.deliveries >= self.limits.deliveries:
                    self._settle(offset, *self._given_up(row.deliveries))
                else:
                    taken[offset] = row.deliveries + 1
        fresh = max(first, self.end)
        room = self.limits.locks - self.in_flight - (fresh - self.end)
        new = min(most - len(taken), room, end - fresh)
        if new > 0:
            for offset in range(self.end, fresh):
                self.rows[offset] = Row()
            for offset in range(fresh, fresh + new):
                self.rows[offset] = Row()
                taken[offset] = 1
        for offset, deliveries in taken.items():
            self.rows[offset] = Row(Phase.ACQUIRED, deliveries, member, lock_ms)
        self._advance()
        return taken

    def may_acknowledge(self, member: str, said: Sequence[Acknowledgement]) -> bool:
        return all(
            offset < self.start
            or (
                (row := self.rows.get(offset)) is not None
                and row.phase is Phase.ACQUIRED
                and row.member == member
                and row.after is None
            )
            for each in said
            for offset in range(each.first, each.last + 1)
        )

    def acknowledge(self, said: Sequence[Acknowledgement], now_ms: float, lock_ms: float) -> None:
        for each in said:
            types = list(each.types) * (each.last - each.first + 1 if len(each.types) == 1 else 1)
            for offset, number in zip(range(each.first, each.last + 1), types, strict=True):
                if offset >= self.start:
                    row = self.rows[offset]
                    if number == Answer.RENEW:
                        row.lock_ms = now_ms + lock_ms
                    elif number == Answer.RELEASE:
                        row.after = self._given_back(row.deliveries, now_ms, each.delay_ms)
                    else:
                        row.after = self._after(number, row.deliveries)

    def _after(self, number: int, deliveries: int) -> tuple[Phase, int, float]:
        if number == Answer.ACCEPT:
            return Phase.ACKNOWLEDGED, 0, 0
        return self._given_up(deliveries) if number == Answer.REJECT else (Phase.ARCHIVED, 0, 0)

    def end_write(self, offsets: Iterable[int], is_kept: bool) -> None:
        for offset in offsets:
            row = self.rows.get(offset)
            if row is not None and row.after is not None:
                if is_kept:
                    self._settle(offset, *row.after)
                else:
                    row.after = None
        self._advance()

    def release(self, member: str, were_delivered: bool, now_ms: float) -> None:
        for offset, row in list(self.rows.items()):
            if row.phase is Phase.ACQUIRED and row.after is None and row.member == member:
                if were_delivered:
                    self._settle(offset, *self._given_back(row.deliveries, now_ms))
                else:
                    self.rows[offset] = Row(Phase.AVAILABLE, row.deliveries - 1)
        self._advance()

    def bury(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            if offset in self.rows and self.rows[offset].phase is Phase.BURYING:
                self.rows[offset] = Row(Phase.ARCHIVED)
        self._advance()

    def log_starts_at(self, offset: int) -> None:
        if offset > self.start:
            self.rows = {at: row for at, row in self.rows.items() if at >= offset}
            self.start = offset
        self._advance()


class Storage:
    """What the coordinator has, offset by offset."""

    def __init__(self) -> None:
        self.start = -1
        self.rows: dict[int, tuple[int, int]] = {}
        self.rejected: dict[int, int] = {}
        """After so many deliveries; 0 if they were not."""

    def take(self, write: Write) -> None:
        for first, last, state, deliveries, rejected_after in write.batches:
            for offset in range(first, last + 1):
                self.rows[offset] = (state, deliveries)
                self.rejected[offset] = rejected_after
        self.start = max(self.start, write.start_offset)
        self.rows = {at: row for at, row in self.rows.items() if at >= self.start}

    def batches(self) -> list[StateBatch]:
        return [StateBatch(at, at, *self.rows[at], self.rejected[at]) for at in sorted(self.rows)]

    def is_finished(self, offset: int) -> bool:
        state, _ = self.rows.get(offset, (STORED[Phase.AVAILABLE], 0))
        return offset < self.start or state != STORED[Phase.AVAILABLE]

    def restored(self, limits: Limits, log_start: int) -> Naive:
        naive = Naive(max(self.start, log_start, 0), limits)
        for offset in range(naive.start, max(self.rows, default=-1) + 1):
            state, deliveries = self.rows.get(offset, (0, 0))
            phase = next(phase for phase in Phase if STORED[phase] == state)
            naive.rows[offset] = Row(phase, 0 if phase in FINISHED else deliveries)
            if phase is Phase.AVAILABLE and deliveries >= limits.deliveries:
                naive._settle(offset, *naive._given_up(deliveries))
        naive._advance()
        return naive
