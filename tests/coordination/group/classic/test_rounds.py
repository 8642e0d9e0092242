"""Rounds of the classic protocol: how a generation comes about, and who it leaves behind."""

from __future__ import annotations

import pytest
from tests.coordination.group.classic.stage import (
    DELAY_MS,
    NEW_MEMBER_MS,
    RANGE,
    REBALANCE_MS,
    SESSION_MS,
    Stage,
    leads,
    reads,
)

from penstock.coordination.group.classic import leaving
from penstock.coordination.group.classic.rounds import ROUND_MS_MIN
from penstock.coordination.group.protocols import expire, topics_changed
from penstock.coordination.group.readers import Readers
from penstock.coordination.pace import Pace
from penstock.errors import ErrorCode


def test_members_that_come_together_make_one_generation() -> None:
    stage = Stage()
    joined = [stage.join() for _ in range(3)]
    assert all(each.is_waiting for each in joined)
    stage.wait(DELAY_MS)
    assert [each.answer.generation_id for each in joined] == [1, 1, 1]
    assert [len(each.answer.members) for each in joined] == [3, 0, 0]
    assert [leads(each) for each in joined] == [True, False, False]


def test_the_first_round_goes_on_for_as_long_as_members_come() -> None:
    stage = Stage()
    first = stage.join()
    for _ in range(4):
        stage.wait(DELAY_MS - 1)
        stage.join()
    assert first.is_waiting
    stage.wait(DELAY_MS)
    assert len(first.answer.members) == 5


def test_the_first_round_ends_with_its_rebalance_timeout_whoever_still_comes() -> None:
    stage = Stage()
    first = stage.join(rebalance_ms=5_000)
    for _ in range(5):
        stage.wait(1_000)
        stage.join(rebalance_ms=5_000)
    assert not first.is_waiting


def test_without_an_initial_delay_the_first_member_need_not_wait() -> None:
    stage = Stage(group_initial_rebalance_delay_ms=0)
    assert stage.join().answer.generation_id == 1


def test_everyone_gets_its_part_when_the_leader_has_brought_the_plan() -> None:
    stage = Stage()
    leader, follower = stage.join(), stage.join()
    stage.wait(DELAY_MS)
    waiting = stage.sync(follower)
    assert waiting.is_waiting
    plan = {leader.member_id: b"0", follower.member_id: b"1", "a stranger": b"2"}
    assert stage.sync(leader, plan).answer.assignment == b"0"
    assert waiting.answer.assignment == b"1"
    assert (waiting.answer.protocol_type, waiting.answer.protocol_name) == ("consumer", "range")


def test_a_member_that_the_plan_leaves_out_gets_nothing_to_do() -> None:
    stage = Stage()
    leader, follower = stage.join(), stage.join()
    stage.wait(DELAY_MS)
    stage.sync(leader, {leader.member_id: b"all"})
    assert stage.sync(follower).answer.assignment == b""


def test_a_new_member_makes_the_others_join_again() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    late = stage.join()
    assert stage.heartbeat(one) == ErrorCode.REBALANCE_IN_PROGRESS
    again = [stage.join(one), stage.join(two)]
    assert late.answer.generation_id == 2
    assert [leads(each) for each in (*again, late)] == [True, False, False]


def test_a_member_that_does_not_join_again_is_left_behind_when_the_time_is_up() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    late = stage.join()
    again = stage.join(one)
    for _ in range(REBALANCE_MS // 5_000):
        assert late.is_waiting
        assert stage.heartbeat(two, 1) == ErrorCode.REBALANCE_IN_PROGRESS
        stage.wait(5_000)
    assert len(again.answer.members) == 2
    assert stage.heartbeat(two, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_round_ends_early_when_whoever_is_missing_goes_silent() -> None:
    stage = Stage()
    one, _ = stage.settle(2)
    late = stage.join()
    stage.join(one)
    stage.wait(SESSION_MS)
    assert late.answer.generation_id == 2


def test_a_leader_that_does_not_come_to_the_round_is_succeeded() -> None:
    stage = Stage()
    leader, follower = stage.settle(2)
    again = stage.join(follower, {"range": reads("orders", "more")})
    stage.leave(leader)
    assert leads(again)
    assert [each.member_id for each in again.answer.members] == [follower]


def test_a_leader_that_never_brings_a_plan_is_put_out_and_the_others_join_again() -> None:
    stage = Stage()
    leader, follower = stage.join(rebalance_ms=5_000), stage.join(rebalance_ms=5_000)
    stage.wait(DELAY_MS)
    waiting = stage.sync(follower)
    for _ in range(5):
        assert stage.heartbeat(leader.member_id) == ErrorCode.NONE
        stage.wait(1_000)
    assert waiting.code == ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.heartbeat(leader.member_id) == ErrorCode.UNKNOWN_MEMBER_ID
    assert leads(stage.join(follower.member_id))


def test_a_follower_that_never_asks_for_its_part_is_put_out() -> None:
    stage = Stage()
    leader, follower = stage.join(rebalance_ms=5_000), stage.join(rebalance_ms=5_000)
    stage.wait(DELAY_MS)
    stage.sync(leader, {})
    for _ in range(5):
        stage.heartbeat(leader.member_id)
        stage.heartbeat(follower.member_id)
        stage.wait(1_000)
    assert stage.heartbeat(follower.member_id) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat(leader.member_id) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_goes_silent_is_put_out_with_its_session() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    stage.wait(SESSION_MS - 1)
    assert stage.heartbeat(one) == ErrorCode.NONE
    stage.wait(1)
    assert stage.heartbeat(one) == ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.heartbeat(two) == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_waits_for_the_end_of_a_round_need_not_send_heartbeats() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    stage.join(session_ms=SESSION_MS)
    waiting = stage.join(one)
    for _ in range(4):
        stage.wait(SESSION_MS - 1)
        stage.heartbeat(two)
    assert waiting.is_waiting
    assert one in stage.body.members


def test_a_new_member_that_is_gone_before_its_first_round_ends_is_forgotten_in_the_end() -> None:
    stage = Stage()
    long_ms = NEW_MEMBER_MS * 3
    one, two = _settled(stage, long_ms)
    late = stage.join(rebalance_ms=long_ms)
    for _ in range(NEW_MEMBER_MS // 5_000):
        stage.heartbeat(one)
        stage.heartbeat(two)
        stage.wait(5_000)
    assert late.code == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(stage.body.members) == 2


def _settled(stage: Stage, rebalance_ms: int) -> list[str]:
    joined = [stage.join(rebalance_ms=rebalance_ms) for _ in range(2)]
    stage.wait(DELAY_MS)
    return stage.plan(joined)


def test_an_emptied_group_keeps_counting_its_generations() -> None:
    stage = Stage()
    (one,) = stage.settle()
    assert stage.leave(one) == ErrorCode.NONE
    assert (stage.body.phase.name, stage.body.generation) == ("EMPTY", 2)
    assert stage.group.emptied_ms == stage.turn().now_ms
    joined = stage.join()
    stage.wait(DELAY_MS)
    assert joined.answer.generation_id == 3


def test_a_group_whose_members_all_went_silent_is_empty() -> None:
    stage = Stage()
    stage.settle(3)
    stage.wait(SESSION_MS)
    assert stage.body.phase.name == "EMPTY"
    stage.reload()
    assert (stage.body.phase.name, stage.body.generation) == ("EMPTY", 2)


def test_many_who_went_silent_are_put_out_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "SILENT_A_TURN", 2)
    stage = Stage()
    stage.settle(5)
    stage.time_ms += SESSION_MS
    left = []
    while stage.body.members:
        stage.run(expire)
        left.append(len(stage.body.members))
        assert not stage.body.members or stage.group.wake_ms == stage.time_ms
    assert left == [3, 1, 0]
    assert stage.body.phase.name == "EMPTY"


def test_a_group_that_was_given_up_before_its_first_generation_can_be_joined_again() -> None:
    stage = Stage()
    first = stage.join()
    (member_id,) = stage.body.members
    stage.leave(member_id)
    assert first.code == ErrorCode.UNKNOWN_MEMBER_ID
    second = stage.join()
    stage.wait(DELAY_MS)
    assert leads(second)


def test_members_vote_for_the_assignor_that_most_like_best() -> None:
    stage = Stage()
    votes = ["a b c", "b a c", "c b a", "b c a d", "a b c"]
    joined = [stage.join(protocols=dict.fromkeys(each.split(), b"")) for each in votes]
    joined.append(stage.join(protocols={"b": b"mine", "c": b""}))
    stage.wait(DELAY_MS)
    assert joined[0].answer.protocol_name == "b"
    assert joined[0].answer.members[-1].metadata == b"mine"


def test_an_assignor_that_not_all_know_is_not_chosen() -> None:
    stage = Stage()
    joined = [stage.join(protocols={"new": b"", "old": b""}) for _ in range(3)]
    stage.join(protocols={"old": b""})
    stage.wait(DELAY_MS)
    assert joined[0].answer.protocol_name == "old"


def test_a_change_of_a_topic_that_nobody_reads_disturbs_nobody() -> None:
    stage = Stage()
    stage.settle(2)
    nobodys, someones = (Readers(each, Pace()) for each in ({"other"}, {"other", "orders"}))
    stage.run(lambda turn, group: topics_changed(turn, group, nobodys.read(group)))
    assert stage.body.phase.name == "STABLE"
    stage.run(lambda turn, group: topics_changed(turn, group, someones.read(group)))
    assert stage.body.phase.name == "JOINING"


def test_a_round_that_only_static_members_are_missing_from_is_not_looked_at_all_the_time() -> None:
    stage = Stage()
    joined = stage.join(instance="i", rebalance_ms=0, session_ms=30_000)
    stage.plan([joined])
    other = stage.join(rebalance_ms=0)
    stage.wait(ROUND_MS_MIN)
    stage.leave(other.member_id)
    assert stage.body.phase.name == "JOINING"
    stage.wait(29_000)  # fails if the group is looked at without end
    assert leads(stage.join(joined.member_id, RANGE, instance="i"))


def test_who_allows_little_time_can_still_come_back_after_a_restart() -> None:
    stage = Stage()
    joined = stage.join(rebalance_ms=1)
    stage.wait(1)
    stage.plan([joined])
    stage.reload()
    stage.run(lambda turn, group: topics_changed(turn, group, {"orders"}))
    assert stage.body.phase.name == "JOINING"
    stage.wait(ROUND_MS_MIN - 1)
    again = stage.join(joined.member_id, rebalance_ms=1)
    assert again.code == ErrorCode.NONE
    assert not again.is_waiting
