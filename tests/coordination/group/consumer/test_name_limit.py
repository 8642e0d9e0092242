"""How many topics the members of a group may name, each subscription counted once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordination.group.consumer.stage import Stage

from penstock.coordination.group.consumer import subscriptions
from penstock.errors import ErrorCode, Refused


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(subscriptions, "NAMES_MAX", 5)
    return Stage()


def refusal(stage: Stage, member_id: str, *topics: str, **fields: Any) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        stage.join(member_id, *topics, **fields)
    assert "5 are allowed" in caught.value.message
    return caught.value.code


def test_a_member_that_names_too_many_other_topics_is_refused(stage: Stage) -> None:
    stage.join("m1", "a", "b", "c")
    assert refusal(stage, "m2", "d", "e", "f") == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.body.members.keys() == {"m1"}
    stage.join("m2", "d", "e")


def test_members_that_name_the_same_topics_are_as_many_as_they_like(stage: Stage) -> None:
    for number in range(9):
        stage.join(f"m{number}", "a", "b", "c")
    assert len(stage.body.members) == 9


def test_what_the_last_member_of_a_subscription_gives_up_makes_room(stage: Stage) -> None:
    stage.join("m1", "a", "b", "c", "d")
    stage.join("m1", "e", "f", "g", "h", "i")
    assert stage.body.interests.names == 5
    stage.beat("m1", -1)
    stage.join("m2", "a", "b", "c", "d", "e")


def test_a_group_that_has_more_than_that_may_name_fewer(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.join("m1", "a", "b", "c")
    stage.join("m2", "d", "e")
    monkeypatch.setattr(subscriptions, "NAMES_MAX", 1)
    stage.join("m1", "f", "g")
    assert stage.body.interests.names == 4
    with pytest.raises(Refused):
        stage.join("m1", "a", "b", "c", "d")
