from __future__ import annotations

from typing import Any

import pytest
from tests.api.grouping import DELAY_MS, GROUP, Room, commit, join

from penstock.api.outcome import Resume
from penstock.api.slices import ANSWER_BYTES_MAX, SLICE_ELEMENTS
from penstock.coordination.group.classic.stored import PLAN_BYTES_MAX
from penstock.coordination.group.members import METADATA_BYTES_MAX
from penstock.errors import ErrorCode
from penstock.wire.messages.k15_describe_groups import DescribeGroupsRequest


def described(room: Room, *names: str, version: int | None = None) -> Any:
    return room.tell(DescribeGroupsRequest(list(names)), version).groups


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_described_with_its_plan(room: Room, version: int) -> None:
    one, two = room.settle(2)
    (group,) = described(room, GROUP, version=version)
    assert (group.error_code, group.group_id) == (0, GROUP)
    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    assert [each.member_id for each in group.members] == [one, two]
    assert [each.member_assignment.decode() for each in group.members] == [one, two]
    assert all(each.member_metadata and each.client_id == "test" for each in group.members)


def test_what_is_not_settled_is_not_shown(room: Room) -> None:
    room.ask(join(), 3)
    (group,) = described(room, GROUP)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [each.member_assignment for each in group.members] == [b""]
    room.wait(DELAY_MS)
    (group,) = described(room, GROUP)
    assert (group.group_state, group.protocol_data) == ("CompletingRebalance", "range")


def test_a_group_that_only_has_offsets_is_empty(room: Room) -> None:
    room.tell(commit())
    (group,) = described(room, GROUP)
    assert (group.group_state, group.members) == ("Empty", [])


def test_a_group_that_is_not_there_is_dead_and_since_version_6_an_error(room: Room) -> None:
    (old,) = described(room, "nothing", version=5)
    (new,) = described(room, "nothing", version=6)
    assert (old.error_code, old.group_state) == (0, "Dead")
    assert (new.error_code, new.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert new.error_message


def test_each_group_is_answered_once_and_by_itself(room: Room) -> None:
    room.settle()
    found = described(room, GROUP, "", GROUP, "other")
    codes = {each.group_id: each.error_code for each in found}
    assert len(found) == 3
    assert codes == {
        GROUP: 0,
        "": ErrorCode.INVALID_GROUP_ID,
        "other": ErrorCode.GROUP_ID_NOT_FOUND,
    }


def test_many_groups_are_described_in_slices(room: Room) -> None:
    names = [f"group-{number}" for number in range(50)]
    for name in names:
        room.ask(commit(group=name))
    assert [each.group_state for each in described(room, *names)] == ["Empty"] * 50


def test_the_members_of_a_large_group_are_described_in_slices(room: Room) -> None:
    joined = [room.ask(join(), 3) for _ in range(SLICE_ELEMENTS + 1)]
    room.wait(DELAY_MS)
    call = room.desk.call(DescribeGroupsRequest([GROUP]))
    outcome = call.api.handler(room.desk.broker, call.request, call)
    assert isinstance(outcome, Resume), "it is not done in one go"
    (group,) = described(room, GROUP)
    assert {each.member_id for each in group.members} == {each.answer.member_id for each in joined}


def test_the_largest_group_can_be_answered_for() -> None:
    """A quarter is left for names; the leader is told of no more than that."""
    assert METADATA_BYTES_MAX + PLAN_BYTES_MAX < ANSWER_BYTES_MAX * 3 // 4
