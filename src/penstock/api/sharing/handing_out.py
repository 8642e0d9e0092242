"""Records of one partition for one member of a share group: read, taken, and cut to what it has.

The records are whole batches, as they lie in the log: a member looks at those that it was told are
its own. What holds no records for anybody is found by the headers of batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from penstock.api.sharing.held_offsets import HeldOffsets
from penstock.api.sharing.shared import READ_COMMITTED, Shared
from penstock.log.aborted_index import AbortedTxn
from penstock.log.partition_log import PartitionLog
from penstock.log.reading import Slice, bytes_of
from penstock.sharing.acquiring import Acquired, Wanted
from penstock.sharing.partition import SharePartition
from penstock.wire.batch import BatchHeader, read_header, size_at

READ_AT_ONCE = 1 << 20
"""Bytes that are looked at for one member, if its first batch is not larger."""
READ_AT_LEAST, READ_FOR_RECORD = 64 << 10, 4 << 10
"""Who wants a few records is not read a megabyte: there are some in so many bytes, and if they turn
out to be fewer than were wanted, they come with the next fetch."""
LOOKS_AT_MOST = 8
"""At stretches in which there is nothing for anybody, one after the other."""

Stretch = tuple[int, int]
"""First and last offset."""


class Room(NamedTuple):
    """That is left in the answer."""

    size_bytes: int
    records: int
    is_strict: bool
    """Not one record more, though that cuts a batch in two."""
    has_nothing_yet: bool
    """One batch is given, however large."""


class Handed(NamedTuple):
    records: bytes
    acquired: Sequence[Acquired]

    @property
    def record_count(self) -> int:
        return sum(each.last - each.first + 1 for each in self.acquired)


NOTHING = Handed(b"", ())
NOTHING_YET = Handed(b"", ())
"""There is more to look at."""


class _Batch(NamedTuple):
    header: BatchHeader
    position: int


def hand_out(
    shared: Shared,
    share: SharePartition,
    member: str,
    room: Room,
    now_ms: float,
    held: HeldOffsets,
    *,
    cold_ok: bool,
) -> Handed:
    """What the member has from now on. Raises what reading raises, or Unlooked, and then it has
    nothing."""
    log, end = shared.leader.log, shared.end
    log.write_out()
    share.log_starts_at(log.start_offset)
    share.expire(now_ms)
    began = share.next_offset(end)
    for _ in range(LOOKS_AT_MOST):
        first = share.next_offset(end)
        if first is None:
            break
        enough = READ_AT_LEAST + READ_FOR_RECORD * room.records
        most = max(min(room.size_bytes, READ_AT_ONCE, enough), 0)
        found = log.read(first, most, end, at_least_one=room.has_nothing_yet, cold_ok=cold_ok)
        if found is None:
            break
        handed = _take(shared, share, member, room, now_ms, found, held, cold_ok)
        if handed.acquired:
            return handed
    else:
        if share.next_offset(end) not in (None, began):
            return NOTHING_YET
    return NOTHING


def _take(
    shared: Shared,
    share: SharePartition,
    member: str,
    room: Room,
    now_ms: float,
    found: Slice,
    held: HeldOffsets,
    cold_ok: bool,
) -> Handed:
    data = bytes_of(found, cold_ok)
    batches = list(_batches(data))
    held.look(
        [
            (header, data[position : position + header.size])
            for header, position in batches
            if header.holds and not header.is_by_leader
        ]
    )
    missing = _missing(batches, found, _aborted(shared, found), held)
    ends = () if room.is_strict else [each.header.last_offset for each in batches]
    wanted = Wanted(member, found.offset, found.next_offset, room.records, ends)
    acquired = share.acquire(wanted, now_ms, missing)
    return Handed(_cut(data, batches, acquired), acquired) if acquired else NOTHING


def _batches(data: memoryview) -> Iterator[_Batch]:
    position = 0
    while position < len(data):
        yield _Batch(read_header(data, position), position)
        position += size_at(data, position)


def _aborted(shared: Shared, found: Slice) -> Sequence[AbortedTxn]:
    if shared.isolation != READ_COMMITTED:
        return ()
    log: PartitionLog = shared.leader.log
    return log.aborted_between(found.offset, found.next_offset)


def _missing(
    batches: Iterable[_Batch], found: Slice, aborted: Sequence[AbortedTxn], held: HeldOffsets
) -> Iterator[Stretch]:
    """Gaps between batches, control records, what is held back until it is due, and what was
    aborted, for who reads committed."""
    at = found.offset
    for header, _ in batches:
        if header.base_offset > at:
            yield at, header.base_offset - 1
        if header.is_control or not header.record_count or _is_aborted(header, aborted):
            yield max(at, header.base_offset), header.last_offset
        elif header.holds:
            yield from _held(header, held, at)
        at = header.next_offset
    if at < found.next_offset:
        yield at, found.next_offset - 1


def _held(header: BatchHeader, held: HeldOffsets, at: int) -> Iterator[Stretch]:
    """What a leader has written to hold it on is held as a whole."""
    if header.is_by_leader:
        yield max(at, header.base_offset), header.last_offset
        return
    yield from ((offset, offset) for offset in held.of(header) if offset >= at)


def _is_aborted(header: BatchHeader, aborted: Sequence[AbortedTxn]) -> bool:
    return header.is_transactional and any(
        each.producer_id == header.producer_id
        and each.first_offset <= header.base_offset <= each.last_offset
        for each in aborted
    )


def _cut(data: memoryview, batches: Sequence[_Batch], acquired: Sequence[Acquired]) -> bytes:
    """From the batch with the first record that was taken to the one with the last."""
    start, end = 0, len(data)
    for header, position in batches:
        if header.last_offset < acquired[0].first:
            start = position + header.size
        if header.base_offset > acquired[-1].last:
            end = position
            break
    return bytes(data[start:end])
