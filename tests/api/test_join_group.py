from __future__ import annotations

from typing import Any

import pytest
from tests.api.grouping import DELAY_MS, GROUP, Room, join, sync

from penstock.api.slices import SLICE_ELEMENTS
from penstock.errors import ErrorCode
from penstock.wire.messages.k11_join_group import JoinGroupRequestProtocol


@pytest.mark.parametrize("version", range(4))
def test_clients_of_old_join_at_once(room: Room, version: int) -> None:
    asked = room.ask(join(), version)
    assert asked.is_waiting
    room.wait(DELAY_MS)
    assert asked.code == ErrorCode.NONE
    assert asked.answer.leader == asked.answer.member_id
    assert [each.member_id for each in asked.answer.members] == [asked.answer.member_id]


@pytest.mark.parametrize("version", range(4, 10))
def test_later_ones_are_told_their_id_first(room: Room, version: int) -> None:
    told = room.tell(join(), version)
    assert told.error_code == ErrorCode.MEMBER_ID_REQUIRED
    asked = room.ask(join(member_id=told.member_id), version)
    room.wait(DELAY_MS)
    assert (asked.code, asked.answer.member_id) == (ErrorCode.NONE, told.member_id)
    assert asked.answer.protocol_name == "range"
    assert asked.answer.protocol_type == ("consumer" if version >= 7 else None)


@pytest.mark.parametrize("version", range(5, 10))
def test_static_members_are_told_nothing_before(room: Room, version: int) -> None:
    asked = room.ask(join(group_instance_id="i"), version)
    room.wait(DELAY_MS)
    assert asked.answer.members[0].group_instance_id == "i"


def test_members_are_described_to_the_leader_alone(room: Room) -> None:
    asked = [room.ask(join(), 3) for _ in range(3)]
    room.wait(DELAY_MS)
    assert [len(each.answer.members) for each in asked] == [3, 0, 0]
    assert len({each.answer.generation_id for each in asked}) == 1


def test_the_leader_of_thousands_is_told_of_them_in_slices(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[Any] = []
    carry_out = room.desk.broker.in_steps

    def counting(steps: Any) -> Any:
        def counted() -> Any:
            while True:
                try:
                    pauses.append(next(steps))
                except StopIteration as end:
                    return end.value
                yield None

        return carry_out(counted())

    asked = [room.ask(join(), 3) for _ in range(2 * SLICE_ELEMENTS + 1)]
    monkeypatch.setattr(room.desk.broker, "in_steps", counting)
    room.wait(DELAY_MS)
    told = asked[0].answer.members
    assert {each.member_id for each in told} == {each.answer.member_id for each in asked}
    assert len({each.metadata for each in told}) == 1
    assert len(pauses) >= 2


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group": "x" * 8001}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "mine"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "x" * 8001}, ErrorCode.INVALID_REQUEST),
        ({"protocol_type": "x" * 8001}, ErrorCode.INVALID_REQUEST),
        ({"protocols": [JoinGroupRequestProtocol("x" * 8001)]}, ErrorCode.INVALID_REQUEST),
        (
            {"protocols": [JoinGroupRequestProtocol(str(each)) for each in range(101)]},
            ErrorCode.INVALID_REQUEST,
        ),
    ],
)
def test_what_is_wrong_with_a_request_is_said(
    room: Room, wrong: dict[str, Any], code: ErrorCode
) -> None:
    assert room.ask(join(**wrong)).code == code
    assert len(room.shard().kept) == 0


def test_the_names_that_are_allowed_can_be_stored(room: Room) -> None:
    long = "\N{GRINNING FACE}" * 8000
    asked = room.ask(
        join(
            long[:1000],
            group_instance_id=long,
            protocol_type=long,
            protocols=[JoinGroupRequestProtocol(long, b"")],
        )
    )
    room.wait(DELAY_MS)
    request = sync(asked.answer.member_id, (), long[:1000])
    request.protocol_type = request.protocol_name = long
    assert room.tell(request).error_code == ErrorCode.NONE


def test_a_join_that_waits_is_answered_when_the_coordinator_is_given_up(room: Room) -> None:
    asked = room.ask(join(), 3)
    room.groups.load_again(room.shard())
    assert asked.code == ErrorCode.NOT_COORDINATOR


def test_a_join_that_waits_for_ever_is_told_to_come_again(room: Room) -> None:
    asked = room.ask(join(), 3)
    asked.time_is_up()
    assert asked.code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_round_that_ends_with_the_last_join_answers_that_one_too(room: Room) -> None:
    (member,) = room.settle()
    late = room.ask(join(), 3)
    again = room.ask(join(GROUP, member), 3)
    assert late.answer.generation_id == again.answer.generation_id == 2
