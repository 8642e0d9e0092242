"""Single records of a log, by their offsets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.log.compacting import carry_out
from tests.log.making import NOW_MS, settle

from penstock.log import picking
from penstock.log.damage import Damage
from penstock.log.partition_log import PartitionLog
from penstock.log.picking import Picked, pick
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import build_batch
from penstock.wire.compression import Codec
from penstock.wire.records import Record

AMPLE = 1 << 20


def append(log: PartitionLog, count: int, *, size: int = 10, codec: int = Codec.NONE) -> None:
    records = [Record(n, NOW_MS, b"%d" % (log.end_offset + n), b"x" * size) for n in range(count)]
    batch = build_batch(records, codec=codec)
    log.append(batch, read_header(batch), NOW_MS, 0)
    settle(log)


def picked(log: PartitionLog, offsets: Sequence[int], most_bytes: int = AMPLE) -> Picked:
    """What fails while it is waited for is raised where it was."""
    steps = pick(log, offsets, most_bytes)
    failure: Exception | None = None
    while True:
        try:
            wait = next(steps) if failure is None else steps.throw(failure)
        except StopIteration as end:
            found: Picked = end.value
            return found
        failure = None
        try:
            carry_out(log, wait)
        except Exception as problem:
            failure = problem


def keys(found: Picked) -> dict[int, bytes | None]:
    return {offset: record.key for offset, record in found.records.items()}


def test_records_are_found_in_batches_of_any_codec(log: PartitionLog) -> None:
    for codec in (Codec.NONE, Codec.GZIP, Codec.ZSTD):
        append(log, 5, codec=codec)
    found = picked(log, [0, 4, 5, 12])
    assert keys(found) == {0: b"0", 4: b"4", 5: b"5", 12: b"12"}
    assert found.done == 4


def test_no_more_are_given_than_go_together_but_one_at_least(log: PartitionLog) -> None:
    append(log, 5, size=1000)
    assert keys(picked(log, [1, 2, 3], 2100)) == {1: b"1", 2: b"2"}
    found = picked(log, [1, 2, 3], 10)
    assert (keys(found), found.done) == ({1: b"1"}, 1)


def test_what_is_not_there_is_left_out_and_counts(log: PartitionLog) -> None:
    append(log, 5)
    append(log, 5)
    log.advance_start(3)
    found = picked(log, [0, 2, 3, 9, 10, 11])
    assert (keys(found), found.done) == ({3: b"3", 9: b"9"}, 6)


def test_what_is_damaged_is_left_out(log: PartitionLog) -> None:
    append(log, 5)
    append(log, 5)
    log.damage = [Damage(0, 5, 0, 0, log.segments[0].size // 2)]
    found = picked(log, [4, 5])
    assert (keys(found), found.done) == ({5: b"5"}, 2)


def test_a_batch_that_would_be_too_large_is_left_out(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(log, 5, size=10_000, codec=Codec.ZSTD)
    append(log, 1)
    monkeypatch.setattr(picking, "EXPANDED_BYTES_MAX", 20_000)
    found = picked(log, [0, 5])
    assert (keys(found), found.done) == ({5: b"5"}, 2)
