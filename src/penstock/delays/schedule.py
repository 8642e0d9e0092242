"""What one partition's log says of its held records, up to an offset: a fold over its batches.

Every replica has its own, of its own log up to the high watermark, below which nothing is ever cut
off. A record is held from when it is committed, and with a transaction from when that is; until a
copy of it says that it was delivered, or another record cancels it. If the copy also says when it
comes next, it is held until then. Carried forward it is held on, and read where its copy is.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from penstock.delays.cron import next_after
from penstock.delays.pending import Entry, Pending
from penstock.wire.batch import BatchHeader
from penstock.wire.batch_builder import RECORDS_A_SLICE, read_marker, records_of
from penstock.wire.compression import DECOMPRESSED_BYTES_MAX
from penstock.wire.holding import AFTER, AT, CANCELS, EVERY, MALFORMED, Marked
from penstock.wire.records import Cursor, later
from penstock.world.ports import Buffer

T = TypeVar("T")

ENTRIES_A_STEP = 1000
"""Taken in or let go: a few milliseconds."""
CRONS_A_STEP = 25
"""Whose next time is looked for: up to 60 us each, where texts are long and times are rare."""
NOT_READ = -1
NO_EPOCH = -1


class ManyCrons(Exception):
    """More than a step's worth: the batch is better looked into off the loop."""


class Again(NamedTuple):
    """A record was delivered, and comes again."""

    id: int
    due_ms: int
    offset: int
    """Of what was delivered."""


class Event(NamedTuple):
    """What one batch does to the schedule. Records are told by ids, and by where they are."""

    held: list[Entry]
    gone: list[int]
    """Delivered, or cancelled."""
    transaction_of: int = -1
    """The producer whose transaction decides on what is held."""
    ended: int = -1
    """The producer whose transaction has ended here."""
    is_commit: bool = False
    again: Sequence[Again] = ()


def concerns(header: BatchHeader) -> bool:
    """Whether a batch has to be looked into."""
    if header.is_control:
        return header.producer_id >= 0
    return header.holds or header.is_by_leader


def read_event(header: BatchHeader, batch: Buffer, *, light: bool = False) -> Event:
    """Refused or Malformed where the batch is damaged. ManyCrons where only a light one is to be
    read."""
    if header.is_control:
        marker = read_marker(batch)
        return Event([], [], ended=marker.producer_id, is_commit=marker.is_commit)
    cursor = Cursor(records_of(batch, DECOMPRESSED_BYTES_MAX), header.record_count)
    marked = Marked(cursor, has_ids=header.is_by_leader)
    while not marked.go_on(RECORDS_A_SLICE):
        pass
    if not header.is_by_leader:
        if light and len(marked.crons) > CRONS_A_STEP:
            raise ManyCrons
        return _of_client(header, marked)
    if not header.holds:
        return _of_delivery(header, marked)
    base = header.base_offset
    rows = zip(marked.ids, marked.numbers, marked.deltas, strict=True)
    return Event([Entry(number, due_ms, base + delta) for number, due_ms, delta in rows], [])


def _of_delivery(header: BatchHeader, marked: Marked) -> Event:
    gone: list[int] = []
    again: list[Again] = []
    for number, due_ms, delta in zip(marked.ids, marked.nexts, marked.deltas, strict=True):
        if due_ms != MALFORMED:
            again.append(Again(number, due_ms, header.base_offset + delta))
        elif number != MALFORMED:
            gone.append(number)
    return Event([], gone, again=again)


def _of_client(header: BatchHeader, marked: Marked) -> Event:
    held: list[Entry] = []
    cancelled: list[int] = []
    times = _times(header, marked.times)
    for delta, kind, number, time_ms in zip(
        marked.deltas, marked.kinds, marked.numbers, times, strict=True
    ):
        offset = header.base_offset + delta
        if kind == AT:
            held.append(Entry(offset, number, offset))
        elif kind == AFTER:
            held.append(Entry(offset, later(time_ms, number), offset))
        elif kind == EVERY:
            due_ms = next_after(marked.crons[delta], time_ms)
            held.append(Entry(offset, MALFORMED if due_ms is None else due_ms, offset))
        elif kind == CANCELS:
            cancelled.append(number)
    return Event(held, cancelled, header.producer_id if header.is_transactional else -1)


def _times(header: BatchHeader, deltas: list[int]) -> Iterator[int]:
    if header.has_log_append_time:
        return (header.max_timestamp for _ in deltas)
    return (later(header.base_timestamp, delta) for delta in deltas)


def _slices(entries: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(entries), ENTRIES_A_STEP):
        yield entries[start : start + ENTRIES_A_STEP]


class Undecided:
    """Held records of a transaction that is open."""

    __slots__ = ("dues", "ids")

    def __init__(self) -> None:
        self.ids = array("q")
        self.dues = array("q")


class Schedule:
    __slots__ = ("cleared", "epoch", "floor", "offset", "pending", "undecided")

    def __init__(self) -> None:
        self.begin(NOT_READ)

    def begin(self, offset: int) -> None:
        """Anew, with nothing of before an offset."""
        self.offset = offset
        """All before it has been gone through; NOT_READ before anything is known."""
        self.epoch = NO_EPOCH
        """The leader epoch of the last batch before it."""
        self.floor = offset
        """Below it the log has nothing any more, and nothing is taken in."""
        self.cleared = offset
        """And nothing is kept that was."""
        self.pending = Pending()
        self.undecided: dict[int, Undecided] = {}

    @property
    def is_read(self) -> bool:
        return self.offset != NOT_READ

    def __len__(self) -> int:
        """Of all that is kept."""
        return len(self.pending) + sum(len(each.ids) for each in self.undecided.values())

    def apply(self, event: Event) -> Iterator[None]:
        """With a pause after some entries each time. To begin again from the start does no harm, as
        long as nothing that came later has been applied."""
        for some in _slices(event.gone):
            for number in some:
                self.pending.remove(number)
            yield
        for some_again in _slices(event.again):
            for each in some_again:
                self.pending.move(each.id, each.due_ms, each.offset)
            yield
        if event.transaction_of >= 0:
            self._await_end(event)
        else:
            yield from self._hold_all(event.held)
        if event.ended >= 0:
            yield from self._end(event.ended, event.is_commit)

    def passed(self, header: BatchHeader, epoch: int) -> None:
        """A batch has been gone through, which the log says is of an epoch."""
        self.offset = header.next_offset
        self.epoch = epoch

    def _hold_all(self, entries: Sequence[Entry]) -> Iterator[None]:
        for some in _slices(entries):
            for entry in some:
                self._hold(entry)
            yield

    def _hold(self, entry: Entry) -> None:
        if entry.place >= self.floor and entry.id >= 0 and entry.due_ms >= 0:
            self.pending.put(entry)

    def _await_end(self, event: Event) -> None:
        """All at once, since it would count twice."""
        if not event.held:
            return
        undecided = self.undecided.setdefault(event.transaction_of, Undecided())
        undecided.ids.extend(entry.id for entry in event.held)
        undecided.dues.extend(entry.due_ms for entry in event.held)

    def _end(self, producer_id: int, is_commit: bool) -> Iterator[None]:
        undecided = self.undecided.get(producer_id)
        if undecided is None:
            return
        if is_commit:
            ids, dues = undecided.ids, undecided.dues
            for start in range(0, len(ids), ENTRIES_A_STEP):
                end = start + ENTRIES_A_STEP
                for number, due_ms in zip(ids[start:end], dues[start:end], strict=True):
                    self._hold(Entry(number, due_ms, number))
                yield
        self.undecided.pop(producer_id, None)

    def lowest_place(self, lost: Sequence[int] = ()) -> int | None:
        """Of all that may still be delivered, which the lost ones cannot, in the order of their
        ids. All at once, since what is missed would be lost: little is looked at again."""
        found = [min(each.ids) for each in self.undecided.values() if each.ids]
        held = self.pending.lowest_place(lost)
        return min(found if held is None else [held, *found], default=None)

    def let_go(self, floor: int) -> Iterator[None]:
        """The log has nothing below a floor any more. From id to id, and a few at a time: there may
        be millions. Who does not come to its end leaves that to the next."""
        self.floor = max(self.floor, floor)
        number = -1
        while (block := self.pending.block_after(number)) is not None:
            ids, _, places = block
            number = ids[-1]
            gone = []
            if min(places) < floor:
                gone = [each for each, at in zip(ids, places, strict=True) if at < floor]
            yield
            for some in _slices(gone):
                for each in some:
                    known = self.pending.get(each)
                    if known is not None and known.place < floor:
                        self.pending.remove(each)
                yield
        self.cleared = max(self.cleared, floor)
