"""Copies of held records: read where they are, and made into batches of the leader's own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from penstock.delays.cron import next_after
from penstock.delays.folding import apart, is_heavy
from penstock.delays.pending import Entry
from penstock.delays.schedule import CRONS_A_STEP
from penstock.errors import Malformed, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.reading import bytes_of
from penstock.log.reindexing import reindexed
from penstock.log.segment import Amiss
from penstock.log.steps import Pauses, Steps
from penstock.wire.batch import (
    BY_LEADER,
    HOLDS,
    MAGIC,
    NO_PRODUCER,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    batches_in,
    check,
    read_header,
    seal,
)
from penstock.wire.batch_builder import RECORDS_A_SLICE, records_of
from penstock.wire.compression import DECOMPRESSED_BYTES_MAX, Codec, compress
from penstock.wire.holding import Tails, with_next, with_tails
from penstock.wire.records import Cursor, later

lines = logging.getLogger(__name__)

CHUNK_BYTES = 64 << 10
READ_BYTES_MAX = 4 << 20
"""Of what is copied at once; a single record may take more."""
RECORDS_AT_ONCE = 100
"""Copied from a batch: with more of them it is time for a pause."""
BATCH_RECORDS, BATCH_BYTES = 500, 256 << 10
TIME_MS_MAX = 1 << 61
"""Whatever a client has said: readers must be able to add to it."""


class Copy(NamedTuple):
    entry: Entry
    tail: bytes
    time_ms: int
    """Of the record as it was sent."""
    codec: int
    """Of the batch that it came in."""
    size: int = 0
    """What it takes there, about."""
    next_ms: int | None = None
    """When it comes again, if it does."""


class Copies:
    """Of some records, given in the order in which they are wanted; `found` has them by id.

    If they turn out to be large, only the first of them are read. Those that are not to be found
    are in `missing`.
    """

    __slots__ = ("_end", "_log", "_now_ms", "found", "missing", "size", "wanted")

    def __init__(
        self, log: PartitionLog, end: int, wanted: Sequence[Entry], now_ms: int | None
    ) -> None:
        """From below `end`. They are to be delivered now; without that, to be held until the same
        time."""
        self._log = log
        self._end = end
        self._now_ms = now_ms
        self.wanted = list(wanted)
        self.found: dict[int, Copy] = {}
        self.missing: list[Entry] = []
        self.size = 0

    def read(self) -> Steps[None]:
        pauses = Pauses()
        left = sorted(self.wanted, key=lambda entry: entry.place)
        while left:
            try:
                data = yield from self._chunk(left[0].place)
            except (Refused, Amiss, OSError) as problem:
                lines.error("%s: a held record at %d: %s", self._log.folder, left[0].place, problem)
                data = memoryview(b"")
            before = len(left)
            for batch in batches_in(data):
                header = read_header(batch)
                within, left = _split(left, header.next_offset)
                if within:
                    yield from self._take(header, batch, within)
                if len(within) > RECORDS_AT_ONCE or pauses.is_due(len(batch)):
                    yield None
                if not left or self.size > READ_BYTES_MAX:
                    break
            if len(left) == before:  # nothing was read for the first of them
                self.missing.append(left.pop(0))
            left = self._fewer(left)

    def in_order(self) -> list[Copy]:
        return [self.found[entry.id] for entry in self.wanted if entry.id in self.found]

    def _chunk(self, place: int) -> Steps[memoryview]:
        log, end = self._log, self._end
        if place < log.start_offset or log.is_deleted:
            return memoryview(b"")

        def read(cold_ok: bool) -> memoryview:
            found = log.read(place, CHUNK_BYTES, end, at_least_one=True, cold_ok=cold_ok)
            return memoryview(b"") if found is None else bytes_of(found, cold_ok)

        return (yield from reindexed(log, read))

    def _take(self, header: BatchHeader, batch: memoryview, within: list[Entry]) -> Steps[None]:
        def read() -> Tails | None:
            return self._tails(header, batch, within)

        tails = (yield from apart(read)) if is_heavy(header) else read()
        if tails is None:
            self.missing += within
            return
        base_ms = header.base_timestamp
        for entry, tail, delta in zip(within, tails.found, tails.times, strict=False):
            time_ms = header.max_timestamp if header.has_log_append_time else later(base_ms, delta)
            packed = len(tail) * header.size // max(len(tails.cursor.data), 1)
            copy = Copy(entry, tail, time_ms, header.codec, packed)
            self.found[entry.id] = self._repeated(copy, tails.crons.get(entry.id))
            self.size += len(tail)
            if tails.crons and len(self.found) % CRONS_A_STEP == 0:
                yield None
        self.missing += within[len(tails.found) :]

    def _repeated(self, copy: Copy, cron: bytes | None) -> Copy:
        """What is delivered late comes once, and then when it is due after now."""
        if cron is None or self._now_ms is None:
            return copy
        next_ms = next_after(cron, max(copy.entry.due_ms, self._now_ms))
        if next_ms is None:
            return copy
        return copy._replace(tail=with_next(copy.tail, next_ms), next_ms=next_ms)

    def _tails(self, header: BatchHeader, batch: memoryview, within: list[Entry]) -> Tails | None:
        try:
            check(batch)
            cursor = Cursor(records_of(batch, DECOMPRESSED_BYTES_MAX), header.record_count)
            deltas = [entry.place - header.base_offset for entry in within]
            dues = [entry.due_ms for entry in within] if self._now_ms is None else None
            tails = Tails(cursor, deltas, [entry.id for entry in within], dues)
            while not tails.go_on(RECORDS_A_SLICE):
                pass
        except (Malformed, Refused) as problem:
            text = "%s: held records in the batch at %d cannot be read: %s"
            lines.error(text, self._log.folder, header.base_offset, problem)
            return None
        return tails

    def _fewer(self, left: list[Entry]) -> list[Entry]:
        """Half of them, again and again, while there is too much."""
        while self.size > READ_BYTES_MAX and len(self.wanted) > 1 and left:
            del self.wanted[(len(self.wanted) + 1) // 2 :]
            kept = {entry.id for entry in self.wanted}
            self.found = {number: copy for number, copy in self.found.items() if number in kept}
            self.missing = [entry for entry in self.missing if entry.id in kept]
            self.size = sum(len(copy.tail) for copy in self.found.values())
            left = [entry for entry in left if entry.id in kept]
        return left


def _split(entries: list[Entry], end: int) -> tuple[list[Entry], list[Entry]]:
    """Those with places below an end, and the others; sorted by places."""
    count = 0
    while count < len(entries) and entries[count].place < end:
        count += 1
    return entries[:count], entries[count:]


def portions(copies: Sequence[Copy]) -> Iterator[Sequence[Copy]]:
    """What goes into one batch each."""
    start = size = 0
    for number, copy in enumerate(copies):
        is_full = number - start >= BATCH_RECORDS or size + len(copy.tail) > BATCH_BYTES
        if number > start and (is_full or copy.codec != copies[start].codec):
            yield copies[start:number]
            start, size = number, 0
        size += len(copy.tail)
    if copies:
        yield copies[start:]


def delivery(copies: Sequence[Copy], now_ms: int) -> bytearray:
    """They have the time at which they were due. Retention counts from now on: what comes late, as
    nobody was there to deliver it, may be older than all that is kept."""
    return _batch(copies, [copy.entry.due_ms for copy in copies], BY_LEADER, now_ms)


def carried(copies: Sequence[Copy], now_ms: int) -> bytearray:
    """As they were, but that retention counts from now on."""
    times = [copy.time_ms for copy in copies]
    return _batch(copies, times, BY_LEADER | HOLDS, now_ms)


def _batch(copies: Sequence[Copy], times: Sequence[int], marks: int, newest_ms: int) -> bytearray:
    times = [max(NO_TIMESTAMP, min(each, TIME_MS_MAX)) for each in times]
    base_ms = times[0]
    section = with_tails([copy.tail for copy in copies], [each - base_ms for each in times])
    codec = copies[0].codec
    if codec != Codec.NONE:
        section = compress(codec, section, None)
    header = BatchHeader(
        base_offset=0,
        length=0,
        leader_epoch=-1,
        magic=MAGIC,
        crc=0,
        attributes=codec | marks,
        last_offset_delta=len(copies) - 1,
        base_timestamp=base_ms,
        max_timestamp=max(*times, newest_ms),
        producer_id=NO_PRODUCER,
        producer_epoch=-1,
        base_sequence=NO_SEQUENCE,
        record_count=len(copies),
    )
    return seal(header, section)
