"""How many records of a view lie before its readers: those that match, found by looking."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from penstock.api.sieves import Sieve
from penstock.api.viewing import Viewing
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


class Matches(NamedTuple):
    number: int | None
    """None where there are more than can be looked at for an answer."""
    first: BatchHeader | None
    """The batch of the first of them, if there is one."""


def matches_between(log: PartitionLog, sieve: Sieve, first: int, end: int) -> Steps[Matches]:
    """Without what transactions have aborted, and their markers."""
    viewing, count, found = Viewing(sieve, first), 0, None
    wait, before = None, -1
    while viewing.offset < end and viewing.passed_bytes < LOOKED_AT_MOST:
        if wait is None and viewing.offset == before:
            break  # the log was cut meanwhile, and there is no more to come
        before = viewing.offset
        wait = yield from reindexed(log, partial(_go_on, viewing, log, end))
        for batch in _batches(viewing.take()):
            header = read_header(batch)
            number = _readable(log, header, batch, first)
            count += number
            if number and found is None:
                found = header
        yield wait
    return Matches(count if viewing.offset >= end else None, found)


def _go_on(viewing: Viewing, log: PartitionLog, end: int, cold_ok: bool) -> Apart | None:
    return viewing.go_on(log, min(end, log.end_offset), ROOM, cold_ok=cold_ok)


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
