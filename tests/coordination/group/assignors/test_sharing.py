"""The assignor of share groups: whoever is free can have the next record, and nobody is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from tests.coordination.group.assignors.groups import A, B, member

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.assignors.sharing import ALL_UP_TO, assign_shared

TOPICS = (A, B, b"C" * 16)

numbers = st.frozensets(st.integers(0, 90), min_size=1, max_size=70)
there = st.dictionaries(st.sampled_from(TOPICS), numbers, max_size=3)
wishes = st.lists(st.frozensets(st.sampled_from(TOPICS), min_size=1), max_size=40)


def crowds(result: Mapping[str, Assignment]) -> Counter[tuple[bytes, int]]:
    return Counter(
        (topic, number) for part in result.values() for topic in part for number in part[topic]
    )


def test_all_of_fifty_members_have_the_one_partition() -> None:
    result = assign_shared([member(f"m{n}", [A]) for n in range(50)], {A: frozenset({0})})
    assert set(map(str, result.values())) == {str({A: frozenset({0})})}
    assert len(result) == 50


def test_few_partitions_are_everybodys() -> None:
    result = assign_shared([member(f"m{n}", [A]) for n in range(3)], {A: frozenset({0, 2, 5})})
    assert list(result.values()) == [{A: frozenset({0, 2, 5})}] * 3


def test_of_many_partitions_members_have_stretches_that_overlap() -> None:
    result = assign_shared([member(f"m{n}", [A]) for n in range(4)], {A: frozenset(range(100))})
    assert result["m0"] == {A: frozenset(range(50))}
    assert result["m3"] == {A: frozenset([*range(75, 100), *range(25)])}


def test_a_member_whose_topics_are_not_there_has_nothing() -> None:
    result = assign_shared([member("m0", [A]), member("m1", [B])], {A: frozenset({4})})
    assert result == {"m0": {A: frozenset({4})}, "m1": {}}


@given(wishes, there)
def test_two_have_each_partition_if_there_are_two_and_everybody_has_some(
    wishes: list[frozenset[bytes]], partitions: dict[bytes, frozenset[int]]
) -> None:
    group = [member(f"m{n:02}", sorted(each)) for n, each in enumerate(wishes)]
    result = assign_shared(group, partitions)
    assert result.keys() == {each.member_id for each in group}
    crowd = crowds(result)
    for topic, numbers in partitions.items():
        count = sum(topic in each.topics for each in group)
        assert all(crowd[topic, number] >= min(2, count) for number in numbers)
    for each in group:
        assert result[each.member_id].keys() == each.topics & partitions.keys()


@given(st.integers(1, 40), st.integers(1, 200))
def test_members_have_as_much_as_each_other_and_no_more_than_they_need(
    members: int, count: int
) -> None:
    group = [member(f"m{n:02}", [A]) for n in range(members)]
    result = assign_shared(group, {A: frozenset(range(count))})
    (size,) = {len(part[A]) for part in result.values()}
    assert size <= max(min(count, ALL_UP_TO), 2 * count / members + 1)
    crowd = crowds(result).values()
    assert max(crowd) - min(crowd) <= 1


@given(wishes, there)
def test_it_does_not_matter_who_is_told_first(
    wishes: list[frozenset[bytes]], partitions: dict[bytes, frozenset[int]]
) -> None:
    group = [member(f"m{n:02}", sorted(each)) for n, each in enumerate(wishes)]
    assert assign_shared(group[::-1], partitions) == assign_shared(group, partitions)
