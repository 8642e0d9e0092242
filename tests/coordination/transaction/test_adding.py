"""Partitions that a transaction writes to."""

from __future__ import annotations

import pytest
from tests.coordination.transaction.stage import ORDERS, Stage, refusal

from penstock.coordination.transaction import adding
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import Identity
from penstock.errors import ErrorCode

OTHER = ("orders", 1)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_transaction_begins_with_its_first_partition(stage: Stage) -> None:
    writer = stage.begun()
    stage.add(writer, ORDERS)
    assert stage.phase is Phase.ONGOING
    began_ms = stage.state.started_ms
    stage.wait(10)
    stage.add(writer, OTHER)
    assert stage.state.partitions == {ORDERS, OTHER}
    assert stage.state.started_ms == began_ms


def test_what_is_there_already_is_not_written_again(stage: Stage) -> None:
    writer = stage.begun()
    stage.add(writer)
    stage.log.clear()
    stage.add(writer)
    assert not stage.log


def test_the_next_transaction_has_partitions_of_its_own(stage: Stage) -> None:
    writer = stage.transact(stage.begun())
    stage.add(writer, OTHER)
    assert stage.state.partitions == {OTHER}


def test_only_who_has_the_id_may_add(stage: Stage) -> None:
    writer = stage.begun()
    wrong = {
        Identity(7, 0): ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        Identity(writer.producer_id, -1): ErrorCode.PRODUCER_FENCED,
        writer.next: ErrorCode.PRODUCER_FENCED,
    }
    for who, code in wrong.items():
        assert refusal(lambda who=who: stage.add(who)) is code  # type: ignore[misc]
        assert refusal(lambda who=who: stage.missing(who, [ORDERS])) is code  # type: ignore[misc]
    assert stage.phase is Phase.EMPTY


def test_an_id_that_is_not_known_has_no_writer(stage: Stage) -> None:
    assert refusal(lambda: stage.add(Identity(7, 0))) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("version", [1, 2])
def test_while_the_last_one_is_being_ended_nothing_is_added(stage: Stage, version: int) -> None:
    writer = stage.begun()
    stage.add(writer)
    after = stage.end(writer, version=version)
    assert refusal(lambda: stage.add(after)) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert refusal(lambda: stage.missing(after, [ORDERS])) is ErrorCode.CONCURRENT_TRANSACTIONS
    stage.complete()
    stage.add(after)


def test_partitions_that_are_not_in_the_transaction_are_told(stage: Stage) -> None:
    writer = stage.begun()
    assert stage.missing(writer, [ORDERS]) == {ORDERS}
    stage.add(writer)
    assert stage.missing(writer, [ORDERS]) == set()
    assert stage.missing(writer, [ORDERS, OTHER]) == {OTHER}
    after = stage.end(writer)
    stage.complete()
    assert stage.missing(after, [ORDERS]) == {ORDERS}


def test_a_transaction_has_no_more_partitions_than_may_be(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "PARTITIONS_MAX", 2)
    writer = stage.begun()
    three = [("orders", index) for index in range(3)]
    assert refusal(lambda: stage.add(writer, *three)) is ErrorCode.INVALID_REQUEST
    stage.add(writer, *three[:2])
    assert refusal(lambda: stage.add(writer, three[2])) is ErrorCode.INVALID_REQUEST
    assert len(stage.state.partitions) == 2
