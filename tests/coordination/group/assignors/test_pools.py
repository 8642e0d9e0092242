"""Which topics have the same subscribers, and in which order members stand."""

from __future__ import annotations

from tests.coordination.group.assignors.groups import A, B, C, D, member

from penstock.coordination.group.assignors import Subscriber, at_once
from penstock.coordination.group.assignors.pools import Pool, in_order, pools


def pools_of(group: list[Subscriber], partitions: dict[bytes, int]) -> list[Pool]:
    return at_once(pools(group, partitions))


def test_members_with_one_subscription_have_one_pool() -> None:
    group = [member(name, [B, A]) for name in ("m1", "m2")]
    assert pools_of(group, {B: 1, A: 1}) == [Pool([A, B], [0, 1])]


def test_the_topics_of_a_pool_are_sorted_however_a_set_has_them() -> None:
    topics = [bytes([number]) * 16 for number in range(50)]
    (pool,) = pools_of([member("m1", topics)], dict.fromkeys(topics, 1))
    assert pool.topics == topics


def test_topics_with_the_same_subscribers_are_together_though_these_have_others_too() -> None:
    group = [member("m1", [A, B]), member("m2", [A, B, C]), member("m3", [C])]
    assert pools_of(group, {A: 1, B: 1, C: 1}) == [Pool([A, B], [0, 1]), Pool([C], [1, 2])]


def test_pools_with_fewer_members_come_first() -> None:
    group = [member("m1", [A, C]), member("m2", [A])]
    assert pools_of(group, {A: 1, C: 1}) == [Pool([C], [0]), Pool([A], [0, 1])]


def test_topics_without_subscribers_and_subscriptions_without_a_topic_are_in_no_pool() -> None:
    group = [member("m1", [A, D]), member("m2", [A]), member("m3", [])]
    assert pools_of(group, {A: 1, C: 1}) == [Pool([A], [0, 1])]


def test_static_members_stand_first_by_instance_id_then_the_others_by_member_id() -> None:
    group = [
        member("a", []),
        member("b", [], instance="z"),
        member("0", []),
        member("c", [], instance="y"),
    ]
    assert [each.member_id for each in in_order(group)] == ["c", "b", "0", "a"]
