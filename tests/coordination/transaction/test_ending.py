"""How transactions end, for clients of all ages."""

from __future__ import annotations

import pytest
from tests.coordination.transaction.stage import ORDERS, TIMEOUT_MS, Stage, refusal

from penstock.coordination.transaction.phases import Phase, completed, prepared
from penstock.coordination.transaction.state import EPOCH_GIVEN_MAX, EPOCH_MAX, Identity, State
from penstock.errors import ErrorCode

BOTH = pytest.mark.parametrize("is_commit", [True, False])
VERSIONS = pytest.mark.parametrize("version", [1, 2])


@pytest.fixture
def stage() -> Stage:
    return Stage()


def opened(stage: Stage) -> Identity:
    writer = stage.begun()
    stage.add(writer)
    return writer


@BOTH
@VERSIONS
def test_an_end_is_prepared_and_then_complete(stage: Stage, is_commit: bool, version: int) -> None:
    writer = opened(stage)
    after = stage.end(writer, is_commit=is_commit, version=version)
    assert after == (writer.next if version == 2 else writer)
    assert stage.phase is prepared(is_commit)
    assert stage.state.owner == after, "markers have the epoch that shuts the last one out"
    assert stage.state.partitions == {ORDERS}
    stage.complete()
    assert stage.phase is completed(is_commit)
    assert stage.state.partitions == set()
    assert stage.state.owner == after


@BOTH
@VERSIONS
def test_a_repeated_request_is_told_the_same(stage: Stage, is_commit: bool, version: int) -> None:
    writer = opened(stage)
    after = stage.end(writer, is_commit=is_commit, version=version)

    def again() -> Identity:
        return stage.end(writer, is_commit=is_commit, version=version)

    assert refusal(again) is ErrorCode.CONCURRENT_TRANSACTIONS
    stage.complete()
    assert again() == after
    stage.reload()
    assert again() == after
    assert stage.phase is completed(is_commit)


@BOTH
@VERSIONS
def test_what_is_decided_is_not_turned_round(stage: Stage, is_commit: bool, version: int) -> None:
    writer = opened(stage)
    stage.end(writer, is_commit=is_commit, version=version)

    def turn_round() -> Identity:
        return stage.end(writer, is_commit=not is_commit, version=version)

    assert refusal(turn_round) is ErrorCode.INVALID_TXN_STATE
    stage.complete()
    assert refusal(turn_round) is ErrorCode.INVALID_TXN_STATE
    assert stage.phase is completed(is_commit)


@BOTH
def test_before_anything_was_added_an_old_client_has_nothing_to_end(
    stage: Stage, is_commit: bool
) -> None:
    writer = stage.begun()
    code = refusal(lambda: stage.end(writer, is_commit=is_commit, version=1))
    assert code is ErrorCode.INVALID_TXN_STATE


def test_nothing_cannot_be_committed(stage: Stage) -> None:
    writer = stage.begun()
    assert refusal(lambda: stage.end(writer)) is ErrorCode.INVALID_TXN_STATE
    after = stage.transact(writer)
    assert refusal(lambda: stage.end(after)) is ErrorCode.INVALID_TXN_STATE


def test_nothing_can_be_aborted_which_shuts_out_what_is_under_way(stage: Stage) -> None:
    writer = stage.begun()
    after = stage.end(writer, is_commit=False)
    assert after == writer.next
    assert stage.phase is Phase.COMPLETE_ABORT
    assert stage.end(writer, is_commit=False) == after, "repeated"
    assert refusal(lambda: stage.add(writer)) is ErrorCode.PRODUCER_FENCED


def test_nothing_is_aborted_with_another_id_where_epochs_are_used_up(stage: Stage) -> None:
    writer = Identity(7, EPOCH_GIVEN_MAX)
    stage.put(State(writer))
    assert stage.end(writer, is_commit=False) == Identity(100, 0)
    assert stage.end(writer, is_commit=False) == Identity(100, 0), "repeated"


def test_who_has_the_next_epoch_waits_for_the_last_end(stage: Stage) -> None:
    """Its next transaction may be aborted before it could add anything: that is no mistake."""
    after = stage.end(opened(stage))
    for is_commit in (True, False):
        code = refusal(lambda is_commit=is_commit: stage.end(after, is_commit=is_commit))  # type: ignore[misc]
        assert code is ErrorCode.CONCURRENT_TRANSACTIONS
    stage.complete()
    assert stage.end(after, is_commit=False) == after.next


def test_a_late_request_does_not_end_the_next_transaction(stage: Stage) -> None:
    writer = opened(stage)
    after = stage.end(writer)
    stage.complete()
    stage.add(after)
    assert refusal(lambda: stage.end(writer)) is ErrorCode.PRODUCER_FENCED
    assert stage.phase is Phase.ONGOING


@BOTH
def test_where_epochs_are_used_up_the_next_transaction_has_another_id(
    stage: Stage, is_commit: bool
) -> None:
    writer = Identity(7, EPOCH_GIVEN_MAX)
    stage.put(State(writer, timeout_ms=TIMEOUT_MS))
    stage.add(writer)
    assert stage.end(writer, is_commit=is_commit) == Identity(100, 0)
    assert stage.state.owner == Identity(7, EPOCH_MAX)

    def again() -> Identity:
        return stage.end(writer, is_commit=is_commit)

    assert refusal(again) is ErrorCode.CONCURRENT_TRANSACTIONS
    stage.reload()
    stage.complete()
    assert again() == stage.state.owner == Identity(100, 0)
    assert stage.state.previous_id == 7
    stage.add(Identity(100, 0))
    assert refusal(again) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@BOTH
@pytest.mark.parametrize("is_reloaded", [False, True])
def test_who_was_shut_out_is_not_given_the_epoch_that_shuts_it_out(
    stage: Stage, is_commit: bool, is_reloaded: bool
) -> None:
    """Another producer has begun, its transaction was aborted for that, and its own end comes."""
    zombie = opened(stage)
    stage.begin()

    def late() -> Identity:
        return stage.end(zombie, is_commit=is_commit)

    assert refusal(late) is ErrorCode.PRODUCER_FENCED
    if is_reloaded:
        stage.reload()
    stage.complete()
    assert refusal(late) is ErrorCode.PRODUCER_FENCED
    heir = stage.begun()
    assert heir == zombie.next.next
    assert refusal(late) is ErrorCode.PRODUCER_FENCED


def test_who_was_shut_out_is_not_given_what_an_older_client_has_ended(stage: Stage) -> None:
    zombie = stage.begun()
    heir = stage.begun()
    stage.transact(heir, version=1)
    assert refusal(lambda: stage.end(zombie)) is ErrorCode.PRODUCER_FENCED


def test_who_begins_anew_itself_may_ask_how_its_last_one_has_ended(stage: Stage) -> None:
    writer = opened(stage)
    stage.begin(writer)
    stage.complete()
    assert stage.end(writer, is_commit=False) == writer.next


def test_only_who_has_the_id_may_end(stage: Stage) -> None:
    writer = opened(stage)
    for version in (1, 2):
        for who, code in (
            (Identity(7, 0), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
            (writer.next, ErrorCode.PRODUCER_FENCED),
        ):
            found = refusal(lambda who=who, version=version: stage.end(who, version=version))  # type: ignore[misc]
            assert found is code
    assert stage.phase is Phase.ONGOING


def test_what_is_not_prepared_is_not_completed(stage: Stage) -> None:
    opened(stage)
    stage.complete()
    assert stage.phase is Phase.ONGOING


@BOTH
def test_what_was_prepared_is_gone_on_with_after_a_reload(stage: Stage, is_commit: bool) -> None:
    writer = opened(stage)
    stage.end(writer, is_commit=is_commit)
    before = stage.state
    stage.reload()
    assert stage.state == before
    assert set(stage.kept.prepared) == {"payments"}
    stage.complete()
    assert not stage.kept.prepared
