"""Offsets at which there is nothing for a reader: markers of transactions, what these have aborted,
gaps that compaction leaves, and what is held back until it is due.

Found by the headers of batches, some at a time. To be asked for by people who want to know how much
waits, and not with every fetch.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import NamedTuple

from penstock.api.partial_lag import was_aborted
from penstock.api.sharing.held_offsets import HeldOffsets, Unlooked
from penstock.log import reading, scanning
from penstock.log.partition_log import PartitionLog
from penstock.log.reindexing import reindexed
from penstock.log.scanning import LOOKUP_CHUNK_BYTES, NotABatch
from penstock.log.segment import Amiss
from penstock.log.steps import BATCHES_A_SLICE, BYTES_A_SLICE, Apart, Steps
from penstock.replication.leader import Leader
from penstock.wire.batch import BatchHeader

BATCHES_MAX = 50_000
"""That are looked at for one answer; behind them every offset counts as a record."""
OPENED_BYTES_MAX = 16 << 20
"""Of batches in which some records are held back, and which have to be opened to tell how many."""


class _Seen(NamedTuple):
    header: BatchHeader
    held: memoryview | None
    """The whole batch, where it has to be opened."""


def vacancies(leader: Leader, first: int, *, committed: bool) -> Steps[int]:
    """From an offset to the high watermark. Who reads committed has nothing from the first
    transaction on that is open."""
    log, end = leader.log, leader.high_watermark
    first = max(first, log.start_offset)
    stable = max(leader.last_stable_offset, first) if committed else end
    count, at, batches, bytes_left = max(end - stable, 0), first, 0, OPENED_BYTES_MAX
    while at < stable and batches < BATCHES_MAX:
        yield None
        seen = yield from reindexed(log, partial(_next_batches, log, at, bytes_left))
        for header, held in seen:
            begin, behind = max(at, header.base_offset), min(header.next_offset, stable)
            if begin >= stable:
                break
            count += begin - at
            count += yield from _vacant(log, header, held, begin, behind, committed=committed)
            bytes_left -= len(held) if held is not None else 0
            at = behind
        batches += len(seen)
        if not seen or seen[-1].header.base_offset >= stable:
            return count + max(stable - at, 0)
    return count


def _vacant(
    log: PartitionLog,
    header: BatchHeader,
    held: memoryview | None,
    begin: int,
    behind: int,
    *,
    committed: bool,
) -> Steps[int]:
    """Of one batch, between two offsets."""
    size = behind - begin
    if header.is_control or (header.holds and header.is_by_leader):
        return size
    if committed and was_aborted(log, header):
        return size
    found = max(size - header.record_count, 0)
    if held is not None:
        offsets = HeldOffsets()
        try:
            offsets.look([(header, held)])
        except Unlooked as unlooked:
            yield Apart(unlooked.look)
        found += sum(begin <= offset < behind for offset in offsets.of(header))
    return found


def _next_batches(log: PartitionLog, offset: int, bytes_left: int, cold_ok: bool) -> list[_Seen]:
    """From the one that holds an offset on, within its segment."""
    place = reading.batch_at(log, offset, cold_ok)
    if place is None:
        return []
    segment, position = place
    read, seen, opened = segment.reader(cold_ok), list[_Seen](), 0
    headers = scanning.headers(read, position, segment.size, LOOKUP_CHUNK_BYTES)
    try:
        for at, header in islice(headers, BATCHES_A_SLICE):
            held = None
            if header.holds and not header.is_by_leader and opened + header.size <= bytes_left:
                held = memoryview(read(at, header.size))
                opened += header.size
            seen.append(_Seen(header, held))
            if opened > BYTES_A_SLICE:
                break
    except NotABatch:
        if not seen:
            raise Amiss(segment) from None
    return seen
