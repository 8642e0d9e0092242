from __future__ import annotations

import pytest
from tests.api.desk import CountingChance

from penstock.config import BrokerConfig
from penstock.coordination.group.classic.state import Member
from penstock.coordination.group.members import check_instance, check_length, new_member_id
from penstock.coordination.turn import ANSWER_COST, EVENT_COST, TURN_COST, Event, Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.image import Image
from penstock.wire.stored.group_metadata import GroupMetadataKey


@pytest.fixture
def turn() -> Turn:
    return Turn(BrokerConfig(), Image(), CountingChance(), 5, 7.0, "me")


def test_a_turn_collects_events_and_answers_in_order(turn: Turn) -> None:
    turn.write(GroupMetadataKey("a"), None)
    turn.write(GroupMetadataKey("b"), None, 3)
    turn.answer("you", "yes")
    assert turn.events == [
        Event(GroupMetadataKey("a"), None),
        Event(GroupMetadataKey("b"), None, 3),
    ]
    assert list(turn.answers) == [("you", "yes")]


def test_answers_that_are_alike_are_made_when_they_are_given(turn: Turn) -> None:
    made: list[int] = []

    def make(number: int) -> str:
        made.append(number)
        return f"number {number}"

    turn.answer("first", "alone")
    turn.answer_alike([("one", 1), ("two", 2)], make)
    assert len(turn.answers) == 3
    given = iter(turn.answers)
    assert [next(given), next(given)] == [("first", "alone"), ("one", "number 1")]
    assert made == [1]
    assert list(given) == [("two", "number 2")]


def test_the_earliest_of_all_wishes_to_be_woken_counts(turn: Turn) -> None:
    for time_ms in (50.0, 20.0, 30.0):
        turn.wake_at(time_ms)
    assert turn.wake_ms == 20.0


def test_a_turn_knows_what_it_costs(turn: Turn) -> None:
    turn.write(GroupMetadataKey("a"), None)
    turn.answer("you", "yes")
    turn.spend(7)
    assert turn.cost == TURN_COST + EVENT_COST + ANSWER_COST + 7


def test_ids_of_members_begin_with_who_they_are_and_are_never_the_same(turn: Turn) -> None:
    ids = {new_member_id(turn, "reader") for _ in range(10)}
    assert len(ids) == 10
    assert all(each.startswith("reader-") and len(each) == len("reader-") + 36 for each in ids)
    assert len(new_member_id(turn, "x" * 30_000)) < 200


def test_what_is_too_long_to_be_stored_is_refused() -> None:
    check_length("it", "\N{GRINNING FACE}" * 8000)
    with pytest.raises(Refused) as caught:
        check_length("it", "x" * 8001, ErrorCode.INVALID_GROUP_ID)
    assert caught.value.code == ErrorCode.INVALID_GROUP_ID


def test_an_instance_is_its_holders() -> None:
    holder = Member("m", "i", "", "", 1, 1, {})
    check_instance({"i": "m"}, holder, "i")
    check_instance({}, holder, None)
    for static, member, code in (
        ({}, holder, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"i": "other"}, holder, ErrorCode.FENCED_INSTANCE_ID),
        ({"i": "m"}, None, ErrorCode.FENCED_INSTANCE_ID),
    ):
        with pytest.raises(Refused) as caught:
            check_instance(static, member, "i")
        assert caught.value.code == code
