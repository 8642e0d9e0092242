"""The assignor of share groups: nobody is idle, nothing is left, and few have to move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.coordination.group.assignors.groups import A, B, member

from penstock.coordination.group.assignors import Assignment, Subscriber
from penstock.coordination.group.assignors.sharing import assign_shared

TOPICS = (A, B, b"C" * 16)

numbers = st.frozensets(st.integers(0, 7), min_size=1, max_size=6)
there = st.dictionaries(st.sampled_from(TOPICS), numbers, max_size=3)
wanted = st.frozensets(st.sampled_from(TOPICS), min_size=1)


def subscribers(
    wishes: Sequence[frozenset[bytes]], held: Mapping[str, Assignment]
) -> list[Subscriber]:
    names = [f"m{number:02}" for number in range(len(wishes))]
    return [
        member(name, sorted(each), held.get(name, {}))
        for name, each in zip(names, wishes, strict=True)
    ]


def crowds(result: Mapping[str, Assignment]) -> Counter[tuple[bytes, int]]:
    return Counter(
        (topic, number) for part in result.values() for topic in part for number in part[topic]
    )


def sizes(result: Mapping[str, Assignment]) -> list[int]:
    return [sum(map(len, part.values())) for part in result.values()]


def test_all_of_fifty_members_have_the_one_partition() -> None:
    result = assign_shared([member(f"m{n}", [A]) for n in range(50)], {A: frozenset({0})})
    assert set(map(str, result.values())) == {str({A: frozenset({0})})}
    assert len(result) == 50


def test_partitions_are_spread_when_there_are_fewer_members() -> None:
    result = assign_shared([member(f"m{n}", [A]) for n in range(2)], {A: frozenset(range(6))})
    assert sizes(result) == [3, 3]
    assert set(crowds(result).values()) == {1}


def test_a_new_member_goes_where_there_are_fewest_and_nobody_else_moves() -> None:
    held = {"m00": {A: frozenset({0})}, "m01": {A: frozenset({1})}, "m02": {A: frozenset({0})}}
    group = subscribers([frozenset({A})] * 4, held)
    result = assign_shared(group, {A: frozenset({0, 1})})
    assert result == {**held, "m03": {A: frozenset({1})}}


def test_who_shares_a_partition_fills_the_place_of_one_that_has_left() -> None:
    held = {"m00": {A: frozenset({0})}, "m01": {A: frozenset({0})}}
    result = assign_shared(subscribers([frozenset({A})] * 2, held), {A: frozenset({0, 1})})
    assert crowds(result) == {(A, 0): 1, (A, 1): 1}


def test_a_member_whose_topics_are_not_there_has_nothing() -> None:
    result = assign_shared([member("m0", [A]), member("m1", [B])], {A: frozenset({4})})
    assert result == {"m0": {A: frozenset({4})}, "m1": {}}


@given(st.lists(wanted, max_size=12), there)
def test_every_partition_has_a_member_and_every_member_a_partition(
    wishes: list[frozenset[bytes]], partitions: dict[bytes, frozenset[int]]
) -> None:
    group = subscribers(wishes, {})
    result = assign_shared(group, partitions)
    assert result.keys() == {each.member_id for each in group}
    anyone = frozenset().union(*wishes)
    assert crowds(result).keys() == {
        (topic, number) for topic in anyone & partitions.keys() for number in partitions[topic]
    }
    for each in group:
        part = result[each.member_id]
        assert part.keys() <= each.topics
        assert bool(part) == bool(each.topics & partitions.keys())


@given(st.integers(1, 20), there.filter(bool))
def test_who_want_the_same_have_as_much_and_share_it_with_as_many(
    count: int, partitions: dict[bytes, frozenset[int]]
) -> None:
    result = assign_shared(subscribers([frozenset(TOPICS)] * count, {}), partitions)
    assert max(sizes(result)) - min(sizes(result)) <= 1
    crowd = crowds(result).values()
    assert max(crowd) - min(crowd) <= 1


@given(st.lists(wanted, min_size=1, max_size=12), there)
def test_nobody_moves_when_nothing_has_changed_whoever_is_told_first(
    wishes: list[frozenset[bytes]], partitions: dict[bytes, frozenset[int]]
) -> None:
    first = assign_shared(subscribers(wishes, {}), partitions)
    again = subscribers(wishes, first)
    assert assign_shared(again, partitions) == first
    assert assign_shared(again[::-1], partitions) == first


@given(st.integers(2, 12), st.integers(1, 8))
def test_of_members_that_shared_only_as_many_move_as_a_gap_takes(count: int, size: int) -> None:
    """One leaves: at most one takes its place where there are more members than partitions."""
    partitions = {A: frozenset(range(size))}
    first = assign_shared(subscribers([frozenset({A})] * count, {}), partitions)
    left = subscribers([frozenset({A})] * count, first)[1:]
    second = assign_shared(left, partitions)
    moved = sum(second[each.member_id] != first[each.member_id] for each in left)
    if count > size:
        assert moved <= 1
    else:
        assert all(first[each.member_id][A] <= second[each.member_id][A] for each in left)
