"""The uniform assignor: level, and no more moves than that takes."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.coordination.group.assignors.groups import (
    A,
    B,
    Group,
    Partitions,
    after,
    alike,
    differing,
    held,
    in_one_go,
    loads,
    member,
    owned,
    partitions,
)

from penstock.coordination.group.assignors.uniform import assign_uniform

uniform = in_one_go(assign_uniform)
groups_alike = partitions.flatmap(lambda sizes: st.tuples(alike(sizes), st.just(sizes)))


def test_partitions_of_each_topic_are_spread_over_members() -> None:
    result = uniform([member(name, [A, B]) for name in ("m1", "m2")], {A: 3, B: 3})
    assert result == {"m1": {A: {0, 2}, B: {1}}, "m2": {A: {1}, B: {0, 2}}}


def test_who_has_most_gives_to_a_new_member_and_keeps_the_rest() -> None:
    group = [
        member("m1", [A], {A: [0, 2, 4]}),
        member("m2", [A], {A: [1, 3]}),
        member("m3", [A]),
    ]
    result = uniform(group, {A: 5})
    assert result == {"m1": {A: {0, 2}}, "m2": {A: {1, 3}}, "m3": {A: {4}}}


def test_the_larger_quota_goes_to_whoever_has_it_already() -> None:
    group = [member("m1", [A], {A: [0]}), member("m2", [A], {A: [1, 2]})]
    assert uniform(group, {A: 3}) == {"m1": {A: {0}}, "m2": {A: {1, 2}}}


def test_what_is_given_up_comes_from_all_topics() -> None:
    group = [member("m1", [A, B], {A: range(4), B: range(4)}), member("m2", [A, B])]
    result = uniform(group, {A: 4, B: 4})
    assert result == {"m1": {A: {0, 1}, B: {0, 1}}, "m2": {A: {2, 3}, B: {2, 3}}}


def test_a_member_with_a_topic_of_its_own_gets_less_of_the_shared_one() -> None:
    group = [member("m1", [A, B]), member("m2", [A])]
    assert uniform(group, {A: 4, B: 2}) == {"m1": {B: {0, 1}, A: {0}}, "m2": {A: {1, 2, 3}}}


def test_relief_is_passed_on_from_member_to_member() -> None:
    group = [
        member("m1", [A], {A: range(6)}),
        member("m2", [A, B], {B: range(4)}),
        member("m3", [B]),
    ]
    assert uniform(group, {A: 6, B: 4}) == {
        "m1": {A: {0, 1, 2, 3}},
        "m2": {A: {4, 5}, B: {0}},
        "m3": {B: {1, 2, 3}},
    }


def test_what_a_member_no_longer_subscribes_to_is_taken_from_it() -> None:
    group = [member("m1", [A], {A: [0], B: [0]}), member("m2", [A, B], {A: [1]})]
    assert uniform(group, {A: 2, B: 1}) == {"m1": {A: {0}}, "m2": {A: {1}, B: {0}}}


def test_partitions_that_there_are_not_are_passed_over() -> None:
    group = [member("m1", [A], {A: [-1, 2]}), member("m2", [A])]
    assert uniform(group, {A: 2}) == {"m1": {A: {0}}, "m2": {A: {1}}}


def test_a_partition_that_two_claim_stays_with_the_first() -> None:
    group = [member("m2", [A], {A: [0, 1]}), member("m1", [A], {A: [0]})]
    assert uniform(group, {A: 2}) == {"m1": {A: {0}}, "m2": {A: {1}}}


def test_new_partitions_go_to_those_who_have_least() -> None:
    group = [member("m1", [A], {A: [0, 1]}), member("m2", [A])]
    assert uniform(group, {A: 4}) == {"m1": {A: {0, 1}}, "m2": {A: {2, 3}}}


@given(groups_alike)
def test_members_with_equal_subscriptions_differ_by_one_at_most(
    drawn: tuple[Group, Partitions],
) -> None:
    counts = loads(uniform(*drawn)).values()
    assert max(counts) - min(counts) <= 1


@given(groups_alike)
def test_no_more_partitions_move_than_equal_quotas_ask_for(
    drawn: tuple[Group, Partitions],
) -> None:
    group, sizes = drawn
    quota, larger = divmod(sum(sizes.values()), len(group))
    had = [sum(map(len, each.assigned.values())) for each in group]
    above = sum(count > quota for count in had)
    most_kept = sum(min(count, quota) for count in had) + min(above, larger)
    assert len(held(group) & owned(uniform(group, sizes))) == most_kept


@given(groups_alike)
def test_a_new_member_gets_all_that_moves(drawn: tuple[Group, Partitions]) -> None:
    group, sizes = drawn
    before = uniform(group, sizes)
    since = uniform([*after(group, before), member("m15x", sizes)], sizes)
    moved = owned(since) - owned(before)
    assert {name for name, _, _ in moved} <= {"m15x"}
    assert len(moved) == sum(sizes.values()) // (len(group) + 1)


@given(groups_alike, st.data())
def test_when_a_member_leaves_only_its_partitions_move(
    drawn: tuple[Group, Partitions], data: st.DataObject
) -> None:
    group, sizes = drawn
    assume(len(group) > 1)
    before = uniform(group, sizes)
    leaver = data.draw(st.sampled_from(after(group, before)))
    stayers = [each for each in after(group, before) if each != leaver]
    since = uniform(stayers, sizes)
    assert owned(before) - owned(since) == held([leaver])


@given(differing(), partitions)
def test_no_partition_could_go_to_a_subscriber_with_two_fewer(
    group: Group, sizes: Partitions
) -> None:
    result = uniform(group, sizes)
    counts = loads(result)
    for name, topic, _ in owned(result):
        takers = [each.member_id for each in group if topic in each.topics]
        assert counts[name] - min(counts[taker] for taker in takers) <= 1


@given(differing(), partitions)
def test_running_again_changes_nothing(group: Group, sizes: Partitions) -> None:
    result = uniform(group, sizes)
    assert uniform(after(group, result), sizes) == result


@given(differing(), partitions)
def test_a_member_gives_up_nothing_of_a_topic_that_it_gets_more_of(
    group: Group, sizes: Partitions
) -> None:
    before = after(group, uniform(group, dict.fromkeys(sizes, 5)))
    result = uniform(before, sizes)
    for each in before:
        for topic, numbers in each.assigned.items():
            kept = {number for number in numbers if number < sizes[topic]}
            given = result[each.member_id].get(topic, frozenset())
            assert kept <= given or given < kept
