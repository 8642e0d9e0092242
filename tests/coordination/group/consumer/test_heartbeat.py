"""Heartbeats of KIP-848: joining, what is refused, what is answered."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordination.group.consumer.answers import given, refusal
from tests.coordination.group.consumer.clients import Client, check_nothing_is_shared, settle
from tests.coordination.group.consumer.stage import Stage

from penstock.coordination.group.consumer.describing import state_name
from penstock.errors import ErrorCode
from penstock.wire.messages.k68_consumer_group_heartbeat import TopicPartitions


def test_the_first_member_gets_everything_at_once() -> None:
    stage = Stage()
    topic = stage.create("orders", 3)
    answer = stage.join("m1", "orders")
    assert answer.member_id == "m1"
    assert answer.member_epoch == 1
    assert given(answer) == {topic: {0, 1, 2}}
    assert state_name(stage.group) == "Stable"


def test_a_member_that_brings_no_id_is_given_one() -> None:
    stage = Stage()
    stage.create("orders", 3)
    answer = stage.join("", "orders")
    assert answer.member_id
    assert answer.member_id in stage.body.members


def test_a_heartbeat_that_changes_nothing_writes_nothing_and_brings_no_assignment() -> None:
    stage = Stage()
    stage.create("orders", 3)
    stage.join("m1", "orders")
    answer = stage.beat("m1", 1)
    assert answer.assignment is None
    assert answer.member_epoch == 1
    assert stage.written == []


def test_a_full_request_is_told_its_assignment_again() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    stage.join("m1", "orders")
    owned = [TopicPartitions(topic, [0])]
    fields: dict[str, Any] = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["orders"]}
    answer = stage.beat("m1", 1, topic_partitions=owned, **fields)
    assert given(answer) == {topic: {0}}
    assert stage.written == []


def test_a_second_member_waits_until_the_first_has_given_up_its_part() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    stage.join("m1", "orders")
    stage.pass_ms(1_000)
    assert given(stage.join("m2", "orders")) == {}
    told = stage.beat("m1", 1)
    kept = given(told)
    assert len(kept[topic]) == 2
    assert told.member_epoch == 1
    assert state_name(stage.group) == "Reconciling"
    assert stage.beat("m2", 2).assignment is None
    assert given(stage.beat("m1", 1)) == kept  # it does not say what it has: it may have all
    owned = [TopicPartitions(topic, sorted(kept[topic]))]
    assert stage.beat("m1", 1, topic_partitions=owned).member_epoch == 2
    assert given(stage.beat("m2", 2)) == {topic: frozenset(range(4)) - kept[topic]}
    assert state_name(stage.group) == "Stable"


def test_a_member_that_has_not_had_its_answer_is_told_again() -> None:
    """librdkafka gives up waiting for a heartbeat, and says nothing of it in the next one."""
    stage = Stage()
    topic = stage.create("orders", 2)
    stage.join("m1", "orders")
    stage.join("m2", "orders")
    kept = given(stage.beat("m1", 1))
    assert given(stage.beat("m1", 1)) == kept
    owned = [TopicPartitions(topic, sorted(kept[topic]))]
    assert stage.beat("m1", 1, topic_partitions=owned).member_epoch == 2
    again = stage.beat("m1", 1, topic_partitions=owned)
    assert (again.member_epoch, given(again)) == (2, kept)
    assert stage.beat("m1", 2).assignment is None


def test_adding_a_member_to_a_hundred_stops_only_those_who_give_something_up() -> None:
    stage = Stage()
    stage.create("orders", 1_000)
    clients = [Client(stage, f"m{number}", "orders") for number in range(100)]
    settle(stage, clients)
    before = {client.id: client.owned for client in clients}
    new = Client(stage, "new", "orders")
    new.beat()
    epochs = []
    for client in clients:
        client.beat()
        if client.owned == before[client.id]:
            epochs.append(client.epoch)
    assert len(epochs) >= 91
    assert set(epochs) == {new.epoch}
    settle(stage, [*clients, new])
    assert new.count == 9
    assert sum(client.owned == before[client.id] for client in clients) == len(epochs)


@pytest.mark.parametrize(
    ("members", "interval_ms"), [(1, 500), (50, 500), (60, 600), (100, 1000), (600, 5000)]
)
def test_the_heartbeat_interval_goes_by_the_size_of_the_group(
    members: int, interval_ms: int
) -> None:
    stage = Stage()
    stage.create("orders", 1)
    answers = [stage.join(f"m{number}", "orders") for number in range(members)]
    assert answers[-1].heartbeat_interval_ms == interval_ms


def test_a_group_can_have_a_heartbeat_interval_of_its_own() -> None:
    stage = Stage()
    stage.create("orders", 1)
    stage.configure(consumer_heartbeat_interval_ms="3000")
    assert stage.join("m1", "orders").heartbeat_interval_ms == 3000


def test_topics_that_do_not_exist_can_be_subscribed_to() -> None:
    stage = Stage()
    assert given(stage.join("m1", "orders")) == {}
    topic = stage.create("orders", 2)
    assert given(stage.beat("m1", 1)) == {topic: {0, 1}}


def test_a_topic_that_grows_is_shared_anew() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    stage.join("m1", "orders")
    stage.pass_ms(100)
    stage.grow("orders", 3)
    assert given(stage.beat("m1", 1)) == {topic: {0, 1, 2}}


def test_a_topic_that_is_deleted_is_taken_away() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    stage.join("m1", "orders")
    stage.pass_ms(100)
    stage.delete("orders")
    assert given(stage.beat("m1", 1, topic_partitions=[TopicPartitions(topic, [0])])) == {}
    stage.beat("m1", 1, topic_partitions=[])
    assert state_name(stage.group) == "Stable"


def test_a_change_of_other_topics_changes_nothing() -> None:
    stage = Stage()
    stage.create("orders", 1)
    stage.join("m1", "orders")
    stage.create("payments", 1)
    assert stage.written == []


def test_a_member_that_subscribes_to_another_topic_gives_the_first_one_up() -> None:
    stage = Stage()
    orders, payments = stage.create("orders", 1), stage.create("payments", 2)
    stage.join("m1", "orders")
    stage.pass_ms(100)
    owned = [TopicPartitions(orders, [0])]
    told = stage.beat("m1", 1, subscribed_topic_names=["payments"], topic_partitions=owned)
    assert given(told) == {}
    assert given(stage.beat("m1", 1, topic_partitions=[])) == {payments: {0, 1}}


def test_a_subscription_that_changes_before_there_can_be_a_target_is_heeded() -> None:
    stage = Stage()
    orders = stage.create("orders", 100)
    stage.join("m1", "orders")
    stage.join("m2", "orders")  # too soon for another target
    owned = [TopicPartitions(orders, list(range(100)))]
    told = stage.beat("m1", 1, subscribed_topic_names=[], topic_partitions=owned)
    assert given(told) == {}


def test_members_choose_the_assignor_by_majority() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    clients = [Client(stage, f"m{number}", "orders") for number in range(2)]
    settle(stage, clients)
    for client in clients:
        stage.beat(client.id, client.epoch, server_assignor="range")
    settle(stage, clients)
    assert [client.owned for client in clients] == [{topic: {0, 1}}, {topic: {2, 3}}]


JOIN: dict[str, Any] = {
    "rebalance_timeout_ms": 1_000,
    "topic_partitions": [],
    "subscribed_topic_names": ["orders"],
}


@pytest.mark.parametrize(
    ("epoch", "fields", "code"),
    [
        (0, {"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        (0, {"topic_partitions": None}, ErrorCode.INVALID_REQUEST),
        (0, {"topic_partitions": [TopicPartitions()]}, ErrorCode.INVALID_REQUEST),
        (0, {"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        (0, {"subscribed_topic_names": ["x" * 250]}, ErrorCode.INVALID_REQUEST),
        (0, {"subscribed_topic_names": ["x"] * 10_001}, ErrorCode.INVALID_REQUEST),
        (0, {"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        (0, {"instance_id": "i" * 1_001}, ErrorCode.INVALID_REQUEST),
        (0, {"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        (0, {"server_assignor": "mine"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        (0, {"subscribed_topic_regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        (0, {"subscribed_topic_regex": "a" * 1_001}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        (-2, {}, ErrorCode.INVALID_REQUEST),
        (-3, {}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_requests_that_make_no_sense_are_refused(
    epoch: int, fields: dict[str, Any], code: ErrorCode
) -> None:
    stage = Stage()
    assert refusal(stage.beat, "m1", epoch, **{**JOIN, **fields}) == code


def test_who_is_not_a_member_is_told_so() -> None:
    stage = Stage()
    assert refusal(stage.beat, "m1", 1) == ErrorCode.GROUP_ID_NOT_FOUND
    assert refusal(stage.beat, "m1", -1) == ErrorCode.GROUP_ID_NOT_FOUND
    stage.join("m1", "orders")
    assert refusal(stage.beat, "m2", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(stage.beat, "m2", -1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(stage.beat, "", 1) == ErrorCode.INVALID_REQUEST


def test_a_member_with_another_epoch_is_fenced() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    assert refusal(stage.beat, "m1", 2) == ErrorCode.FENCED_MEMBER_EPOCH
    stage.pass_ms(100)
    stage.create("orders", 1)
    assert stage.beat("m1", 1).member_epoch == 2
    assert refusal(stage.beat, "m1", 1) == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_whose_answer_was_lost_may_come_with_its_previous_epoch() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    stage.join("m1", "orders")
    stage.pass_ms(100)
    stage.grow("orders", 2)
    stage.beat("m1", 1)
    assert stage.beat("m1", 1, topic_partitions=[TopicPartitions(topic, [0])]).member_epoch == 2
    too_much = [TopicPartitions(topic, [0, 2])]
    assert refusal(stage.beat, "m1", 1, topic_partitions=too_much) == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_group_that_is_full_takes_nobody_new() -> None:
    stage = Stage(group_consumer_max_size=1)
    stage.join("m1", "orders")
    assert refusal(stage.beat, "m2", 0, **JOIN) == ErrorCode.GROUP_MAX_SIZE_REACHED
    stage.join("m1", "orders")


def test_joining_again_under_the_same_id_brings_back_what_the_member_has() -> None:
    stage = Stage()
    topic = stage.create("orders", 2)
    stage.join("m1", "orders")
    stage.pass_ms(100)
    answer = stage.join("m1", "orders")
    assert answer.member_epoch == 1
    assert given(answer) == {topic: {0, 1}}
    assert stage.written == []


def test_members_that_join_at_once_cost_few_targets() -> None:
    stage = Stage()
    stage.create("orders", 10)
    targets = 0
    for number in range(500):
        stage.join(f"m{number}", "orders")
        targets += any("TargetAssignmentMetadata" in type(e.key).__name__ for e in stage.written)
        stage.time_ms += 0.1
    assert targets <= 20
    assert state_name(stage.group) == "Assigning"
    assert stage.body.epoch <= targets + 1
    stage.pass_ms(100)
    assert state_name(stage.group) == "Reconciling"


def test_a_member_that_joins_too_soon_for_a_target_gets_its_part_later() -> None:
    stage = Stage()
    stage.create("orders", 10)
    clients = [Client(stage, f"m{number}", "orders") for number in range(20)]
    for client in clients:
        client.beat()
    assert all(client.epoch > 0 for client in clients)
    settle(stage, clients)
    assert sorted(client.count for client in clients) == [0] * 10 + [1] * 10
    check_nothing_is_shared(stage, clients)


def test_a_coordinator_that_takes_over_goes_on_where_the_other_was() -> None:
    stage = Stage()
    stage.create("orders", 7)
    clients = [Client(stage, f"m{number}", "orders") for number in range(3)]
    clients[0].beat()
    stage.pass_ms(10)
    clients[1].beat()
    clients[0].beat()
    stage.reload()
    settle(stage, clients)
    check_nothing_is_shared(stage, clients)
    assert sorted(client.count for client in clients) == [2, 2, 3]


def test_topics_that_changed_while_there_was_no_coordinator_are_noticed() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    stage.join("m1", "orders")
    kept = stage.groups
    stage.groups = type(kept)()
    stage.grow("orders", 2)
    stage.reload()
    stage.pass_ms(1)
    assert given(stage.beat("m1", 1)) == {topic: {0, 1}}
