"""Which state may follow which, and how they are stored."""

from __future__ import annotations

import pytest
from tests.coordination.transaction.stage import NAME, NOW_MS, Stage

from penstock.coordination.transaction.phases import MOVES, Phase, completed, prepared
from penstock.coordination.transaction.state import Identity, State, read_state, written_state
from penstock.coordination.transaction.writing import write
from penstock.coordination.turn import Event
from penstock.wire.stored.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from penstock.wire.stored_codec import decode_value, encode_value

OWNER = Identity(7, 3)


@pytest.mark.parametrize("before", Phase)
@pytest.mark.parametrize("after", Phase)
def test_only_moves_of_the_table_are_written(before: Phase, after: Phase) -> None:
    stage = Stage()
    stage.put(State(OWNER, before))
    if after in MOVES[before]:
        stage.run(lambda turn, one: write(turn, one, State(OWNER, after)))
        assert stage.phase is after
    else:
        with pytest.raises(AssertionError, match="is not followed by"):
            stage.run(lambda turn, one: write(turn, one, State(OWNER, after)))
        assert stage.phase is before


def test_what_is_prepared_ends_as_it_was_decided() -> None:
    for is_commit in (True, False):
        assert MOVES[prepared(is_commit)] == {completed(is_commit)}
        assert prepared(is_commit).is_commit is completed(is_commit).is_commit is is_commit


def test_states_have_the_numbers_that_kafka_has_given_them() -> None:
    assert [phase.stored for phase in Phase] == list(range(6))
    assert [Phase.of_stored(number).value for number in range(6)] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
    ]


@pytest.mark.parametrize("number", [-1, 6, 7, 127])
def test_a_state_that_is_not_known_is_not_guessed(number: int) -> None:
    with pytest.raises(ValueError, match="no state of a transaction"):
        Phase.of_stored(number)


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("successor", [Identity(-1, -1), Identity(9, 0), Identity(7, 4)])
def test_a_state_is_the_same_when_it_is_read_again(phase: Phase, successor: Identity) -> None:
    places = frozenset() if phase.is_over else frozenset({("orders", 1), ("a", 0), ("orders", 0)})
    state = State(OWNER, phase, 60_000, places, NOW_MS, NOW_MS + 1, 5, successor, 2)
    stage = Stage()
    stage.put(state)
    assert stage.state == state
    assert set(stage.kept.prepared) == ({NAME} if phase.is_prepared else set())


def test_what_kafka_has_written_in_its_first_version_is_read() -> None:
    value = TransactionLogValue(
        producer_id=7,
        producer_epoch=3,
        transaction_timeout_ms=60_000,
        transaction_status=Phase.ONGOING.stored,
        transaction_partitions=[PartitionsSchema("orders", [0, 2])],
        transaction_last_update_timestamp_ms=NOW_MS + 1,
        transaction_start_timestamp_ms=NOW_MS,
    )
    read = decode_value(TransactionLogKey(NAME), encode_value(value, 0))
    assert isinstance(read, TransactionLogValue)
    places = frozenset({("orders", 0), ("orders", 2)})
    assert read_state(read) == State(OWNER, Phase.ONGOING, 60_000, places, NOW_MS, NOW_MS + 1)


def test_an_empty_one_is_stored_without_partitions_as_kafka_expects() -> None:
    assert written_state(State(OWNER)).transaction_partitions is None
    assert written_state(State(OWNER, Phase.COMPLETE_ABORT)).transaction_partitions == []


def test_an_end_that_is_stored_leaves_nothing() -> None:
    stage = Stage()
    stage.put(State(OWNER, Phase.PREPARE_ABORT))
    stage.kept.apply(Event(TransactionLogKey(NAME), None))
    assert stage.transaction.is_forgotten
    assert not stage.kept.prepared
