"""What classic members may have when their group becomes one of KIP-848: nobody else gets it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordination.group.consumer.answers import given, refusal
from tests.coordination.group.consumer.classic_clients import ClassicClient, plan, running
from tests.coordination.group.consumer.clients import Client
from tests.coordination.group.consumer.stage import Stage
from tests.coordination.group.consumer.test_classic_members import rest

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer import converting
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.requests import TOPICS_MAX
from penstock.errors import ErrorCode


def cooperative(stage: Stage, instance_id: str | None = None) -> ClassicClient:
    return ClassicClient(stage, "orders", is_eager=False, instance_id=instance_id)


def owner_of_all(stage: Stage) -> ClassicClient:
    owner = cooperative(stage)
    running(stage, [owner], [plan(orders=[0, 1, 2, 3])])
    return owner


def end_of_round(stage: Stage, *clients: ClassicClient) -> None:
    for client in clients:
        client.ask_to_join()
    for (_, client), answer in stage.answers:  # type: ignore[misc]
        client.joined(answer)


def body(stage: Stage) -> Classic:
    assert isinstance(stage.group.body, Classic)
    return stage.group.body


def comes_to_rest(stage: Stage, topic: bytes, native: Client, *classics: ClassicClient) -> None:
    for client in classics:
        if client.beat() == ErrorCode.ILLEGAL_GENERATION:
            client.owned = {}
            client.join()
            client.sync()
    rest(stage, [native], list(classics))
    held = [native.owned, *(client.owned for client in classics)]
    assert sorted(each for owned in held for each in owned.get(topic, ())) == [0, 1, 2, 3]


@pytest.mark.parametrize("is_reloaded", [True, False])
def test_what_a_member_was_told_to_give_up_is_its_own_until_it_says_that_it_has(
    is_reloaded: bool,
) -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    slow, other = owner_of_all(stage), cooperative(stage)
    end_of_round(stage, other, slow)
    leader = slow if body(stage).leader == slow.id else other
    leader.ask_to_sync({slow.id: plan(orders=[0, 1]), other.id: plan()})
    if is_reloaded:
        stage.reload()
    assert given(stage.join("m1", "orders")) == {}
    holding = stage.body.members[slow.id].holding
    assert holding.state is MemberState.REVOKING
    assert holding.assigned == {topic: {0, 1}}
    assert holding.revoking == {topic: {2, 3}}
    native = Client(stage, "m1", "orders")
    native.beat()
    assert native.owned == {}
    slow.owned = {topic: frozenset({0, 1})}
    comes_to_rest(stage, topic, native, slow, other)


def test_what_a_member_has_in_a_second_round_without_a_plan_is_its_own() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    owner, second, third = owner_of_all(stage), cooperative(stage), cooperative(stage)
    end_of_round(stage, second, owner)
    third.ask_to_join()
    assert body(stage).phase is Phase.JOINING
    native = Client(stage, "m1", "orders")
    native.beat()
    assert native.owned == {}
    assert stage.body.members[owner.id].holding.assigned == {topic: {0, 1, 2, 3}}
    comes_to_rest(stage, topic, native, owner, second, third)


@pytest.mark.parametrize("is_reloaded", [True, False])
def test_what_is_being_given_up_is_remembered_while_the_group_is_classic(
    is_reloaded: bool,
) -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    slow, first = owner_of_all(stage), Client(stage, "m1", "orders")
    first.beat()
    assert slow.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    slow.join()
    slow.ask_to_sync()
    assert stage.body.members[slow.id].holding.revoking
    first.leave()
    assert isinstance(stage.group.body, Classic)
    if is_reloaded:
        stage.reload()
    native = Client(stage, "m2", "orders")
    native.beat()
    assert native.owned == {}
    assert set(stage.body.members[slow.id].holding.places()) == {(topic, each) for each in range(4)}
    comes_to_rest(stage, topic, native, slow)


def test_a_static_member_that_has_missed_a_round_may_have_what_it_had_before() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    away, other = cooperative(stage, "i1"), cooperative(stage)
    running(stage, [away, other], [plan(orders=[0, 1]), plan(orders=[2, 3])])
    other.topics = ("orders", "more")
    assert other.ask_to_join() is None
    for _ in range(25):
        stage.pass_ms(1_000)
        if body(stage).phase is not Phase.JOINING:
            break
        away.beat()
    assert body(stage).phase is Phase.SYNCING
    assert given(stage.join("m1", "orders")) == {}
    assert set(stage.body.members[away.id].holding.places()) == {(topic, 0), (topic, 1)}


def test_a_partition_that_two_may_have_is_free_when_both_have_given_it_up() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    both = [cooperative(stage) for _ in range(2)]
    running(stage, both, [plan(orders=[0]), plan(orders=[0])])
    native = Client(stage, "m1", "orders")
    native.beat()
    rightful: Assignment = {topic: frozenset({0})}
    assert [stage.body.members[each.id].holding.revoking for each in both] == [rightful] * 2
    for client in both:
        assert native.owned == {}
        assert client.beat() == ErrorCode.REBALANCE_IN_PROGRESS
        assert stage.body.holders((topic, 0)) >= {client.id}
        client.owned = {}
        client.join()
        client.sync()
        native.beat()
    rest(stage, [native], both)
    owned = [native.owned, *(client.owned for client in both)]
    assert [each for each in owned if each] == [rightful]


def test_a_group_with_a_member_of_too_many_topics_stays_classic() -> None:
    stage = Stage()
    stage.create("orders", 4)
    classic = ClassicClient(stage, "orders", *(f"t{number}" for number in range(TOPICS_MAX)))
    running(stage, [classic], [plan(orders=[0, 1, 2, 3])])
    assert refusal(lambda: stage.join("m1", "orders")) == ErrorCode.GROUP_ID_NOT_FOUND
    assert body(stage).members.keys() == {classic.id}


def test_a_group_whose_members_name_too_many_topics_stays_what_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(converting, "NAMES_MAX", 3)
    stage = Stage()
    one, other = ClassicClient(stage, "a", "b"), ClassicClient(stage, "c", "d")
    running(stage, [one, other], [plan(), plan()])
    assert refusal(stage.join, "m1", "a") == ErrorCode.GROUP_ID_NOT_FOUND
    assert len(body(stage).members) == 2


@pytest.mark.parametrize("fields", [{}, {"subscribed_topic_regex": "ord.*"}])
def test_a_static_member_that_comes_back_as_the_first_of_kip_848_leaves_nothing_behind(
    fields: dict[str, Any],
) -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    before, other = cooperative(stage, "i1"), cooperative(stage)
    running(stage, [before, other], [plan(orders=[0, 1]), plan(orders=[2, 3])])
    answer = stage.join("m1", "orders", instance_id="i1", **fields)
    assert given(answer) == {topic: {0, 1}}
    assert stage.body.members.keys() == {"m1", other.id}
    assert stage.body.static == {"i1": "m1"}
    assert stage.body.holders((topic, 0)) == {"m1"}
