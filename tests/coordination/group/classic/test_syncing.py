"""SyncGroup, Heartbeat and commits: what a member may do in each phase."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordination.group.classic.stage import DELAY_MS, REBALANCE_MS, SESSION_MS, Stage

from penstock.coordination.group.classic import syncing
from penstock.errors import ErrorCode

CONSUMER: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"}


def test_a_member_may_ask_for_its_part_again_while_the_generation_lasts() -> None:
    stage = Stage()
    joined = stage.join()
    stage.wait(DELAY_MS)
    stage.plan([joined])
    for _ in range(2):
        assert stage.sync(joined).answer.assignment == joined.member_id.encode()
    assert not stage.written


def test_a_sync_while_members_join_tells_to_join() -> None:
    stage = Stage()
    joined = stage.join()
    stage.wait(DELAY_MS)
    stage.plan([joined])
    stage.join()
    assert stage.sync(joined, {}).code == ErrorCode.REBALANCE_IN_PROGRESS


def test_the_earlier_of_two_syncs_of_a_member_is_told_to_join() -> None:
    stage = Stage()
    leader, follower = stage.join(), stage.join()
    stage.wait(DELAY_MS)
    earlier, later = stage.sync(follower), stage.sync(follower)
    assert earlier.code == ErrorCode.REBALANCE_IN_PROGRESS
    stage.sync(leader, {follower.member_id: b"part"})
    assert later.answer.assignment == b"part"


def test_a_plan_of_a_follower_is_not_asked_for() -> None:
    stage = Stage()
    leader, follower = stage.join(), stage.join()
    stage.wait(DELAY_MS)
    waiting = stage.sync(follower, {follower.member_id: b"everything"})
    stage.sync(leader, {follower.member_id: b"something"})
    assert waiting.answer.assignment == b"something"


@pytest.mark.parametrize(
    "wrong", [{"protocol_type": "connect"}, {"protocol_name": "sticky"}], ids=str
)
def test_a_sync_for_another_protocol_is_refused(wrong: dict[str, Any]) -> None:
    stage = Stage()
    joined = stage.join()
    stage.wait(DELAY_MS)
    assert stage.sync(joined, {}, **{**CONSUMER, **wrong}).code == (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    assert stage.sync(joined, {}, **CONSUMER).code == ErrorCode.NONE


@pytest.mark.parametrize("generation", [-1, 0, 2])
def test_another_generation_than_the_groups_is_refused(generation: int) -> None:
    stage = Stage()
    joined = stage.join()
    stage.wait(DELAY_MS)
    assert stage.sync(joined, generation=generation).code == ErrorCode.ILLEGAL_GENERATION
    stage.plan([joined])
    assert stage.heartbeat(joined.member_id, generation) == ErrorCode.ILLEGAL_GENERATION
    assert stage.commit(joined.member_id, generation) == ErrorCode.ILLEGAL_GENERATION


def test_a_member_that_was_put_out_is_not_known_any_more() -> None:
    stage = Stage()
    joined = stage.join()
    stage.wait(DELAY_MS)
    stage.plan([joined])
    stage.wait(SESSION_MS)
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat(joined.member_id, 1) == unknown
    assert stage.sync(joined).code == unknown
    assert stage.commit(joined.member_id, 1) == unknown
    assert stage.leave(joined.member_id) == unknown
    assert stage.join(joined.member_id).code == unknown


def test_heartbeats_in_each_phase() -> None:
    stage = Stage()
    joined = stage.join()
    (member_id,) = stage.body.members
    assert stage.heartbeat(member_id, 0) == ErrorCode.REBALANCE_IN_PROGRESS
    stage.wait(DELAY_MS)
    assert stage.heartbeat(member_id, 1) == ErrorCode.NONE
    stage.plan([joined])
    assert stage.heartbeat(member_id, 1) == ErrorCode.NONE
    stage.join()
    assert stage.heartbeat(member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_commits_in_each_phase() -> None:
    stage = Stage()
    joined = stage.join()
    stage.wait(DELAY_MS)
    member_id = joined.member_id
    assert stage.commit(member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    stage.plan([joined])
    assert stage.commit(member_id, 1) == ErrorCode.NONE
    stage.join()
    assert stage.commit(member_id, 1) == ErrorCode.NONE


def test_a_commit_shows_that_its_member_is_alive() -> None:
    stage = Stage()
    (member_id,) = stage.settle()
    for _ in range(4):
        stage.wait(SESSION_MS - 1)
        assert stage.commit(member_id, 1) == ErrorCode.NONE


def test_whoever_is_in_no_group_may_commit_while_the_group_has_no_members() -> None:
    stage = Stage()
    assert stage.commit("", -1) == ErrorCode.NONE
    (member_id,) = stage.settle()
    assert stage.commit("", -1) == ErrorCode.UNKNOWN_MEMBER_ID
    stage.leave(member_id)
    assert stage.commit("", -1) == ErrorCode.NONE
    assert stage.commit("whoever", -1) == ErrorCode.NONE


def test_a_commit_to_a_group_that_is_not_there_is_of_no_generation() -> None:
    assert Stage().commit("member", 1) == ErrorCode.ILLEGAL_GENERATION


def test_a_plan_that_is_too_large_to_be_stored_is_refused_and_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(syncing, "PLAN_BYTES_MAX", 1_000)
    stage = Stage()
    leader, follower = stage.join(), stage.join()
    stage.wait(DELAY_MS)
    waiting = stage.sync(follower)
    refused = stage.sync(leader, {follower.member_id: bytes(1_001)})
    assert refused.code == ErrorCode.UNKNOWN_SERVER_ERROR
    stage.wait(REBALANCE_MS)
    assert waiting.code == ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.body.phase.name != "SYNCING"
