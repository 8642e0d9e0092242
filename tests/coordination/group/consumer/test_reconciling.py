"""How a member comes from what it has to what it is to have."""

from __future__ import annotations

import pytest

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.member import Holding, Place
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.reconciling import (
    NOTHING_SAID,
    Trust,
    Word,
    reconcile,
)

TOPIC, OTHER = b"t" * 16, b"o" * 16
STABLE, REVOKING, WAITING = MemberState.STABLE, MemberState.REVOKING, MemberState.WAITING


def parts(*numbers: int, topic: bytes = TOPIC) -> Assignment:
    return {topic: frozenset(numbers)} if numbers else {}


def free(place: Place) -> bool:
    return True


def taken(place: Place) -> bool:
    return False


def test_a_member_that_is_where_it_should_be_stays_as_it_is() -> None:
    holding = Holding(5, 4, STABLE, parts(0, 1))
    assert reconcile(holding, parts(0, 1, 2), 5, NOTHING_SAID, free) is holding


def test_a_member_whose_target_has_not_changed_only_goes_to_the_new_epoch() -> None:
    assert reconcile(Holding(5, 4, STABLE, parts(0)), parts(0), 6, NOTHING_SAID, taken) == Holding(
        6, 5, STABLE, parts(0)
    )


@pytest.mark.parametrize("owned", [None, parts(0, 1), parts(1)])
def test_a_member_that_may_have_what_it_is_to_give_up_stays_in_its_epoch(
    owned: Assignment | None,
) -> None:
    found = reconcile(Holding(5, 4, STABLE, parts(0, 1)), parts(0, 2), 6, Word(owned), free)
    assert found == Holding(5, 4, REVOKING, parts(0), parts(1))


@pytest.mark.parametrize("trust", [Trust.ANSWER, Trust.REPEAT])
def test_a_member_takes_up_what_it_was_told_before_that_is_taken_away_again(trust: Trust) -> None:
    for state in (STABLE, WAITING):
        holding = Holding(5, 4, state, parts(0, 1))
        assert reconcile(holding, parts(0, 2), 6, Word(parts(0), trust), free) is holding
        taken_up = reconcile(holding, parts(0, 2), 6, Word(parts(0, 1), trust), free)
        assert taken_up == Holding(5, 4, REVOKING, parts(0), parts(1))


@pytest.mark.parametrize("trust", [Trust.ANSWER, Trust.REPEAT])
def test_what_was_deleted_before_a_member_took_it_up_is_not_waited_for(trust: Trust) -> None:
    holding = Holding(5, 4, STABLE, parts(0, 1))
    word = Word(parts(0), trust)
    found = reconcile(holding, parts(0, 2), 6, word, free, lambda place: place != (TOPIC, 1))
    assert found == Holding(6, 5, STABLE, parts(0, 2))


def test_a_member_that_has_just_begun_or_joined_again_takes_nothing_up_and_goes_on_at_once() -> (
    None
):
    word = Word(parts(0), Trust.SURE)
    found = reconcile(Holding(5, 4, STABLE, parts(0, 1)), parts(0, 2), 6, word, free)
    assert found == Holding(6, 5, STABLE, parts(0, 2))


def test_a_member_that_repeats_everything_may_still_be_taking_up_what_it_is_to_give_up() -> None:
    holding = Holding(5, 4, REVOKING, parts(0), parts(1))
    for owned in ({}, parts(0)):
        found = reconcile(holding, parts(0, 2), 6, Word(owned, Trust.REPEAT, owned), free)
        assert found == Holding(5, 4, STABLE, parts(0, 1))


@pytest.mark.parametrize("owned", [{}, parts(0)])
def test_a_member_that_repeats_everything_has_given_up_what_it_named_before(
    owned: Assignment,
) -> None:
    holding = Holding(5, 4, REVOKING, parts(0), parts(1))
    word = Word(owned, Trust.REPEAT, parts(0, 1))
    found = reconcile(holding, parts(0, 2), 6, word, free)
    assert found == Holding(6, 5, STABLE, parts(0, 2))


def test_what_was_deleted_before_it_was_given_up_is_not_told_of_again() -> None:
    holding = Holding(5, 4, REVOKING, parts(0), parts(1))
    word = Word(parts(0), Trust.REPEAT)
    found = reconcile(holding, parts(0, 2), 6, word, free, lambda place: place != (TOPIC, 1))
    assert found == Holding(6, 5, STABLE, parts(0, 2))


def test_after_a_revocation_too_a_member_takes_up_first_what_it_was_told() -> None:
    holding = Holding(5, 4, REVOKING, parts(0, 1), parts(2))
    found = reconcile(holding, parts(0), 9, Word(parts(0)), free)
    assert found == Holding(5, 4, STABLE, parts(0, 1))
    found = reconcile(found, parts(0), 9, Word(parts(0, 1)), free)
    assert found == Holding(5, 4, REVOKING, parts(0), parts(1))


def test_a_member_that_has_given_up_its_part_gets_the_new_one() -> None:
    holding = Holding(5, 4, REVOKING, parts(0), parts(1))
    assert reconcile(holding, parts(0, 2), 6, NOTHING_SAID, free) is holding
    assert reconcile(holding, parts(0, 2), 6, Word(parts(0, 1)), free) is holding
    found = reconcile(holding, parts(0, 2), 6, Word(parts(0)), free)
    assert found == Holding(6, 5, STABLE, parts(0, 2))


def test_a_member_waits_for_what_others_have_and_takes_it_when_it_is_free() -> None:
    waiting = reconcile(Holding(5, 4, STABLE, parts(0)), parts(0, 1, 2), 6, NOTHING_SAID, taken)
    assert waiting == Holding(6, 5, WAITING, parts(0))
    some = reconcile(waiting, parts(0, 1, 2), 6, NOTHING_SAID, lambda place: place == (TOPIC, 1))
    assert some == Holding(6, 5, WAITING, parts(0, 1))
    assert reconcile(some, parts(0, 1, 2), 6, NOTHING_SAID, free) == Holding(
        6, 5, STABLE, parts(0, 1, 2)
    )


def test_a_target_that_changes_again_is_followed_one_revocation_at_a_time() -> None:
    holding = Holding(5, 4, REVOKING, parts(0, 1), parts(2))
    found = reconcile(holding, parts(0), 9, Word(parts(0, 1)), free)
    assert found == Holding(6, 5, REVOKING, parts(0), parts(1))
    assert reconcile(found, parts(0), 9, Word(parts(0)), free) == Holding(9, 6, STABLE, parts(0))


def test_a_whole_topic_can_be_exchanged_for_another() -> None:
    new = parts(0, topic=OTHER)
    found = reconcile(Holding(5, 4, STABLE, parts(0)), new, 6, Word(parts(0)), free)
    assert found == Holding(5, 4, REVOKING, {}, parts(0))
    assert reconcile(found, new, 6, Word({}), free) == Holding(6, 5, STABLE, new)
