from __future__ import annotations

import pytest
from tests.api.grouping import Room, commit, join

from penstock.errors import ErrorCode
from penstock.wire.messages.k16_list_groups import ListGroupsRequest


@pytest.fixture
def room(room: Room) -> Room:
    """With a stable group, one that is being joined, and one that only has offsets."""
    room.settle(group="stable")
    room.ask(join("joining"), 3)
    room.tell(commit(group="offsets"))
    return room


@pytest.mark.parametrize("version", range(6))
def test_all_groups_are_listed(room: Room, version: int) -> None:
    answer = room.tell(ListGroupsRequest(), version)
    found = {each.group_id: each for each in answer.groups}
    assert found.keys() == {"stable", "joining", "offsets"}
    assert found["stable"].protocol_type == found["joining"].protocol_type == "consumer"
    assert found["offsets"].protocol_type == ""
    if version >= 4:
        assert found["joining"].group_state == "PreparingRebalance"
    if version >= 5:
        assert {each.group_type for each in answer.groups} == {"Classic"}


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        (["stable"], [], {"stable"}),
        (["STABLE", "Empty"], [], {"stable", "offsets"}),
        (["nonsense"], [], set()),
        ([], ["classic"], {"stable", "joining", "offsets"}),
        ([], ["consumer"], set()),
        (["Empty"], ["CLASSIC"], {"offsets"}),
    ],
)
def test_groups_are_chosen_by_state_and_type(
    room: Room, states: list[str], types: list[str], expected: set[str]
) -> None:
    answer = room.tell(ListGroupsRequest(states, types))
    assert {each.group_id for each in answer.groups} == expected


def test_the_list_waits_for_all_that_it_tells(room: Room) -> None:
    room.ask(commit(group="new"))
    asked = room.ask(ListGroupsRequest())
    assert asked.is_waiting
    room.sync()
    assert len(asked.answer.groups) == 4


def test_while_groups_are_loaded_there_is_no_list(room: Room) -> None:
    room.groups.load_again(room.shard("stable"))
    assert room.tell(ListGroupsRequest()).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    room.load()
    assert {each.group_id for each in room.tell(ListGroupsRequest()).groups} >= {"stable"}


def test_a_list_of_many_groups_is_made_in_slices(room: Room) -> None:
    for number in range(1_200):
        room.ask(commit(group=f"group-{number}"))
    answer = room.tell(ListGroupsRequest())
    assert len({each.group_id for each in answer.groups}) == 1_203
