"""How many records lie before readers who see a part of a topic only: found by looking.

Readers of a view see what matches, and those of a topic with delays what is not held.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from penstock.api.viewing import Partly
from penstock.log.partition_log import PartitionLog
from penstock.log.reindexing import reindexed
from penstock.log.steps import Apart, Steps
from penstock.wire.batch import BatchHeader, read_header, size_at
from penstock.wire.batch_builder import read_records
from penstock.wire.compression import DECOMPRESSED_BYTES_MAX
from penstock.world.ports import Buffer

LOOKED_AT_MOST = 16 << 20
"""Bytes for one partition; a reader with more than that before it is very far behind."""
ROOM = 1 << 62


class Seen(NamedTuple):
    number: int
    first: BatchHeader | None
    """The batch of the first of them, if there is one."""
    offset: int
    """All before it was looked at; there may be more than can be for an answer."""


def seen_between(log: PartitionLog, part: Partly, first: int, end: int) -> Steps[Seen]:
    """Without what transactions have aborted, and their markers."""
    count, found = 0, None
    wait, before = None, -1
    while part.offset < end and part.passed_bytes < LOOKED_AT_MOST:
        if wait is None and part.offset == before:
            break  # the log was cut meanwhile, and there is no more to come
        before = part.offset
        wait = yield from reindexed(log, partial(_go_on, part, log, end))
        for batch in _batches(part.take()):
            header = read_header(batch)
            number = _readable(log, header, batch, first)
            count += number
            if number and found is None:
                found = header
        yield wait
    return Seen(count, found, part.offset)


def _go_on(part: Partly, log: PartitionLog, end: int, cold_ok: bool) -> Apart | None:
    return part.go_on(log, min(end, log.end_offset), ROOM, cold_ok=cold_ok)


def _batches(pieces: list[Buffer]) -> Iterator[memoryview]:
    for piece in pieces:
        yield memoryview(piece)[: size_at(piece)]


def _readable(log: PartitionLog, header: BatchHeader, batch: memoryview, first: int) -> int:
    """How many records a reader gets of a batch, from an offset on."""
    if header.is_control or was_aborted(log, header):
        return 0
    if header.base_offset >= first:
        return header.record_count
    records = read_records(batch, DECOMPRESSED_BYTES_MAX)
    return sum(record.offset >= first for record in records)


def was_aborted(log: PartitionLog, header: BatchHeader) -> bool:
    if not header.is_transactional:
        return False
    between = log.aborted_between(header.base_offset, header.next_offset)
    return any(each.producer_id == header.producer_id for each in between)
