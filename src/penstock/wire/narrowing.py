"""Batches with some of their records left out, for readers who have asked for the others.

What stays of a batch covers the same offsets, is of the same producer and in the same transaction:
readers count offsets by batches, and abort transactions by them. It is as if compaction had taken
the rest, which every client has to cope with.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from penstock.wire.batch import (
    COMPRESSION_MASK,
    CONTROL,
    MAGIC,
    NO_PRODUCER,
    NO_SEQUENCE,
    BatchHeader,
    check,
    read_header,
    seal,
)
from penstock.wire.batch_builder import RECORDS_A_SLICE, commit_marker, records_of
from penstock.wire.choosing import Choice, Judge, Names, Question, Settle, Verdicts
from penstock.wire.records import OFFSET_DELTA_MAX, Cursor, Record, encode
from penstock.world.ports import Buffer


class Asking(Protocol):
    """What a predicate is to this module, which is below all that may be asked."""

    @property
    def names(self) -> tuple[bytes, ...]: ...
    @property
    def uses_key(self) -> bool: ...
    @property
    def uses_timestamp(self) -> bool: ...
    @property
    def judge(self) -> Judge: ...
    @property
    def settle(self) -> Settle: ...


class Opened(NamedTuple):
    """A batch that is whole, for who looks inside."""

    batch: Buffer
    header: BatchHeader
    records: bytes


def opened(batch: Buffer, limit: int) -> Opened:
    """Refused where the batch is corrupt, or its records take more than the limit.

    What is made of it gets a CRC of its own, so the one that it came with is checked first: bytes
    that have changed on the disk must not look whole.
    """
    return Opened(batch, check(batch), records_of(batch, limit))


class Narrowing:
    """One batch on its way, in steps for who has others to serve in between."""

    __slots__ = ("_batch", "_choice", "_header")

    def __init__(self, found: Opened, asking: Asking, verdicts: Verdicts) -> None:
        batch, header, records = found
        depends = asking.uses_key or asking.uses_timestamp
        settle = asking.settle if depends else None
        question = Question(Names(asking.names), asking.uses_key, asking.judge, settle, verdicts)
        has_one_time = header.has_log_append_time
        timestamp = header.max_timestamp if has_one_time else header.base_timestamp
        cursor = Cursor(records, header.record_count)
        self._batch = batch
        self._header = header
        self._choice = Choice(cursor, question, timestamp, has_one_time)

    def go_on(self, most: int = RECORDS_A_SLICE) -> bool:
        """Through the next records; whether that was all. Malformed where one is wrong."""
        return self._choice.go_on(most)

    def result(self) -> Buffer | None:
        """The batch with what matches; itself where all do, None where nothing does."""
        header, choice = self._header, self._choice
        if not choice.count:
            return None
        if choice.count == header.record_count:
            return self._batch
        attributes = header.attributes & ~COMPRESSION_MASK
        changed = header._replace(attributes=attributes, record_count=choice.count)
        return seal(changed, b"".join(choice.pieces))


def narrowed(batch: Buffer, asking: Asking, verdicts: Verdicts, limit: int) -> Buffer | None:
    """All at once. Control batches are for everybody."""
    if read_header(batch).is_control:
        return batch
    return narrowed_records(opened(batch, limit), asking, verdicts)


def narrowed_records(found: Opened, asking: Asking, verdicts: Verdicts) -> Buffer | None:
    """Malformed where a record is wrong."""
    narrowing = Narrowing(found, asking, verdicts)
    while not narrowing.go_on():
        pass
    return narrowing.result()


def spanning(first_offset: int, last_offset: int, leader_epoch: int, timestamp: int) -> bytearray:
    """A batch over offsets that have nothing for the reader, who goes on behind them.

    It has one control record, at the last of them, which ends no transaction: every client steps
    over such ones. An empty batch would do for most, but kafkajs asks for the same again then.
    """
    last_delta = last_offset - first_offset
    if not 0 <= last_delta <= OFFSET_DELTA_MAX:
        raise ValueError(f"no batch spans the offsets from {first_offset} to {last_offset}")
    header = BatchHeader(
        base_offset=first_offset,
        length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=CONTROL,
        last_offset_delta=last_delta,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=NO_PRODUCER,
        producer_epoch=-1,
        base_sequence=NO_SEQUENCE,
        record_count=1,
    )
    record = Record(last_offset, timestamp, *commit_marker())
    return seal(header, encode([record], first_offset, timestamp))
