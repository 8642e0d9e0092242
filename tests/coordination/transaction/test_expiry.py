"""What time does to transactions, and what a clock that is set does not."""

from __future__ import annotations

import pytest
from tests.coordination.transaction.stage import ORDERS, TIMEOUT_MS, Stage, refusal

from penstock.coordination.transaction.expiry import Forgetting
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import EPOCH_GIVEN_MAX, Identity, State
from penstock.errors import ErrorCode

DAY_MS = 24 * 3_600_000


@pytest.fixture
def stage() -> Stage:
    return Stage(transactional_id_expiration_ms=7 * DAY_MS)


def opened(stage: Stage) -> Identity:
    writer = stage.begun()
    stage.add(writer)
    return writer


def test_a_transaction_that_is_left_open_is_aborted(stage: Stage) -> None:
    writer = opened(stage)
    stage.wait(TIMEOUT_MS - 1)
    assert stage.is_in(Phase.ONGOING)
    stage.wait(1)
    assert stage.is_in(Phase.PREPARE_ABORT)
    assert stage.state.owner == writer.next
    assert stage.state.partitions == {ORDERS}


def test_adding_partitions_gives_it_no_more_time(stage: Stage) -> None:
    writer = opened(stage)
    stage.wait(TIMEOUT_MS - 1)
    stage.add(writer, ("orders", 1))
    stage.wait(1)
    assert stage.is_in(Phase.PREPARE_ABORT)


def test_each_transaction_has_the_whole_time(stage: Stage) -> None:
    writer = opened(stage)
    stage.wait(TIMEOUT_MS - 1)
    writer = stage.end(writer)
    stage.complete()
    stage.add(writer)
    stage.wait(TIMEOUT_MS - 1)
    assert stage.is_in(Phase.ONGOING)
    stage.wait(1)
    assert stage.is_in(Phase.PREPARE_ABORT)


@pytest.mark.parametrize("set_by_ms", [-DAY_MS, DAY_MS])
def test_a_clock_that_is_set_neither_shortens_nor_lengthens_it(
    stage: Stage, set_by_ms: int
) -> None:
    opened(stage)
    stage.wait(10)
    stage.set_by_ms = set_by_ms
    stage.wait(TIMEOUT_MS - 11)
    assert stage.is_in(Phase.ONGOING)
    stage.wait(1)
    assert stage.is_in(Phase.PREPARE_ABORT)


def test_the_next_coordinator_goes_on_counting(stage: Stage) -> None:
    opened(stage)
    stage.wait(TIMEOUT_MS - 1)
    stage.reload()
    stage.wait(1)
    assert stage.is_in(Phase.PREPARE_ABORT)


def test_the_next_coordinator_never_waits_longer_than_the_timeout(stage: Stage) -> None:
    opened(stage)
    stage.set_by_ms = -DAY_MS
    stage.reload()
    stage.wait(TIMEOUT_MS)
    assert stage.is_in(Phase.PREPARE_ABORT)


def test_who_took_too_long_may_go_on_if_nobody_else_has_begun(stage: Stage) -> None:
    writer = opened(stage)
    stage.wait(TIMEOUT_MS)
    assert refusal(lambda: stage.end(writer, version=1)) is ErrorCode.PRODUCER_FENCED
    stage.complete()
    assert stage.begun(writer) == writer.next


def test_who_took_too_long_is_shut_out_once_another_has_begun(stage: Stage) -> None:
    writer = opened(stage)
    stage.wait(TIMEOUT_MS)
    stage.complete()
    stage.begun()
    assert refusal(lambda: stage.begin(writer)) is ErrorCode.PRODUCER_FENCED


def test_what_took_too_long_is_not_said_to_be_committed(stage: Stage) -> None:
    writer = opened(stage)
    stage.wait(TIMEOUT_MS)
    assert refusal(lambda: stage.end(writer)) is ErrorCode.INVALID_TXN_STATE
    stage.complete()
    assert refusal(lambda: stage.end(writer)) is ErrorCode.INVALID_TXN_STATE
    assert stage.end(writer, is_commit=False) == writer.next, "that it is aborted is true"
    stage.reload()
    assert stage.end(writer, is_commit=False) == writer.next


def test_who_took_too_long_is_not_given_the_last_epoch(stage: Stage) -> None:
    writer = Identity(7, EPOCH_GIVEN_MAX)
    stage.put(State(writer, timeout_ms=TIMEOUT_MS))
    stage.add(writer)
    stage.wait(TIMEOUT_MS)
    stage.complete()
    code = refusal(lambda: stage.end(writer, is_commit=False))
    assert code is ErrorCode.PRODUCER_FENCED
    assert stage.begun(writer) == Identity(100, 0), "but another id, if it begins anew"


def test_who_goes_on_has_the_timeout_that_it_asks_for(stage: Stage) -> None:
    writer = opened(stage)
    stage.wait(TIMEOUT_MS)
    stage.complete()
    after = stage.begun(writer, timeout_ms=2 * TIMEOUT_MS)
    assert after == writer.next
    assert stage.begun(writer, timeout_ms=2 * TIMEOUT_MS) == after, "repeated"
    stage.add(after)
    stage.wait(2 * TIMEOUT_MS - 1)
    assert stage.is_in(Phase.ONGOING)
    stage.wait(1)
    assert stage.is_in(Phase.PREPARE_ABORT)


def forget(stage: Stage) -> None:
    sweep = Forgetting(stage.transaction)
    stage.run(sweep.go_on)
    assert sweep.is_done


def test_an_id_that_nobody_uses_is_forgotten(stage: Stage) -> None:
    stage.transact(stage.begun())
    stage.wait(7 * DAY_MS - 1)
    forget(stage)
    assert stage.is_in(Phase.COMPLETE_COMMIT)
    stage.wait(1)
    forget(stage)
    assert stage.transaction.is_forgotten
    stage.reload()
    assert len(stage.kept) == 0
    assert stage.begun() == Identity(101, 0), "and has another producer id from then on"


def test_an_id_is_not_forgotten_before_its_transaction_is_over(stage: Stage) -> None:
    writer = opened(stage)
    stage.set_by_ms = 30 * DAY_MS
    forget(stage)
    stage.end(writer)
    stage.set_by_ms = 60 * DAY_MS
    forget(stage)
    assert stage.is_in(Phase.PREPARE_COMMIT)


def test_a_clock_that_is_set_back_keeps_an_id_longer(stage: Stage) -> None:
    stage.begun()
    stage.set_by_ms = -DAY_MS
    stage.wait(7 * DAY_MS)
    forget(stage)
    assert not stage.transaction.is_forgotten
