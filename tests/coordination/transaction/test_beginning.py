"""InitProducerId with a transactional id: who gets which identity, and who is shut out."""

from __future__ import annotations

import pytest
from tests.coordination.transaction.stage import ORDERS, TIMEOUT_MS, Stage, refusal

from penstock.coordination.transaction.beginning import NEVER_MS, Begun
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import (
    EPOCH_GIVEN_MAX,
    EPOCH_MAX,
    NOBODY,
    Identity,
    State,
)
from penstock.errors import ErrorCode

CONCURRENT = Begun(error=ErrorCode.CONCURRENT_TRANSACTIONS)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def two_phases() -> Stage:
    return Stage(transaction_two_phase_commit_enable=True)


def test_the_first_producer_gets_an_id_of_its_own(stage: Stage) -> None:
    assert stage.begun() == Identity(100, 0)
    assert stage.state == State(
        Identity(100, 0), timeout_ms=TIMEOUT_MS, updated_ms=stage.state.updated_ms
    )


def test_the_next_producer_shuts_the_first_one_out(stage: Stage) -> None:
    first = stage.begun()
    second = stage.begun()
    assert second == first.next
    for late in (lambda: stage.add(first), lambda: stage.end(first), lambda: stage.begin(first)):
        assert refusal(late) is ErrorCode.PRODUCER_FENCED
    stage.add(second)


def test_a_producer_that_goes_on_after_an_error_gets_the_next_epoch(stage: Stage) -> None:
    first = stage.begun()
    assert stage.begun(first) == first.next


def test_a_repeated_request_is_given_what_it_was_given_before(stage: Stage) -> None:
    first = stage.begun()
    second = stage.begun(first)
    assert stage.begun(first) == second
    assert stage.state.owner == second


def test_a_repeated_request_is_not_granted_once_its_answer_has_been_used(stage: Stage) -> None:
    """It came late: the transaction that is open by then would be aborted."""
    first = stage.begun()
    second = stage.begun(first)
    third = stage.transact(second)
    stage.add(third)
    assert refusal(lambda: stage.begin(first)) is ErrorCode.PRODUCER_FENCED
    assert stage.is_in(Phase.ONGOING)


def test_a_repeated_request_is_not_granted_if_another_has_begun(stage: Stage) -> None:
    first = stage.begun()
    stage.begun(first)
    stage.begun()
    assert refusal(lambda: stage.begin(first)) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("known", [Identity(100, -1), Identity(-1, 0)])
def test_half_an_identity_is_refused(stage: Stage, known: Identity) -> None:
    stage.begun()
    stage.begun()
    assert refusal(lambda: stage.begin(known)) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("epoch", [EPOCH_GIVEN_MAX, EPOCH_MAX])
def test_when_epochs_are_used_up_another_id_follows(stage: Stage, epoch: int) -> None:
    stage.put(State(Identity(7, epoch)))
    assert stage.begun() == Identity(100, 0)
    assert stage.state.previous_id == 7
    assert refusal(lambda: stage.add(Identity(7, epoch))) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_repeated_request_is_answered_also_if_another_id_has_followed(stage: Stage) -> None:
    stage.put(State(Identity(7, EPOCH_GIVEN_MAX)))
    known = Identity(7, EPOCH_GIVEN_MAX)
    assert stage.begun(known) == stage.begun(known) == Identity(100, 0)


def test_a_transaction_that_was_left_open_is_aborted_first(stage: Stage) -> None:
    first = stage.begun()
    stage.add(first)
    assert stage.begin() == CONCURRENT
    assert stage.is_in(Phase.PREPARE_ABORT)
    assert stage.state.owner == first.next, "its markers shut out what is under way"
    assert stage.begin() == CONCURRENT
    stage.complete()
    assert stage.begun() == first.next.next
    assert stage.is_in(Phase.EMPTY)


def test_a_producer_that_aborts_its_own_by_beginning_anew_is_granted_once(stage: Stage) -> None:
    first = stage.begun()
    stage.add(first)
    assert stage.begin(first) == CONCURRENT
    assert stage.begin(first) == CONCURRENT
    stage.complete()
    assert stage.begun(first) == first.next


def test_a_producer_that_was_aborted_by_another_is_shut_out(stage: Stage) -> None:
    first = stage.begun()
    stage.add(first)
    stage.begin()
    assert refusal(lambda: stage.begin(first)) is ErrorCode.PRODUCER_FENCED


def test_the_last_epoch_of_an_id_is_given_to_nobody(stage: Stage) -> None:
    """The markers of the transaction that was aborted have it: later ones could not be told from
    those."""
    known = Identity(7, EPOCH_GIVEN_MAX)
    stage.put(State(known, timeout_ms=TIMEOUT_MS))
    stage.add(known)
    assert stage.begin(known) == CONCURRENT
    assert stage.state.owner == Identity(7, EPOCH_MAX)
    stage.complete()
    assert stage.begun(known) == Identity(100, 0)
    assert stage.begun(known) == Identity(100, 0), "repeated"


@pytest.mark.parametrize("is_commit", [True, False])
def test_what_is_being_ended_is_waited_for(stage: Stage, is_commit: bool) -> None:
    first = stage.begun()
    stage.add(first)
    after = stage.end(first, is_commit=is_commit)
    assert stage.begin() == CONCURRENT
    assert stage.phase.is_prepared
    stage.complete()
    assert stage.begun() == after.next


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_out_of_range_is_refused(stage: Stage, timeout_ms: int) -> None:
    code = refusal(lambda: stage.begin(timeout_ms=timeout_ms))
    assert code is ErrorCode.INVALID_TRANSACTION_TIMEOUT


# -- in two phases (KIP-939)


def test_two_phases_are_refused_where_they_are_not_allowed() -> None:
    stage = Stage(transaction_two_phase_commit_enable=False)
    code = refusal(lambda: stage.begin(in_two_phases=True))
    assert code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_to_keep_a_transaction_is_for_two_phases_only(two_phases: Stage) -> None:
    first = two_phases.begun(in_two_phases=True)
    two_phases.add(first)
    code = refusal(lambda: two_phases.begin(keep_prepared=True))
    assert code is ErrorCode.INVALID_REQUEST
    assert two_phases.is_in(Phase.ONGOING), "neither kept nor aborted"


def kept(stage: Stage) -> tuple[Identity, Identity]:
    """A transaction that was kept: its owner, and who may end it."""
    first = stage.begun(in_two_phases=True)
    stage.add(first)
    begun = stage.begin(in_two_phases=True, keep_prepared=True)
    assert begun == Begun(first.next, first)
    return first, begun.identity


def test_a_transaction_in_two_phases_is_never_aborted_by_time(two_phases: Stage) -> None:
    first = two_phases.begun(in_two_phases=True)
    two_phases.add(first)
    assert two_phases.state.timeout_ms == NEVER_MS
    two_phases.wait(NEVER_MS + 1)
    assert two_phases.is_in(Phase.ONGOING)


def test_a_kept_transaction_belongs_to_who_has_begun_anew(two_phases: Stage) -> None:
    first, second = kept(two_phases)
    assert refusal(lambda: two_phases.end(first)) is ErrorCode.PRODUCER_FENCED
    third = two_phases.begin(in_two_phases=True, keep_prepared=True)
    assert third == Begun(second.next, first)
    assert refusal(lambda: two_phases.end(second)) is ErrorCode.PRODUCER_FENCED


def test_a_kept_transaction_takes_no_more_partitions(two_phases: Stage) -> None:
    _, second = kept(two_phases)
    more = [("orders", 1)]
    assert refusal(lambda: two_phases.add(second, *more)) is ErrorCode.INVALID_TXN_STATE
    assert refusal(lambda: two_phases.missing(second, more)) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_kept_transaction_is_ended_by_the_successor(
    two_phases: Stage, version: int, is_commit: bool
) -> None:
    first, second = kept(two_phases)
    after = two_phases.end(second, is_commit=is_commit, version=version)
    marker = two_phases.state.owner
    assert marker == (first.next if version == 2 else first)
    two_phases.reload()
    two_phases.complete()
    expected = second.next if version == 2 else second
    assert two_phases.state.writer == expected
    assert two_phases.state.successor == NOBODY
    if version == 2:
        assert after == expected
        assert two_phases.end(second, is_commit=is_commit) == expected, "repeated"
    two_phases.add(expected)


def test_a_kept_transaction_is_aborted_for_who_does_not_keep_it(two_phases: Stage) -> None:
    _, second = kept(two_phases)
    assert two_phases.begin(in_two_phases=True) == CONCURRENT
    two_phases.complete()
    assert two_phases.begun(in_two_phases=True) == second.next.next


def test_a_kept_transaction_whose_epochs_are_used_up_goes_to_another_id(
    two_phases: Stage,
) -> None:
    owner = Identity(7, EPOCH_GIVEN_MAX)
    two_phases.put(State(owner, Phase.ONGOING, NEVER_MS, frozenset({ORDERS})))
    begun = two_phases.begin(in_two_phases=True, keep_prepared=True)
    assert begun == Begun(Identity(100, 0), owner)
    after = two_phases.end(begun.identity)
    assert two_phases.state.owner == Identity(7, EPOCH_MAX)
    two_phases.complete()
    assert two_phases.state.owner == after == Identity(100, 1)
    assert two_phases.state.previous_id == 7
