from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.api.grouping import DELAY_MS, GROUP, Room, join, sync

from penstock.api.outcome import Resume
from penstock.coordination.group.classic import preparing
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.stored import member_value
from penstock.coordination.pace import COST_A_SLICE
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest
from penstock.wire.stored.group_metadata import MemberMetadata


@pytest.mark.parametrize("version", range(6))
def test_the_plan_is_given_out_when_it_is_on_the_disk(room: Room, version: int) -> None:
    joined = [room.ask(join(), 3) for _ in range(2)]
    room.wait(DELAY_MS)
    leader, follower = (each.answer.member_id for each in joined)
    asked = [room.ask(sync(follower), version), room.ask(sync(leader, (leader, follower)), version)]
    assert all(each.is_waiting for each in asked)
    room.sync()
    assert [each.answer.assignment.decode() for each in asked] == [follower, leader]
    if version >= 5:
        assert (asked[0].answer.protocol_type, asked[0].answer.protocol_name) == (
            "consumer",
            "range",
        )


def test_an_unknown_member_is_refused(room: Room) -> None:
    assert room.ask(sync("nobody")).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_old_generation_is_refused(room: Room) -> None:
    (member,) = room.settle()
    assert room.ask(sync(member, generation=0)).code == ErrorCode.ILLEGAL_GENERATION


def test_a_sync_that_waits_is_answered_when_the_coordinator_is_given_up(room: Room) -> None:
    joined = [room.ask(join(), 3) for _ in range(2)]
    room.wait(DELAY_MS)
    waiting = room.ask(sync(joined[1].answer.member_id))
    room.groups.load_again(room.shard())
    assert waiting.code == ErrorCode.NOT_COORDINATOR


# -- plans for many


def begun(room: Room, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[str]]:
    """A plan for three that is being made ready, and its members, the leader first."""
    monkeypatch.setattr(preparing, "AT_ONCE_MAX", 1)
    monkeypatch.setattr(preparing, "PART_COST", COST_A_SLICE)
    joined = [room.ask(join(), 3) for _ in range(3)]
    room.wait(DELAY_MS)
    ids = [each.answer.member_id for each in joined]
    call = room.desk.call(sync(ids[0], ids))
    outcome = call.api.handler(room.desk.broker, call.request, call)
    assert isinstance(outcome, Resume), "it is not done in one go"
    return outcome, ids


def carried_out(outcome: Any) -> Any:
    async def work() -> Any:
        return await outcome.work()

    return outcome.then(asyncio.run(work()))


def stored(room: Room) -> list[MemberMetadata]:
    """All that the log knows of the members."""
    group = room.shard().kept.get(GROUP)
    assert group is not None
    body = group.body
    assert isinstance(body, Classic)
    return [member_value(body, each, each.assignment) for each in body.members.values()]


def test_a_plan_that_was_made_ready_is_stored_and_given_out(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, ids = begun(room, monkeypatch)
    follower = room.ask(sync(ids[1]))
    carried_out(outcome)
    room.sync()
    assert follower.answer.assignment.decode() == ids[1]
    assert room.tell(sync(ids[2])).assignment.decode() == ids[2]
    before = stored(room)
    room = room.restart()
    room.load()
    assert stored(room) == before


def test_a_plan_comes_to_nothing_if_a_member_leaves_while_it_is_made_ready(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, ids = begun(room, monkeypatch)
    follower = room.ask(sync(ids[1]))
    room.ask(LeaveGroupRequest(GROUP, ids[2]), 0)
    assert follower.code == ErrorCode.REBALANCE_IN_PROGRESS
    with pytest.raises(Refused) as caught:
        carried_out(outcome)
    assert caught.value.code == ErrorCode.REBALANCE_IN_PROGRESS
    assert room.leader().log.end_offset == 0, "nothing is written"
