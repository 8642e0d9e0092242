"""A schedule in a file beside the log, so that a start reads only what came after it.

Derived like every index: one that is lost, damaged or of another log is made anew from the log.

    checksum   CRC32C of what follows     pending     number; then ids, dues and places
    version    1                          undecided   number; for each producer its id, the number
    offset     that it stands for                     of its records, their ids and dues
    epoch      of the last batch before
    floor      where the log began
"""

from __future__ import annotations

import struct
import sys
from array import array
from struct import Struct

from crc32c import crc32c

from penstock.delays.schedule import Schedule, Undecided
from penstock.log.steps import Steps

FILE = "penstock.delays"
VERSION = 1
ENTRIES_A_STEP = 2048
_HEAD = Struct(">IHqiqqi")
_PRODUCER = Struct(">qq")


class Unreadable(Exception):
    """Bytes that are no schedule."""


def encode(schedule: Schedule) -> Steps[bytes]:
    """In steps, between which the schedule must not go on."""
    parts: list[bytes] = [b""]
    for columns in schedule.pending.blocks():
        for start in range(0, len(columns[0]), ENTRIES_A_STEP):
            some = [column[start : start + ENTRIES_A_STEP] for column in columns]
            parts.append(len(some[0]).to_bytes(4, "big"))
            parts += [_bytes(column) for column in some]
        yield None
    for producer_id, undecided in schedule.undecided.items():
        parts.append(_PRODUCER.pack(producer_id, len(undecided.ids)))
        parts += [_bytes(undecided.ids), _bytes(undecided.dues)]
    parts[0] = _HEAD.pack(
        0,
        VERSION,
        schedule.offset,
        schedule.epoch,
        schedule.floor,
        len(schedule.pending),
        len(schedule.undecided),
    )
    data = bytearray(b"".join(parts))
    data[:4] = crc32c(memoryview(data)[4:]).to_bytes(4, "big")
    return bytes(data)


def decode(data: bytes) -> Steps[Schedule]:
    """Unreadable where it is none, or of a later release."""
    try:
        checksum, version, offset, epoch, floor, count, producers = _HEAD.unpack_from(data)
        if checksum != crc32c(memoryview(data)[4:]) or version != VERSION:
            raise Unreadable
        schedule = Schedule()
        schedule.begin(offset)
        schedule.epoch, schedule.floor = epoch, floor
        reading = _Reading(data, _HEAD.size)
        while len(schedule.pending) < count:
            if not schedule.pending.put_last(*reading.entries()):
                raise Unreadable
            yield None
        for _ in range(producers):
            producer_id, undecided = reading.producer()
            schedule.undecided[producer_id] = undecided
    except (struct.error, IndexError) as error:
        raise Unreadable from error
    return schedule


def _bytes(column: array[int]) -> bytes:
    return _swapped(array("q", column)).tobytes()


def _swapped(column: array[int]) -> array[int]:
    if sys.byteorder == "little":
        column.byteswap()
    return column


class _Reading:
    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def entries(self) -> tuple[array[int], array[int], array[int]]:
        """Ids, dues and places of some."""
        count = int.from_bytes(self._data[self._at : self._at + 4], "big")
        if not count:
            raise IndexError
        self._at += 4
        return self._column(count), self._column(count), self._column(count)

    def producer(self) -> tuple[int, Undecided]:
        producer_id, count = _PRODUCER.unpack_from(self._data, self._at)
        self._at += _PRODUCER.size
        undecided = Undecided()
        undecided.ids, undecided.dues = self._column(count), self._column(count)
        return producer_id, undecided

    def _column(self, count: int) -> array[int]:
        start, self._at = self._at, self._at + 8 * count
        if self._at > len(self._data):
            raise IndexError
        found: array[int] = array("q")
        found.frombytes(self._data[start : self._at])
        return _swapped(found)
