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
    InOneGo,
    Partitions,
    differing,
    in_one_go,
    member,
    owned,
    partitions,
)

from penstock.coordination.group.assignors import ASSIGNORS, Assign
from penstock.coordination.pace import COST_A_SLICE

every_assignor = pytest.mark.parametrize(
    "assign", [in_one_go(each) for each in ASSIGNORS.values()], ids=ASSIGNORS.keys()
)


def test_the_assignors_have_the_names_that_clients_ask_for() -> None:
    assert set(ASSIGNORS) == {"uniform", "range"}


@every_assignor
@given(group=differing(), sizes=partitions)
def test_every_partition_that_is_subscribed_to_has_one_owner_and_no_other_has_any(
    assign: InOneGo, group: Group, sizes: Partitions
) -> None:
    owners = Counter((topic, number) for _, topic, number in owned(assign(group, sizes)))
    wanted = frozenset[bytes]().union(*(each.topics for each in group)) & sizes.keys()
    assert owners == {(topic, number): 1 for topic in wanted for number in range(sizes[topic])}


@every_assignor
@given(group=differing(), sizes=partitions)
def test_only_subscribers_get_partitions_of_a_topic(
    assign: InOneGo, group: Group, sizes: Partitions
) -> None:
    result = assign(group, sizes)
    for each in group:
        assert result[each.member_id].keys() <= each.topics


@every_assignor
@given(group=differing(), sizes=partitions)
def test_every_member_is_in_the_answer_and_no_topic_is_there_without_partitions(
    assign: InOneGo, group: Group, sizes: Partitions
) -> None:
    result = assign(group, sizes)
    assert result.keys() == {each.member_id for each in group}
    assert all(numbers for assignment in result.values() for numbers in assignment.values())


@every_assignor
@given(group=differing(), sizes=partitions, data=st.data())
def test_the_order_in_which_members_and_topics_are_given_does_not_matter(
    assign: InOneGo, group: Group, sizes: Partitions, data: st.DataObject
) -> None:
    shuffled = dict(data.draw(st.permutations(list(sizes.items()))))
    assert assign(data.draw(st.permutations(group)), shuffled) == assign(group, sizes)


@every_assignor
def test_members_beyond_the_number_of_partitions_get_nothing(assign: InOneGo) -> None:
    result = assign([member(name, [A]) for name in ("m1", "m2", "m3")], {A: 2})
    assert sorted(len(assignment) for assignment in result.values()) == [0, 1, 1]


@every_assignor
def test_a_topic_that_does_not_exist_is_passed_over(assign: InOneGo) -> None:
    assert assign([member("m1", [A, B], {B: [0]})], {A: 1}) == {"m1": {A: {0}}}


@every_assignor
def test_a_group_without_members_is_answered_with_nothing(assign: InOneGo) -> None:
    assert assign([], {A: 3}) == {}


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS.keys())
def test_the_more_members_want_each_their_own_the_more_steps_it_takes(assign: Assign) -> None:
    """Each topic has subscribers of its own here, so that there are as many pools as topics."""

    def steps(members: int) -> int:
        topics = [number.to_bytes(16, "big") for number in range(400)]
        group = [
            member(f"m{each}", (topic for at, topic in enumerate(topics) if (at * each) % 401 % 3))
            for each in range(1, members + 1)
        ]
        return sum(1 for _ in assign(group, dict.fromkeys(topics, 1)))

    more = steps(240) - steps(60)
    assert more >= 180 * 400 * 2 // 3 // COST_A_SLICE
