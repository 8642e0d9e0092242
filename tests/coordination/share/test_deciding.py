"""What a share's coordinator grants, and to whom."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from tests.coordination.share.stage import KEY, Stage, refusal

from penstock.coordination.share import deciding
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import Share, State, Summary
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode
from penstock.wire.delivery import StateBatch

AVAILABLE, ACQUIRED, DONE = 0, 1, 2
FIVE = StateBatch(10, 14, DONE, 1)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def begun(stage: Stage) -> Stage:
    stage.initialize(start_offset=10)
    return stage


# Beginning


def test_a_share_begins_where_it_is_told_to(stage: Stage) -> None:
    stage.initialize(state_epoch=3, start_offset=10)
    assert stage.read() == State(3, 0, 10, 0, ())


def test_a_share_may_leave_to_its_leader_where_it_begins(stage: Stage) -> None:
    stage.initialize(start_offset=-1)
    assert stage.read() == State(0, 0, -1, -1, ())
    stage.write(start=7, count=0)
    assert stage.read() == State(0, 0, 7, 0, ())


def test_beginning_anew_forgets_what_was_and_shuts_out_who_does_not_know(begun: Stage) -> None:
    begun.write(FIVE, leader_epoch=4)
    begun.initialize(state_epoch=1, start_offset=2)
    assert begun.state == State(1, 0, 2, 0, ())
    assert refusal(lambda: begun.write(FIVE, leader_epoch=4)) is ErrorCode.FENCED_STATE_EPOCH
    begun.write(FIVE, state_epoch=1, leader_epoch=4)


def test_an_older_state_epoch_does_not_begin_anew(begun: Stage) -> None:
    begun.initialize(state_epoch=1, start_offset=2)
    assert refusal(lambda: begun.initialize(0, 50)) is ErrorCode.FENCED_STATE_EPOCH


def test_a_request_that_is_repeated_changes_nothing(begun: Stage) -> None:
    begun.write(FIVE)
    writes = len(begun.log)
    begun.initialize(start_offset=10)
    assert len(begun.log) == writes
    assert begun.read().batches == (FIVE,)


def test_a_late_request_to_begin_leaves_what_was_done_since(begun: Stage) -> None:
    begun.write(FIVE, start=12)
    begun.initialize(start_offset=-1)
    assert refusal(lambda: begun.initialize(start_offset=10)) is ErrorCode.FENCED_STATE_EPOCH
    assert begun.read().start_offset == 12
    assert begun.read().batches == (FIVE._replace(first=12),)


def test_what_was_left_to_its_leader_may_still_be_told_where_to_begin(stage: Stage) -> None:
    stage.initialize(start_offset=-1)
    stage.initialize(start_offset=10)
    assert stage.read() == State(0, 0, 10, 0, ())


@pytest.mark.parametrize(("state_epoch", "start"), [(-1, 0), (0, -2)])
def test_epochs_and_offsets_below_zero_are_refused(
    stage: Stage, state_epoch: int, start: int
) -> None:
    assert refusal(lambda: stage.initialize(state_epoch, start)) is ErrorCode.INVALID_REQUEST
    assert not stage.log


# Reading and writing


def test_who_reads_shuts_out_older_leaders(begun: Stage) -> None:
    assert begun.read(leader_epoch=5).leader_epoch == 5
    for late in (lambda: begun.read(4), lambda: begun.write(FIVE, leader_epoch=4)):
        assert refusal(late) is ErrorCode.FENCED_LEADER_EPOCH
    begun.reload()
    assert refusal(lambda: begun.read(4)) is ErrorCode.FENCED_LEADER_EPOCH
    begun.write(FIVE, leader_epoch=5)


def test_reading_again_writes_nothing(begun: Stage) -> None:
    begun.read(5)
    writes = len(begun.log)
    assert begun.read(5) == begun.state
    assert len(begun.log) == writes


@pytest.mark.parametrize("epoch", [-1, -7])
def test_a_leader_without_an_epoch_is_refused(begun: Stage, epoch: int) -> None:
    assert refusal(lambda: begun.read(epoch)) is ErrorCode.INVALID_REQUEST
    assert refusal(lambda: begun.write(FIVE, leader_epoch=epoch)) is ErrorCode.INVALID_REQUEST


def test_a_share_that_has_not_begun_is_neither_read_nor_written(stage: Stage) -> None:
    assert refusal(stage.read) is ErrorCode.INVALID_REQUEST
    assert refusal(lambda: stage.write(FIVE)) is ErrorCode.INVALID_REQUEST
    assert stage.summary() == Summary(0, 0, -1, -1, (), -1)
    assert len(stage.kept) == 0


def test_why_records_are_given_up_outlives_a_coordinator(begun: Stage) -> None:
    rejected = StateBatch(10, 11, 0, 5, rejected_after=2)
    counted = StateBatch(12, 13, 0, 5)
    begun.write(rejected, counted)
    for again in (begun.reload, begun.compact, begun.reload):
        again()
        assert begun.read().batches == (rejected, counted)
    begun.write(rejected._replace(state=DONE, rejected_after=0))
    assert begun.read().batches == (StateBatch(10, 11, DONE, 5), counted)


def test_a_summary_tells_from_where_on_nothing_was_said(begun: Stage) -> None:
    assert begun.summary().end_offset == begun.summary().start_offset
    begun.write(FIVE)
    assert begun.summary().end_offset == FIVE.last + 1
    begun.write(FIVE._replace(first=40, last=41))
    begun.write(FIVE)
    assert begun.summary().end_offset == 42
    begun.write(start=60, count=0)
    assert begun.summary().end_offset == 60


def test_the_start_never_goes_back(begun: Stage) -> None:
    begun.write(start=15, count=2)
    begun.write(FIVE, start=12, count=1)
    assert begun.read() == State(0, 0, 15, 2, ())
    begun.write(start=-1, count=9)
    assert begun.read() == State(0, 0, 15, 2, ())
    begun.write(start=15, count=3)
    assert begun.read() == State(0, 0, 15, 3, ())
    begun.write(start=20, count=0)
    assert begun.summary() == Summary(0, 0, 20, 0, (), 20)


@pytest.mark.parametrize(
    "batch",
    [
        StateBatch(-1, 5, DONE, 1),
        StateBatch(1, 5, DONE, 1, rejected_after=-1),
        StateBatch(6, 5, DONE, 1),
        StateBatch(1, 5, ACQUIRED, 1),
        StateBatch(1, 5, 3, 1),
        StateBatch(1, 5, DONE, -1),
    ],
)
def test_what_is_no_stretch_of_records_is_refused_with_all_that_came_with_it(
    begun: Stage, batch: StateBatch
) -> None:
    assert refusal(lambda: begun.write(FIVE, batch)) is ErrorCode.INVALID_REQUEST
    assert begun.read().batches == ()


def test_a_share_has_no_more_stretches_than_may_be(
    begun: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "BATCHES_MAX", 2)
    three = [StateBatch(at, at, DONE, 1) for at in (10, 12, 14)]
    assert refusal(lambda: begun.write(*three)) is ErrorCode.INVALID_REQUEST
    begun.write(*three[:2])
    assert refusal(lambda: begun.write(three[2])) is ErrorCode.INVALID_REQUEST
    assert begun.read().batches == tuple(three[:2])


@pytest.mark.parametrize("key", [ShareKey("jobs", bytes(16), 0), KEY._replace(partition=2)])
def test_partitions_that_are_not_there_have_no_share(stage: Stage, key: ShareKey) -> None:
    asked: list[Callable[[Turn, Share], object]] = [
        partial(deciding.initialize, state_epoch=0, start_offset=0),
        partial(deciding.read, leader_epoch=0),
        deciding.summary,
    ]
    for decide in asked:
        code = refusal(lambda decide=decide: stage.run(decide, key))  # type: ignore[misc]
        assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_share_that_is_deleted_is_gone_for_whoever_loads(begun: Stage) -> None:
    begun.write(FIVE)
    begun.write(StateBatch(20, 20, AVAILABLE, 1))
    begun.delete()
    assert len(begun.kept) == 0
    begun.reload()
    assert len(begun.kept) == 0
    begun.initialize(start_offset=3)
    begun.reload()
    assert begun.read() == State(0, 0, 3, 0, ())


def test_what_is_not_there_is_deleted_already(stage: Stage) -> None:
    stage.delete()
    assert not stage.log
