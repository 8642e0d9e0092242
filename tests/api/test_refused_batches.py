"""Batches of idempotent producers that were refused, and those behind them."""

from __future__ import annotations

import pytest

from penstock.api.refused_batches import (
    FORGOTTEN_MS,
    LATE_MS,
    LATE_TIMES,
    PLACES_MAX,
    SEQUENCES,
    RefusedBatches,
)
from penstock.errors import ErrorCode, Refused
from penstock.wire.batch import BatchHeader, read_header
from penstock.wire.batch_builder import build_batch
from penstock.wire.records import Record

PLACE = ("news", bytes(16), 0)
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


def batch(sequence: int, producer_id: int = 7, epoch: int = 0) -> BatchHeader:
    records = [Record(0, 0, None, b"value")]
    made = build_batch(
        records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )
    return read_header(memoryview(made))


@pytest.fixture
def refused() -> RefusedBatches:
    """The batch of sequence 5 was refused."""
    made = RefusedBatches()
    made.note(PLACE, batch(5), NOT_LEADER, 0)
    return made


def test_what_comes_behind_is_refused_until_the_first_has_come_again(
    refused: RefusedBatches,
) -> None:
    for sequence in (6, 9):
        with pytest.raises(Refused) as caught:
            refused.check(PLACE, batch(sequence), 1)
        assert caught.value.code is NOT_LEADER
        refused.note(PLACE, batch(sequence), NOT_LEADER, 1)
    assert refused
    for sequence in (5, 6, 9):
        refused.check(PLACE, batch(sequence), 2)
    assert not refused


def test_what_follows_on_what_the_log_has_is_taken(refused: RefusedBatches) -> None:
    """The first has come to another leader meanwhile, and the partition is here again."""
    refused.check(PLACE, batch(6), 1, is_next=True)
    assert not refused


def test_other_producers_partitions_and_epochs_are_not_concerned(refused: RefusedBatches) -> None:
    refused.check(PLACE, batch(6, producer_id=8), 1)
    refused.check(("news", bytes(16), 1), batch(6), 1)
    refused.check(PLACE, batch(0, epoch=1), 1)
    assert not refused, "a new epoch begins anew"


def test_sequences_begin_again_at_their_end() -> None:
    refused = RefusedBatches()
    refused.note(PLACE, batch(SEQUENCES - 1), NOT_LEADER, 0)
    with pytest.raises(Refused):
        refused.check(PLACE, batch(0), 1)


def test_who_does_not_send_it_again_is_not_held_up_for_ever(refused: RefusedBatches) -> None:
    with pytest.raises(Refused):
        refused.check(PLACE, batch(6), FORGOTTEN_MS - 1)
    refused.check(PLACE, batch(6), FORGOTTEN_MS)


@pytest.mark.parametrize(
    ("producer_id", "code"), [(-1, NOT_LEADER), (7, ErrorCode.CORRUPT_MESSAGE)]
)
def test_what_is_not_sent_again_or_has_no_order_holds_nothing_up(
    producer_id: int, code: ErrorCode
) -> None:
    refused = RefusedBatches()
    refused.note(PLACE, batch(5, producer_id), code, 0)
    assert not refused


def test_only_so_many_are_remembered() -> None:
    refused = RefusedBatches()
    for producer_id in range(PLACES_MAX + 1):
        refused.note(PLACE, batch(5, producer_id), NOT_LEADER, 0)
    refused.check(PLACE, batch(6, 0), 1)
    with pytest.raises(Refused):
        refused.check(PLACE, batch(6, 1), 1)


def test_what_is_refused_again_and_again_is_remembered_as_long(refused: RefusedBatches) -> None:
    for now_ms in range(0, 3 * FORGOTTEN_MS, FORGOTTEN_MS // 2):
        refused.note(PLACE, batch(5), NOT_LEADER, now_ms)
    with pytest.raises(Refused):
        refused.check(PLACE, batch(6), 3 * FORGOTTEN_MS)


def test_a_new_epoch_takes_the_place_of_the_one_before(refused: RefusedBatches) -> None:
    refused.note(PLACE, batch(0, epoch=1), NOT_LEADER, 1)
    with pytest.raises(Refused):
        refused.check(PLACE, batch(1, epoch=1), 2)


def test_what_nobody_sends_again_is_forgotten_whoever_comes_next(refused: RefusedBatches) -> None:
    refused.check(("other", bytes(16), 0), batch(5, producer_id=8), FORGOTTEN_MS)
    assert not refused


def test_names_that_no_topic_has_are_not_kept() -> None:
    refused = RefusedBatches()
    refused.note(("n" * 250, bytes(16), 0), batch(5), NOT_LEADER, 0)
    assert not refused


def is_let_off(refused: RefusedBatches, header: BatchHeader, *times_ms: int) -> list[bool]:
    """A batch behind a gap, sent at these times: whether what is missing may be late."""
    return [refused.may_come_late(PLACE, header, each) for each in times_ms]


def test_what_comes_before_a_batch_may_be_late_but_not_for_ever() -> None:
    refused = RefusedBatches()
    assert is_let_off(refused, batch(6), *range(LATE_TIMES), LATE_MS - 1) == [True] * (
        LATE_TIMES + 1
    )
    assert is_let_off(refused, batch(6), LATE_MS) == [False]
    assert not refused, "those behind are held up by what is refused, not by this"


def test_who_tries_seldom_has_more_time() -> None:
    often_enough = [number * LATE_MS for number in range(LATE_TIMES + 1)]
    found = is_let_off(RefusedBatches(), batch(6), *often_enough)
    assert found == [True] * LATE_TIMES + [False]


def test_every_gap_has_its_own_time() -> None:
    refused = RefusedBatches()
    is_let_off(refused, batch(6), *[0] * LATE_TIMES)
    assert refused.may_come_late(("news", bytes(16), 1), batch(6), LATE_MS)
    assert is_let_off(refused, batch(6, producer_id=8), LATE_MS) == [True]
    assert is_let_off(refused, batch(6), LATE_MS) == [False]
    assert is_let_off(refused, batch(6, epoch=1), LATE_MS) == [True]
    assert is_let_off(refused, batch(9, epoch=1), LATE_MS) == [True]


def test_a_clock_that_is_set_back_makes_nobody_wait_longer() -> None:
    refused = RefusedBatches()
    is_let_off(refused, batch(6), *[LATE_MS] * LATE_TIMES)
    assert is_let_off(refused, batch(6), 0) == [False]


def test_only_so_many_gaps_are_remembered() -> None:
    refused = RefusedBatches()
    for producer_id in range(PLACES_MAX + 1):
        is_let_off(refused, batch(6, producer_id), *[0] * LATE_TIMES)
    assert is_let_off(refused, batch(6, 1), LATE_MS) == [False]
    assert is_let_off(refused, batch(6, 0), LATE_MS) == [True], "it was forgotten"
