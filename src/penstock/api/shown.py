"""What readers see of a topic with delays, and of what it holds back.

They read as readers of views do (`api/viewing.py`), but that no index of tags is made: batches
without anything held are given as they lie, and the header tells which these are.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.sieves import LIGHT_BYTES, LIGHT_RECORDS, Heavy, Looked, Sieve
from penstock.api.viewing import Partly
from penstock.delays.folding import is_heavy
from penstock.delays.pending import Pending
from penstock.delays.schedule import Schedule, read_event
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.reading import bytes_of
from penstock.log.steps import Apart
from penstock.log.tag_index import TagIndex
from penstock.wire.batch import COMPRESSION_MASK, HOLDS, BatchHeader, read_header, seal
from penstock.wire.batch_builder import RECORDS_A_SLICE
from penstock.wire.compression import DECOMPRESSED_BYTES_MAX
from penstock.wire.holding import Picked
from penstock.wire.narrowing import opened
from penstock.wire.records import Cursor
from penstock.world.ports import Buffer

BYTES_FOR_RECORD = 20
"""To look at a record takes as long as to copy and check so many bytes."""
PASSED_ON = 16
"""Bytes that are passed on as they are take as long as one that is looked into."""


class _NoIndex(TagIndex):
    """None is made."""

    def knows(self, offset: int) -> bool:
        return True


NO_INDEX = _NoIndex((), 0)


class Shown:
    """All but what is held; and of that, with a view, what it asks for."""

    __slots__ = ("_sieve",)

    def __init__(self, sieve: Sieve | None = None) -> None:
        self._sieve = sieve

    def look(self, batch: memoryview, index: TagIndex, *, light: bool) -> Looked:
        header = read_header(batch)
        if not header.holds:
            return self._sifted(header, batch, 0, light)
        if header.is_by_leader:
            return Looked(header, None, (), None, header.size // PASSED_ON)
        return self._sifted(*_looked_into(header, batch, None, light), light)

    def limit(self, before: int) -> int:
        return before

    def _sifted(self, header: BatchHeader, kept: Buffer | None, cost: int, light: bool) -> Looked:
        if kept is None or self._sieve is None:
            return Looked(header, kept, (), None, cost + header.size // PASSED_ON)
        looked = self._sieve.look(memoryview(kept), NO_INDEX, light=light)
        return Looked(header, looked.kept, (), None, cost + looked.cost)


class Held:
    """What is held, and nothing else."""

    __slots__ = ("_schedule",)

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule

    def look(self, batch: memoryview, index: TagIndex, *, light: bool) -> Looked:
        header = read_header(batch)
        if header.is_control:  # or an aborted transaction would hide the next of its producer
            return Looked(header, batch, (), None, header.size // PASSED_ON)
        dues = self._dues(header, batch, light) if header.holds else {}
        if not dues:
            return Looked(header, None, (), None, header.size // PASSED_ON)
        header, kept, cost = _looked_into(header, batch, dues, light)
        return Looked(header, kept, (), None, cost)

    def limit(self, before: int) -> int:
        """No further than it is known what is held."""
        return min(before, self._schedule.offset)

    def _dues(self, header: BatchHeader, batch: memoryview, light: bool) -> dict[int, int]:
        """Of the records that are held, and can be read here, by their deltas. Of those that were
        carried forward the batch itself has the ids."""
        pending, base = self._schedule.pending, header.base_offset
        if not header.is_by_leader:
            ids = pending.ids_between(base, header.next_offset)
            return _dues_of(pending, base, ((number, number) for number in ids))
        if light and is_heavy(header):
            raise Heavy
        try:
            held = read_event(header, batch).held
        except (Malformed, Refused):
            return {}
        return _dues_of(pending, base, ((each.id, each.place) for each in held))


def _dues_of(pending: Pending, base: int, places: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Of those ids that are read at these places."""
    found = ((place, pending.get(number)) for number, place in places)
    return {
        place - base: entry.due_ms
        for place, entry in found
        if entry is not None and entry.place == place
    }


def _looked_into(
    header: BatchHeader, batch: memoryview, dues: dict[int, int] | None, light: bool
) -> tuple[BatchHeader, Buffer | None, int]:
    """Those with these deltas, and when they are due; without any, those that are not held. A
    damaged batch is given as it is: the reader is to find that out by its checksum."""
    if light and (header.size > LIGHT_BYTES or header.record_count > LIGHT_RECORDS):
        raise Heavy
    try:
        found = opened(batch, LIGHT_BYTES if light else DECOMPRESSED_BYTES_MAX)
        picked = Picked(Cursor(found.records, header.record_count), dues)
        while not picked.go_on(RECORDS_A_SLICE):
            pass
    except Malformed:
        return header, batch, header.size
    except Refused as refused:
        if light and refused.code is ErrorCode.MESSAGE_TOO_LARGE:
            raise Heavy from None
        return header, batch, header.size
    cost = len(found.records) + BYTES_FOR_RECORD * header.record_count
    return header, _narrowed(header, picked), cost


def _narrowed(header: BatchHeader, picked: Picked) -> Buffer | None:
    if not picked.count:
        return None
    attributes = header.attributes & ~(COMPRESSION_MASK | HOLDS)
    changed = header._replace(attributes=attributes, record_count=picked.count)
    return seal(changed, b"".join(picked.pieces))


class Showing(Partly):
    """One partition, as a fetch reads it."""

    __slots__ = ("_shows",)

    def __init__(self, shows: Shown | Held, offset: int, partitions: int = 1) -> None:
        super().__init__(shows, offset, partitions)
        self._shows = shows

    def limit(self, before: int) -> int:
        return self._shows.limit(before)

    def go_on(
        self, log: PartitionLog, before: int, most_bytes: int, *, cold_ok: bool
    ) -> Apart | None:
        room = self.room(most_bytes)
        found = log.read(self.offset, room, before, at_least_one=True, cold_ok=cold_ok)
        if found is None:
            return None
        return self._go_through(found, bytes_of(found, cold_ok), NO_INDEX)
