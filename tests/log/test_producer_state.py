"""Duplicates, gaps, epochs and transactions of idempotent producers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.making import (
    NOW_MS,
    TOPIC_ID,
    a_batch,
    all_values,
    batches_at,
    opened,
    put,
    put_marker,
)

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused, Unusable
from penstock.log import producer_snapshot, producer_state
from penstock.log.partition_log import PartitionLog
from penstock.log.producer_state import NOT_KNOWN, ProducerStates
from penstock.wire import batch as batches
from penstock.world.real_disk import RealDisk

LAST_SEQUENCE = 2**31 - 1


def send(
    log: PartitionLog, sequence: int, *values: bytes, epoch: int = 0, **more: bool
) -> tuple[int, bool]:
    done = put(
        log,
        *(values or (b"v",)),
        producer_id=7,
        producer_epoch=epoch,
        base_sequence=sequence,
        **more,
    )
    return done.base_offset, done.duplicate


def forgotten(log: PartitionLog, now_ms: int, after_ms: int) -> int:
    """How many producers are."""
    count = len(log.producers.producers)
    for _ in log.producers.expire(now_ms, after_ms):
        pass
    return count - len(log.producers.producers)


def refusal(
    log: PartitionLog, sequence: int, *values: bytes, epoch: int = 0, **more: bool
) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        send(log, sequence, *values, epoch=epoch, **more)
    return refused.value.code


def test_a_duplicate_among_the_last_five_batches_returns_the_original_offset(
    log: PartitionLog,
) -> None:
    for number in range(7):
        assert send(log, number * 2, b"a", b"b") == (number * 2, False)
    for number in range(2, 7):
        assert send(log, number * 2, b"a", b"b") == (number * 2, True)
    assert refusal(log, 2, b"a", b"b") == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.end_offset == 14


def test_a_duplicate_is_known_before_the_first_is_written_out(log: PartitionLog) -> None:
    batch = a_batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0)
    header = batches.read_header(batch)
    log.append(batch, header, NOW_MS, 0)
    assert log.append(bytearray(batch), header, NOW_MS, 0).duplicate
    log.write_out()
    assert len(all_values(log)) == 1


@pytest.mark.parametrize(
    ("producer_id", "epoch", "sequence", "lacks"),
    [
        (7, 3, 2, False),
        (7, 3, 3, True),
        (7, 3, 1, False),
        (7, 3, LAST_SEQUENCE, False),
        (7, 4, 0, False),
        (7, 4, 1, True),
        (7, 2, 5, False),
        (7, 3, -1, False),
        (8, 0, 0, False),
        (8, 0, 1, True),
    ],
)
def test_it_is_known_whether_something_before_a_batch_is_missing(
    log: PartitionLog, producer_id: int, epoch: int, sequence: int, lacks: bool
) -> None:
    send(log, 0, b"a", b"b", epoch=3)
    batch = a_batch(b"v", producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    header = batches.read_header(batch)
    assert log.producers.lacks_some_before(header) == lacks
    assert log.producers.begins_late(header) == (lacks and producer_id == 8)


def test_a_gap_is_known_where_sequences_begin_again(log: PartitionLog) -> None:
    send(log, LAST_SEQUENCE)
    following, later = (
        batches.read_header(a_batch(b"v", producer_id=7, producer_epoch=0, base_sequence=each))
        for each in (0, 1)
    )
    assert not log.producers.lacks_some_before(following)
    assert log.producers.lacks_some_before(later)


def test_a_gap_in_the_sequence_is_refused(log: PartitionLog) -> None:
    send(log, 0)
    assert refusal(log, 2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 1) == (1, False)


def test_sequences_wrap_around(log: PartitionLog) -> None:
    send(log, LAST_SEQUENCE - 1, b"a")
    assert send(log, LAST_SEQUENCE, b"b", b"c") == (1, False)
    assert send(log, 1) == (3, False)
    assert send(log, LAST_SEQUENCE, b"b", b"c") == (1, True)
    send(log, 2)
    assert refusal(log, 0) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_unknown_producer_may_begin_anywhere(log: PartitionLog) -> None:
    assert send(log, 500) == (0, False)


def test_an_old_epoch_is_fenced_and_a_new_one_begins_at_zero(log: PartitionLog) -> None:
    send(log, 0, epoch=3)
    assert refusal(log, 1, epoch=2) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(log, 1, epoch=4) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 0, epoch=4) == (1, False)
    assert refusal(log, 1, epoch=3) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_marker_alone_raises_the_epoch(log: PartitionLog) -> None:
    send(log, 0, transactional=True)
    put_marker(log, 7, commit=False, epoch=1)
    assert refusal(log, 1, transactional=True) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(log, 5, epoch=1, transactional=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 0, epoch=1, transactional=True) == (2, False)


def test_markers_of_old_producers_and_old_coordinators_are_fenced(log: PartitionLog) -> None:
    send(log, 0, epoch=2, transactional=True)
    with pytest.raises(Refused) as refused:
        put_marker(log, 7, commit=True, epoch=1)
    assert refused.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    put_marker(log, 7, commit=True, epoch=2, coordinator_epoch=5)
    with pytest.raises(Refused) as refused:
        put_marker(log, 7, commit=True, epoch=2, coordinator_epoch=4)
    assert refused.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_write_outside_of_the_open_transaction_is_refused(log: PartitionLog) -> None:
    send(log, 0, transactional=True)
    assert refusal(log, 1) == ErrorCode.INVALID_TXN_STATE


def test_the_last_stable_offset_is_where_the_earliest_open_transaction_begins(
    log: PartitionLog,
) -> None:
    put(log, b"plain")
    assert log.last_stable_offset(1) == 1
    for producer_id in (1, 2):
        put(
            log,
            b"v",
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
    assert log.last_stable_offset(3) == 1
    put_marker(log, 1, commit=True)
    assert log.last_stable_offset(4) == 2
    put_marker(log, 2, commit=False)
    assert log.last_stable_offset(4) == 2, "the marker is not committed yet"
    assert log.last_stable_offset(5) == 5
    assert log.aborted_between(0, 5) == [(2, 2, 4, 5)]
    assert log.aborted_between(0, 2) == []
    assert log.aborted_between(3, 4) == [(2, 2, 4, 5)]


def test_the_last_stable_offset_is_not_below_what_was_deleted(log: PartitionLog) -> None:
    for sequence in range(5):
        send(log, sequence, transactional=True)
    log.advance_start(3)
    assert log.last_stable_offset(5) == 3
    assert log.last_stable_offset(2) == 2, "but below what is committed"


def test_an_empty_transaction_leaves_no_trace_in_the_aborted_index(log: PartitionLog) -> None:
    put_marker(log, 7, commit=False)
    assert log.aborted_between(0, 10) == []
    assert log.last_stable_offset(1) == 1


@pytest.mark.parametrize("snapshot", ["kept", "lost", "garbled"])
def test_producers_are_remembered_across_a_clean_stop_whatever_became_of_the_snapshot(
    log: PartitionLog, disk: RealDisk, folder: Path, snapshot: str
) -> None:
    for sequence in range(6):
        send(log, sequence, transactional=True)
    log.close()
    taken = folder / "00000000000000000006.snapshot"
    if snapshot == "lost":
        taken.unlink()
    elif snapshot == "garbled":
        taken.write_bytes(taken.read_bytes()[:-1] + b"?")
    again = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    again.end_offset = again.written_end = 6
    assert send(again, 1, transactional=True) == (1, True)
    assert send(again, 5, transactional=True) == (5, True)
    assert refusal(again, 0, transactional=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert again.last_stable_offset(6) == 0
    assert send(again, 6, transactional=True) == (6, False)


def test_producers_are_remembered_after_a_crash(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    for sequence in range(6):
        send(log, sequence)
    recovered = opened(disk, str(folder))
    assert send(recovered, 2) == (2, True)
    assert send(recovered, 6) == (6, False)


def test_a_follower_knows_its_leaders_producers(
    log: PartitionLog, disk: RealDisk, tmp_path: Path
) -> None:
    for sequence in range(3):
        send(log, sequence, transactional=True)
    put_marker(log, 7, commit=False)
    follower = PartitionLog(disk, str(tmp_path / "follower-0"), TOPIC_ID, TopicConfig())
    follower.append_batches(memoryview(b"".join(batches_at(log, 0))), NOW_MS)
    assert send(follower, 2, transactional=True) == (2, True)
    assert follower.aborted_between(0, 4) == log.aborted_between(0, 4)


def test_truncation_takes_back_what_producers_wrote_there(log: PartitionLog) -> None:
    for sequence in range(6):
        send(log, sequence)
    log.truncate_to(3)
    assert send(log, 2) == (2, True)
    assert send(log, 3) == (3, False)


def test_silent_producers_are_forgotten_unless_a_transaction_is_open(log: PartitionLog) -> None:
    send(log, 0)
    put(log, b"v", producer_id=8, producer_epoch=0, base_sequence=0, transactional=True)
    assert forgotten(log, NOW_MS + 999, 1000) == 0
    assert forgotten(log, NOW_MS + 1000, 1000) == 1
    assert set(log.producers.producers) == {8}
    assert send(log, 900) == (2, False)


def test_a_producer_that_writes_while_others_are_forgotten_stays(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer_state, "PRODUCERS_A_SLICE", 1)
    for producer_id in (6, 7, 8):
        put(log, b"v", producer_id=producer_id, producer_epoch=0, base_sequence=0)
    slices = log.producers.expire(NOW_MS + 1000, 1000)
    next(slices)
    send(log, 1)
    assert len(list(slices)) == 2
    assert set(log.producers.producers) == {7}
    assert send(log, 0) == (1, True)


@pytest.mark.parametrize("at_ms", [NOW_MS - 1_000_000, 0])
def test_producers_known_from_the_log_are_silent_from_the_first_look_at_them_on(
    log: PartitionLog, disk: RealDisk, folder: Path, at_ms: int
) -> None:
    put(log, b"old", at_ms=at_ms, producer_id=7, producer_epoch=0, base_sequence=0)
    again = opened(disk, str(folder))
    again.roll()  # with a snapshot that does not know either
    again.close()
    for known in (again, opened(disk, str(folder), recovery_point=1)):
        assert forgotten(known, NOW_MS, 1000) == 0
        assert forgotten(known, NOW_MS + 999, 1000) == 0
        assert forgotten(known, NOW_MS + 1000, 1000) == 1


def test_a_follower_goes_by_its_own_clock(
    log: PartitionLog, disk: RealDisk, tmp_path: Path
) -> None:
    put(log, b"old", at_ms=NOW_MS - 5000, producer_id=7, producer_epoch=0, base_sequence=0)
    follower = PartitionLog(disk, str(tmp_path / "copy-0"), TOPIC_ID, TopicConfig())
    follower.append_batches(memoryview(b"".join(batches_at(log, 0))), NOW_MS)
    assert forgotten(follower, NOW_MS + 999, 1000) == 0
    assert forgotten(follower, NOW_MS + 1000, 1000) == 1


def test_those_that_wrote_the_longest_ago_are_forgotten_unless_a_transaction_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(producer_state, "PRODUCERS_REMEMBERED", 10)
    states = ProducerStates()
    for number in range(10):
        batch = a_batch(
            b"x",
            producer_id=number,
            producer_epoch=0,
            base_sequence=0,
            transactional=number == 1,
        )
        heard_ms = NOT_KNOWN if number < 5 else NOW_MS + number
        states.note_batch(batches.read_header(batch), number, NOW_MS, heard_ms)
    for number in (0, 10, 11):
        batch = a_batch(b"x", producer_id=number, producer_epoch=0, base_sequence=number)
        states.note_batch(batches.read_header(batch), 10 + number, NOW_MS, NOW_MS)
    assert set(range(12)) - set(states.producers) == {2, 3}


def test_producers_that_all_have_a_transaction_open_are_all_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(producer_state, "PRODUCERS_REMEMBERED", 10)
    states = ProducerStates()
    for number in range(100):
        batch = a_batch(
            b"x", producer_id=number, producer_epoch=0, base_sequence=0, transactional=True
        )
        states.note_batch(batches.read_header(batch), number, NOW_MS, NOW_MS)
    assert len(states.producers) == 100


def test_of_a_producer_that_was_read_again_its_last_batch_says_when_it_wrote() -> None:
    states = ProducerStates()
    batch = a_batch(b"x", producer_id=7, producer_epoch=0, base_sequence=0)
    states.note_batch(batches.read_header(batch), 0, NOW_MS - 5, NOT_KNOWN)
    assert states.producers[7].latest_timestamp == NOW_MS - 5
    states.note_batch(batches.read_header(batch), 1, NOW_MS - 5, NOW_MS)
    assert states.producers[7].latest_timestamp == NOW_MS


def test_those_forgotten_for_one_that_is_undone_are_known_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(producer_state, "PRODUCERS_REMEMBERED", 10)
    states = ProducerStates()
    for number in range(11):
        states.settle()
        batch = a_batch(b"x", producer_id=number, producer_epoch=0, base_sequence=0)
        states.note_batch(batches.read_header(batch), number, NOW_MS, NOW_MS + number)
    assert 0 not in states.producers
    states.undo(10)
    assert set(states.producers) == set(range(10))


def test_the_number_of_producers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_state, "PRODUCERS_REMEMBERED", 20)
    states = ProducerStates()
    for number in range(100):
        batch = a_batch(b"v", producer_id=number, producer_epoch=0, base_sequence=0)
        states.note_batch(batches.read_header(batch), number, NOW_MS, NOW_MS + number)
        assert len(states.producers) <= 20
        assert number in states.producers


def test_a_snapshot_of_a_newer_version_is_refused() -> None:
    data = bytearray(producer_snapshot.encode([]))
    data[1] = 9
    with pytest.raises(Unusable, match="version 9"):
        producer_snapshot.decode(bytes(data), "x.snapshot")


def test_a_snapshot_has_kafkas_layout() -> None:
    states = ProducerStates()
    batch = a_batch(
        b"v", b"w", producer_id=7, producer_epoch=2, base_sequence=4, transactional=True
    )
    states.note_batch(batches.read_header(batch), 10, NOW_MS, NOW_MS)
    data = producer_snapshot.encode(states.settled())
    expected = (
        (1).to_bytes(4, "big")
        + (7).to_bytes(8, "big")
        + (2).to_bytes(2, "big")
        + (5).to_bytes(4, "big")
        + (11).to_bytes(8, "big")
        + (1).to_bytes(4, "big")
        + NOW_MS.to_bytes(8, "big")
        + b"\xff" * 4
        + (10).to_bytes(8, "big")
    )
    assert data[:2] == b"\0\1"
    assert data[6 : 6 + len(expected)] == expected


def test_the_number_of_ended_transactions_changes_at_their_ends_only(log: PartitionLog) -> None:
    """Or what is sent twice at once, the first of its producer, would be taken for late."""
    before = log.producers.ended(7)
    send(log, 0, transactional=True)
    assert log.producers.ended(7) == before
    put_marker(log, 7, commit=True)
    assert log.producers.ended(7) != before
