"""What holds for every assignor, whoever subscribes to what and had what before."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.coordination.group.assignors.groups import (
    A,
    B,
    Group,
    Partitions,
    differing,
    member,
    owned,
    partitions,
)

from penstock.coordination.group.assignors import ASSIGNORS, Assign

every_assignor = pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS.keys())


def test_the_assignors_have_the_names_that_clients_ask_for() -> None:
    assert set(ASSIGNORS) == {"uniform", "range"}


@every_assignor
@given(group=differing(), sizes=partitions)
def test_every_partition_that_is_subscribed_to_has_one_owner_and_no_other_has_any(
    assign: Assign, group: Group, sizes: Partitions
) -> None:
    owners = Counter((topic, number) for _, topic, number in owned(assign(group, sizes)))
    wanted = frozenset[bytes]().union(*(each.topics for each in group)) & sizes.keys()
    assert owners == {(topic, number): 1 for topic in wanted for number in range(sizes[topic])}


@every_assignor
@given(group=differing(), sizes=partitions)
def test_only_subscribers_get_partitions_of_a_topic(
    assign: Assign, group: Group, sizes: Partitions
) -> None:
    result = assign(group, sizes)
    for each in group:
        assert result[each.member_id].keys() <= each.topics


@every_assignor
@given(group=differing(), sizes=partitions)
def test_every_member_is_in_the_answer_and_no_topic_is_there_without_partitions(
    assign: Assign, group: Group, sizes: Partitions
) -> None:
    result = assign(group, sizes)
    assert result.keys() == {each.member_id for each in group}
    assert all(numbers for assignment in result.values() for numbers in assignment.values())


@every_assignor
@given(group=differing(), sizes=partitions, data=st.data())
def test_the_order_in_which_members_and_topics_are_given_does_not_matter(
    assign: Assign, group: Group, sizes: Partitions, data: st.DataObject
) -> None:
    shuffled = dict(data.draw(st.permutations(list(sizes.items()))))
    assert assign(data.draw(st.permutations(group)), shuffled) == assign(group, sizes)


@every_assignor
def test_members_beyond_the_number_of_partitions_get_nothing(assign: Assign) -> None:
    result = assign([member(name, [A]) for name in ("m1", "m2", "m3")], {A: 2})
    assert sorted(len(assignment) for assignment in result.values()) == [0, 1, 1]


@every_assignor
def test_a_topic_that_does_not_exist_is_passed_over(assign: Assign) -> None:
    assert assign([member("m1", [A, B], {B: [0]})], {A: 1}) == {"m1": {A: {0}}}


@every_assignor
def test_a_group_without_members_is_answered_with_nothing(assign: Assign) -> None:
    assert assign([], {A: 3}) == {}
