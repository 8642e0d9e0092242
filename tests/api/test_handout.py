"""Answers of one turn for many: decided together, and handed out some at a time."""

from __future__ import annotations

import pytest
from tests.api.grouping import DELAY_MS, GROUP, SESSION_MS, Asked, Room, join, sync

from penstock.api import handout
from penstock.coordination.pace import COST_A_SLICE
from penstock.errors import ErrorCode
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest


@pytest.fixture
def slow(room: Room, monkeypatch: pytest.MonkeyPatch) -> Room:
    """Two answers in each slice."""
    monkeypatch.setattr(handout, "AT_ONCE_MAX", 1)
    monkeypatch.setattr(handout, "GIVE_COST", COST_A_SLICE // 2)
    return room


def waiting(asked: list[Asked]) -> int:
    return sum(each.is_waiting for each in asked)


def test_who_keeps_the_time_is_told_of_answers_and_hands_them_out_in_slices(slow: Room) -> None:
    joined = [slow.ask(join(), 3) for _ in range(5)]
    slow.clock.time_ms += DELAY_MS
    wishes: list[float] = []
    slow.groups.wake_by = wishes.append
    assert not slow.groups.expire()
    assert slow.clock.time_ms in wishes
    left = []
    while slow.groups.expire():
        left.append(waiting(joined))
    assert left == [3, 1]
    assert waiting(joined) == 0


def test_answers_rest_on_their_turn_whatever_happens_before_they_are_given(slow: Room) -> None:
    joined = [slow.ask(join(), 3) for _ in range(5)]
    slow.clock.time_ms += DELAY_MS
    slow.groups.expire()
    slow.groups.expire()
    leader = joined[0].answer.member_id
    slow.ask(LeaveGroupRequest(GROUP, leader), 0)
    slow.sync()
    assert {each.answer.generation_id for each in joined} == {1}
    assert {each.answer.leader for each in joined} == {leader}
    late = joined[4].answer.member_id
    assert slow.ask(sync(late)).code == ErrorCode.REBALANCE_IN_PROGRESS


def test_nothing_is_given_before_it_is_committed(slow: Room) -> None:
    joined = [slow.ask(join(), 3) for _ in range(5)]
    slow.wait(DELAY_MS)
    ids = [each.answer.member_id for each in joined]
    asked = [slow.ask(sync(each, ids if each == ids[0] else ())) for each in reversed(ids)]
    wishes: list[float] = []
    slow.groups.wake_by = wishes.append
    assert not slow.groups.expire()
    assert waiting(asked) == 5
    slow.sync()
    assert wishes, "somebody is told that there is something to hand out"
    assert [each.answer.assignment.decode() for each in reversed(asked)] == ids


def test_who_has_not_been_given_its_answer_asks_again_when_the_groups_are_given_up(
    slow: Room,
) -> None:
    joined = [slow.ask(join(), 3) for _ in range(5)]
    slow.clock.time_ms += DELAY_MS
    slow.groups.expire()
    slow.groups.expire()
    slow.groups.load_again(slow.shard())
    codes = [each.code for each in joined]
    assert codes == [ErrorCode.NONE] * 2 + [ErrorCode.NOT_COORDINATOR] * 3


def test_those_who_wait_are_looked_after_as_long_as_their_answers_take(slow: Room) -> None:
    """Their time begins with the turn that has decided, and is no shorter than a session."""
    joined = [slow.ask(join(), 3) for _ in range(5)]
    slow.wait(DELAY_MS)
    slow.wait(SESSION_MS - 1)
    ids = [each.answer.member_id for each in joined]
    assert slow.ask(sync(ids[1])).is_waiting
