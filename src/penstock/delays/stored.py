"""A schedule in a file beside the log, so that a start reads only what came after it.

Derived like every index: one that is lost, damaged or of another log is made anew from the log.

    checksum   CRC32C of what follows     pending     number; then ids, dues and places
    version    2                          undecided   number; for each producer its id, the number
    topic      its id                                 of its records, their ids and dues
    offset     that it stands for
    epoch      of the last batch before
    floor      where the log began

Without the topic's id that of a topic which was deleted, and made anew under its name, could be
taken for the new one's: their offsets and epochs begin alike. Version 1 had none, and is not used.
"""

from __future__ import annotations

import logging
import struct
import sys
from array import array
from struct import Struct

from crc32c import crc32c

from penstock.delays.folding import off_loop
from penstock.delays.schedule import NOT_READ, Schedule, Undecided
from penstock.log.layout import TEMPORARY
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Steps

lines = logging.getLogger(__name__)

FILE = "penstock.delays"
VERSION = 2
ENTRIES_A_STEP = 2048
_HEAD = Struct(">IH16sqiqqi")
_PRODUCER = Struct(">qq")


class Unreadable(Exception):
    """Bytes that are no schedule, or another log's."""


def load(log: PartitionLog) -> Steps[Schedule]:
    """One of which nothing is known, where there is no file that can be used."""
    path = f"{log.folder}/{FILE}"
    if not log.disk.exists(path):
        return Schedule()
    try:
        data = yield from off_loop(lambda: log.disk.read_whole(path))
        return (yield from decode(data, log.topic_id))
    except (Unreadable, OSError) as problem:
        lines.warning("%s is made anew: %s", path, problem)
        return Schedule()


def write(log: PartitionLog, schedule: Schedule) -> Steps[int]:
    """The offset that it stands for; NOT_READ, and nothing is written, where the schedule has gone
    on meanwhile: the next time will do.

    It gets its name on the loop, and only while the log is there: meanwhile it may have been
    deleted, and another one be in its folder's place.
    """
    before = schedule.offset, schedule.floor, len(schedule)
    data = yield from encode(schedule, log.topic_id)
    if before != (schedule.offset, schedule.floor, len(schedule)):
        return NOT_READ
    path = f"{log.folder}/{FILE}"
    temporary = f"{path}.{log.topic_id.hex()}{TEMPORARY}"
    try:
        yield from off_loop(lambda: log.disk.write_whole(temporary, data))
    except FileNotFoundError:
        if not log.is_deleted:
            raise
        return NOT_READ
    if log.is_deleted:
        log.disk.remove(temporary)
        return NOT_READ
    log.disk.rename(temporary, path)
    log.note_folder(log.folder)
    return before[0]


def encode(schedule: Schedule, topic_id: bytes) -> Steps[bytes]:
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
        topic_id,
        schedule.offset,
        schedule.epoch,
        schedule.cleared,
        len(schedule.pending),
        len(schedule.undecided),
    )
    data = bytearray(b"".join(parts))
    data[:4] = crc32c(memoryview(data)[4:]).to_bytes(4, "big")
    return bytes(data)


def decode(data: bytes, topic_id: bytes) -> Steps[Schedule]:
    """Unreadable where it is none, of another release, or of another topic."""
    try:
        checksum, version, whose, offset, epoch, floor, count, producers = _HEAD.unpack_from(data)
        if checksum != crc32c(memoryview(data)[4:]):
            raise Unreadable("it is damaged")
        if version != VERSION:
            raise Unreadable(f"it is of version {version}, and {VERSION} is known")
        if whose != topic_id:
            raise Unreadable("it is of another topic")
        schedule = Schedule()
        schedule.begin(offset)
        schedule.epoch, schedule.floor, schedule.cleared = epoch, floor, floor
        reading = _Reading(data, _HEAD.size)
        while len(schedule.pending) < count:
            if not schedule.pending.put_last(*reading.entries()):
                raise Unreadable("it is out of order")
            yield None
        for _ in range(producers):
            producer_id, undecided = reading.producer()
            schedule.undecided[producer_id] = undecided
    except (struct.error, IndexError) as error:
        raise Unreadable("it is cut off") from error
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
