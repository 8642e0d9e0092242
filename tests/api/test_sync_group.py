from __future__ import annotations

import pytest
from tests.api.grouping import DELAY_MS, Room, join, sync

from penstock.errors import ErrorCode


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
