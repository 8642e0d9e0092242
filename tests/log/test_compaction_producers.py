"""What compaction must keep of producers and transactions, and for how long."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.compacting import (
    CONFIG,
    WITHOUT_RETENTION,
    contents,
    every_header,
    roll_and_compact,
    write,
)
from tests.log.making import NOW_MS, TOPIC_ID, opened, put_marker, settle

from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.wire.batch import BatchHeader
from penstock.world.real_disk import RealDisk


@pytest.fixture
def log(disk: RealDisk, folder: Path) -> PartitionLog:
    return PartitionLog(disk, str(folder), TOPIC_ID, CONFIG)


def test_a_producer_is_known_after_compaction_when_its_state_is_read_from_the_log(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    for sequence in range(3):
        write(
            log, (b"a", b"%d" % sequence), producer_id=7, producer_epoch=0, base_sequence=sequence
        )
    for number in range(20):
        write(log, (b"a", b"x" * 100), (b"b%d" % number, b"y"))
    roll_and_compact(log)
    mine = [header for header in every_header(log) if header.producer_id == 7]
    assert [(header.base_offset, header.record_count) for header in mine] == [(2, 0)]
    for path in folder.glob("*.snapshot"):
        path.unlink()
    again = opened(disk, str(folder), CONFIG)
    more = {"producer_id": 7, "producer_epoch": 0}
    assert write(again, (b"a", b"2"), base_sequence=2, **more).duplicate
    with pytest.raises(Refused) as refused:
        write(again, (b"a", b"9"), base_sequence=9, **more)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert write(again, (b"a", b"3"), base_sequence=3, **more).base_offset == again.end_offset - 1


def test_an_empty_batch_goes_once_its_producer_has_written_again(log: PartitionLog) -> None:
    more = {"producer_id": 7, "producer_epoch": 0}
    write(log, (b"a", b"1"), base_sequence=0, **more)
    write(log, (b"a", b"2"))
    write(log, (b"b", b"1"))
    roll_and_compact(log)
    assert every_header(log)[0].record_count == 0
    write(log, (b"a", b"3"), base_sequence=1, **more)
    roll_and_compact(log)
    assert [header.base_offset for header in every_header(log)] == [2, 3]


def in_transaction(log: PartitionLog, sequence: int, *keys: bytes, producer_id: int = 7) -> None:
    write(
        log,
        *((key, b"%d" % sequence) for key in keys),
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )


def markers(log: PartitionLog) -> list[BatchHeader]:
    return [header for header in every_header(log) if header.is_control]


def without_snapshots(disk: RealDisk, folder: Path) -> PartitionLog:
    """The log as it is read when nothing but the batches is left."""
    for path in folder.glob("*.snapshot"):
        path.unlink()
    return opened(disk, str(folder), CONFIG)


def test_records_of_an_aborted_transaction_go_and_replace_nothing(log: PartitionLog) -> None:
    write(log, (b"a", b"good"), (b"b", b"good"))
    in_transaction(log, 0, b"a", b"c")
    in_transaction(log, 2, b"b")
    put_marker(log, 7, commit=False)
    write(log, (b"d", b"good"))
    roll_and_compact(log)
    assert contents(log) == [(0, b"a", b"good"), (1, b"b", b"good"), (6, b"d", b"good")]


def test_records_of_a_committed_transaction_are_like_any_others(log: PartitionLog) -> None:
    write(log, (b"a", b"old"), (b"b", b"old"))
    in_transaction(log, 0, b"a", b"c")
    put_marker(log, 7, commit=True)
    roll_and_compact(log)
    assert [pair[0] for pair in contents(log)] == [1, 2, 3]


def test_transactions_of_several_producers_are_told_apart(log: PartitionLog) -> None:
    in_transaction(log, 0, b"a", producer_id=1)
    in_transaction(log, 0, b"b", producer_id=2)
    in_transaction(log, 1, b"c", producer_id=1)
    put_marker(log, 1, commit=False)
    in_transaction(log, 2, b"d", producer_id=1)
    in_transaction(log, 1, b"e", producer_id=2)
    put_marker(log, 2, commit=True)
    put_marker(log, 1, commit=True)
    roll_and_compact(log)
    assert [pair[1] for pair in contents(log)] == [b"b", b"d", b"e"]


def test_a_transaction_that_was_aborted_in_a_later_segment_goes_too(log: PartitionLog) -> None:
    write(log, (b"a", b"good"))
    in_transaction(log, 0, b"a")
    log.roll()
    write(log, (b"b", b"x" * 500))
    log.roll()
    put_marker(log, 7, commit=False)
    first_end = log.segments[1].base
    log.config = WITHOUT_RETENTION
    roll_and_compact(log, stable=first_end)
    assert log.cleaned_to == first_end
    assert [pair[0] for pair in contents(log)] == [0, 2]
    assert len(markers(log)) == 1


def test_nothing_of_an_open_transaction_is_touched(log: PartitionLog) -> None:
    write(log, (b"a", b"1"))
    write(log, (b"a", b"2"))
    log.roll()
    in_transaction(log, 0, b"a")
    write(log, (b"a", b"3"))
    roll_and_compact(log)
    assert [pair[0] for pair in contents(log)] == [1, 2, 3]
    put_marker(log, 7, commit=False)
    roll_and_compact(log)
    assert [pair[0] for pair in contents(log)] == [3]


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_stays_as_long_as_a_batch_of_its_transaction_does(
    log: PartitionLog, disk: RealDisk, folder: Path, commit: bool
) -> None:
    """Corner 10. The empty batch that tells the producer's last sequence keeps its marker: without
    it the transaction would be open for ever when producer state is read from the log."""
    log.config = WITHOUT_RETENTION
    in_transaction(log, 0, b"a")
    put_marker(log, 7, commit=commit)
    for number in range(5):
        write(log, (b"a", b"%d" % number))
        roll_and_compact(log, now_ms=NOW_MS + number)
    assert [(h.base_offset, h.record_count) for h in every_header(log)][:2] == [(0, 0), (1, 1)]
    assert log.last_stable_offset(log.end_offset) == log.end_offset
    again = without_snapshots(disk, folder)
    assert again.last_stable_offset(again.end_offset) == again.end_offset
    assert not again.producers.open_transactions()


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_goes_once_nothing_of_its_transaction_is_left_and_its_time_has_passed(
    log: PartitionLog, disk: RealDisk, folder: Path, commit: bool
) -> None:
    in_transaction(log, 0, b"a")
    put_marker(log, 7, commit=commit)
    in_transaction(log, 1, b"z")
    put_marker(log, 7, commit=True)
    write(log, (b"a", b"new"))
    roll_and_compact(log)
    assert [header.base_offset for header in markers(log)] == [1, 3]
    assert markers(log)[0].delete_horizon_ms is None, "the data went in this pass"
    write(log, (b"b", b"1"))
    roll_and_compact(log, now_ms=NOW_MS + 1)
    assert markers(log)[0].delete_horizon_ms == NOW_MS + 60_001
    assert markers(log)[1].delete_horizon_ms is None
    write(log, (b"b", b"2"))
    roll_and_compact(log, now_ms=NOW_MS + 60_000)
    assert len(markers(log)) == 2
    write(log, (b"b", b"3"))
    roll_and_compact(log, now_ms=NOW_MS + 60_001)
    assert [header.base_offset for header in markers(log)] == [3]
    assert log.aborted_between(0, 2) == []
    again = without_snapshots(disk, folder)
    assert not again.producers.open_transactions()
    assert again.producers.producers[7].last_sequence == 1


def test_an_aborted_transaction_is_listed_as_long_as_its_marker_is_there(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    """A reader that is told of one waits for its marker before it believes the producer again."""
    in_transaction(log, 0, b"a")
    put_marker(log, 7, commit=False)
    write(log, (b"b", b"1"))
    listed = log.aborted_between(0, 10)
    roll_and_compact(log)
    assert log.aborted_between(0, 10) == listed
    assert [header.base_offset for header in markers(log)] == [1]
    assert opened(disk, str(folder), CONFIG).aborted_between(0, 10) == listed


def test_a_marker_that_alone_tells_of_a_producers_epoch_stays(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    log.config = WITHOUT_RETENTION
    in_transaction(log, 0, b"a")
    put_marker(log, 7, commit=False, epoch=1)
    for number in range(4):
        write(log, (b"b", b"%d" % number))
        roll_and_compact(log, now_ms=NOW_MS + number)
    assert [header.producer_epoch for header in markers(log)] == [1]
    assert without_snapshots(disk, folder).producers.producers[7].epoch == 1


def test_a_snapshot_with_a_transaction_open_does_not_outlive_the_marker(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    log.config = WITHOUT_RETENTION
    in_transaction(log, 0, b"a")
    write(log, (b"large", b"x" * 700))
    log.roll()  # takes a snapshot here, in the middle of the transaction
    taken_at = log.end_offset
    put_marker(log, 7, commit=False)
    write(log, (b"c", b"1"), producer_id=7, producer_epoch=0, base_sequence=1)
    write(log, (b"large too", b"x" * 700))
    for number in range(4):
        write(log, (b"b", b"%d" % number))
        roll_and_compact(log, now_ms=NOW_MS + number)
    assert not markers(log)
    assert log.segments[1].base == taken_at
    settle(log)
    for path in folder.glob("*.snapshot"):
        if int(path.stem) > taken_at:
            path.write_bytes(b"torn")
    again = opened(disk, str(folder), CONFIG, log.synced_end)
    assert not again.producers.open_transactions()
    assert again.last_stable_offset(again.end_offset) == again.end_offset
