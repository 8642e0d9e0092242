from __future__ import annotations

import pytest
from tests.api.grouping import GROUP, SESSION_MS, Room, join

from penstock.errors import ErrorCode
from penstock.wire.messages.k12_heartbeat import HeartbeatRequest


def beat(room: Room, member: str, generation: int = 1, version: int | None = None) -> int:
    code: int = room.tell(HeartbeatRequest(GROUP, generation, member), version).error_code
    return code


@pytest.mark.parametrize("version", range(5))
def test_a_heartbeat_keeps_a_member_in_its_group(room: Room, version: int) -> None:
    (member,) = room.settle()
    for _ in range(3):
        room.wait(SESSION_MS - 1)
        assert beat(room, member, version=version) == ErrorCode.NONE
    room.wait(SESSION_MS)
    assert beat(room, member) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_tells_of_a_round(room: Room) -> None:
    (member,) = room.settle()
    room.ask(join(), 3)
    assert beat(room, member) == ErrorCode.REBALANCE_IN_PROGRESS


def test_strangers_and_old_generations_are_refused(room: Room) -> None:
    assert beat(room, "nobody") == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(room.shard().kept) == 0
    (member,) = room.settle()
    assert beat(room, member, 0) == ErrorCode.ILLEGAL_GENERATION


def test_while_the_group_is_loaded_all_is_well(room: Room) -> None:
    (member,) = room.settle()
    room.groups.load_again(room.shard())
    assert beat(room, member) == beat(room, "anyone") == ErrorCode.NONE
    room.load()
    assert beat(room, member) == ErrorCode.NONE
    assert beat(room, "anyone") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_waits_for_what_the_group_is_made_of(room: Room) -> None:
    (member,) = room.settle()
    room.ask(join(group_instance_id="i"))
    room.ask(join(GROUP, member), 3)
    assert room.shard().kept.get(GROUP)
    asked = room.ask(HeartbeatRequest(GROUP, 2, member))
    assert not asked.is_waiting, "the round has written nothing"
