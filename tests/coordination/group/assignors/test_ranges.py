"""The range assignor: runs in the order of the members, and the same for topics that are alike."""

from __future__ import annotations

from hypothesis import given
from tests.coordination.group.assignors.groups import (
    A,
    B,
    C,
    Group,
    Partitions,
    differing,
    in_one_go,
    member,
    partitions,
    shown,
)

from penstock.coordination.group.assignors.ranges import assign_ranges

ranges = in_one_go(assign_ranges)


def test_the_first_members_get_one_more_when_it_does_not_divide() -> None:
    result = ranges([member(name, [A]) for name in ("m1", "m2", "m3")], {A: 8})
    assert result == {"m1": {A: {0, 1, 2}}, "m2": {A: {3, 4, 5}}, "m3": {A: {6, 7}}}


def test_topics_that_are_alike_can_be_joined() -> None:
    result = ranges([member(name, [A, B]) for name in ("m1", "m2")], {A: 3, B: 3})
    assert result == {"m1": {A: {0, 1}, B: {0, 1}}, "m2": {A: {2}, B: {2}}}


def test_each_topic_is_cut_among_its_own_subscribers() -> None:
    group = [member("m1", [A]), member("m2", [A, B]), member("m3", [B, C])]
    result = ranges(group, {A: 2, B: 4, C: 1})
    assert result == {"m1": {A: {0}}, "m2": {A: {1}, B: {0, 1}}, "m3": {B: {2, 3}, C: {0}}}


def test_a_static_member_that_comes_back_with_a_new_id_gets_the_same() -> None:
    others = [member("m2", [A], instance="i2"), member("m4", [A])]
    before = ranges([member("m1", [A], instance="i1"), *others], {A: 3})
    since = ranges([member("m9", [A], instance="i1"), *others], {A: 3})
    assert since["m9"] == before["m1"] == {A: {0}}
    assert since["m2"] == before["m2"] == {A: {1}}


def test_static_members_come_before_others_and_are_not_shifted_by_them() -> None:
    static = [member("z1", [A], instance="z-1"), member("z0", [A], instance="z-2")]
    result = ranges([member("a", [A]), *static], {A: 3})
    assert result == {"z1": {A: {0}}, "z0": {A: {1}}, "a": {A: {2}}}


@given(differing(), partitions)
def test_ranges_are_contiguous_in_the_order_of_members_and_the_first_are_longer_by_one(
    group: Group, sizes: Partitions
) -> None:
    result = ranges(group, sizes)
    static = sorted((e for e in group if e.instance_id), key=lambda e: e.instance_id or "")
    dynamic = sorted((e for e in group if not e.instance_id), key=lambda e: e.member_id)
    for topic, size in sizes.items():
        takers = [e.member_id for e in [*static, *dynamic] if topic in e.topics]
        runs = [shown(result[name]).get(topic, []) for name in takers]
        if takers:
            least, longer = divmod(size, len(takers))
            assert [n for run in runs for n in run] == list(range(size))
            assert [len(r) - least for r in runs] == [int(k < longer) for k in range(len(takers))]


@given(differing(), partitions)
def test_topics_with_as_many_partitions_and_the_same_subscribers_are_cut_alike(
    group: Group, sizes: Partitions
) -> None:
    both = [member(e.member_id, e.topics | {B} if A in e.topics else e.topics - {B}) for e in group]
    result = ranges(both, {**sizes, A: 7, B: 7})
    assert all(assignment.get(A) == assignment.get(B) for assignment in result.values())
