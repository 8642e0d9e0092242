"""What a member says of its records, as requests carry it: ranges in order, and by partition.

A broker takes all that is said of a partition in one request, or nothing. So where one record of
many was not the member's any more, the others are said again, in halves: `parcels` that stay apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from penstock.client.share_held import Ack, Place
from penstock.sharing.acknowledging import Answer
from penstock.wire.messages.k78_share_fetch import AcknowledgementBatch as FetchBatch
from penstock.wire.messages.k79_share_acknowledge import AcknowledgementBatch

AT_ONCE = 5_000
"""Records of which one request speaks."""

Parcel = list[Ack]


class Outbox:
    """What is to be said to one broker."""

    def __init__(self) -> None:
        self._new: dict[tuple[Place, int], Ack] = {}
        self._halves: deque[Parcel] = deque()

    def __len__(self) -> int:
        return len(self._new) + sum(map(len, self._halves))

    def __bool__(self) -> bool:
        return bool(self._new or self._halves)

    def add(self, ack: Ack) -> None:
        """Of each record one thing is said at a time: what is said of it for good comes in place
        of a renewal that has not gone out yet."""
        where = (ack.held.place, ack.held.record.offset)
        before = self._new.get(where)
        if before is not None and before.is_final:
            before, ack = ack, before
        self._new[where] = ack
        if before is not None:
            before.on_done(None)

    def say_again(self, parcel: Parcel) -> None:
        middle = len(parcel) // 2
        self._halves += [parcel[:middle], parcel[middle:]]

    def next_parcel(self) -> Parcel:
        if self._halves:
            return self._halves.popleft()
        if len(self._new) <= AT_ONCE:
            parcel, self._new = list(self._new.values()), {}
            return parcel
        return [self._new.pop(where) for where in list(self._new)[:AT_ONCE]]

    def may_go_with_fetch(self, wanted: set[Place]) -> bool:
        """Renewals may not, and partitions that a fetch speaks of are fetched from."""
        parcel: Iterable[Ack] = self._halves[0] if self._halves else self._new.values()
        return all(ack.is_final and ack.held.place in wanted for ack in parcel)

    def drop_renewals(self) -> None:
        """Nobody needs them any more."""
        for where, ack in list(self._new.items()):
            if not ack.is_final:
                del self._new[where]
                ack.on_done(None)

    def clear(self) -> list[Ack]:
        left = [ack for half in self._halves for ack in half] + list(self._new.values())
        self._halves.clear()
        self._new.clear()
        return left


def by_place(parcel: Parcel) -> dict[Place, Parcel]:
    found: dict[Place, Parcel] = {}
    for ack in parcel:
        found.setdefault(ack.held.place, []).append(ack)
    return found


Range = tuple[int, int, list[int], int]
"""First and last offset, types, delay."""


def ranges(parcel: Parcel) -> list[Range]:
    """Of one partition. Records in a row of which the same is said are one range."""
    found: list[Range] = []
    first, last, said = 0, -2, (Answer.GAP, 0)
    for ack in sorted(parcel, key=_offset):
        offset, now = ack.held.record.offset, (ack.answer, ack.delay_ms)
        if offset == last + 1 and now == said:
            last = offset
            continue
        if last >= 0:
            found.append((first, last, [int(said[0])], said[1]))
        first, last, said = offset, offset, now
    found.append((first, last, [int(said[0])], said[1]))
    return found


def fetch_batches(parcel: Parcel) -> list[FetchBatch]:
    return [FetchBatch(*each) for each in ranges(parcel)]


def acknowledge_batches(parcel: Parcel) -> list[AcknowledgementBatch]:
    return [AcknowledgementBatch(*each) for each in ranges(parcel)]


def _offset(ack: Ack) -> int:
    return ack.held.record.offset
