"""Members that leave, fall silent, or do not do what they are told."""

from __future__ import annotations

from tests.coordination.group.consumer.answers import given, refusal
from tests.coordination.group.consumer.clients import Client, settle
from tests.coordination.group.consumer.stage import NAME, Stage

from penstock.coordination.group import protocols
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer.describing import state_name
from penstock.errors import ErrorCode
from penstock.wire.messages.k68_consumer_group_heartbeat import TopicPartitions


def two(stage: Stage) -> list[Client]:
    clients = [Client(stage, "m1", "orders"), Client(stage, "m2", "orders")]
    settle(stage, clients)
    return clients


def test_what_a_member_had_goes_to_the_others_when_it_leaves() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    first, second = two(stage)
    second.leave()
    assert given(stage.beat("m1", first.epoch)) == {topic: {0, 1, 2, 3}}
    assert list(stage.body.members) == ["m1"]


def test_leaving_is_answered_with_the_epoch_that_was_sent() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    assert stage.beat("m1", -1).member_epoch == -1


def test_a_group_without_members_is_empty_and_keeps_its_epoch() -> None:
    stage = Stage()
    stage.create("orders", 4)
    stage.join("m1", "orders")
    stage.beat("m1", -1)
    assert state_name(stage.group) == "Empty"
    assert stage.group.emptied_ms > 0
    assert stage.join("m2", "orders").member_epoch >= 2


def test_deleting_an_empty_group_leaves_nothing_of_it() -> None:
    stage = Stage()
    stage.create("orders", 4)
    stage.join("m1", "orders", subscribed_topic_regex="pay.*")
    stage.beat("m1", -1)
    stage.run(protocols.delete)
    assert stage.groups.get(NAME) is None
    assert set(stage.log.values()) == {None}


def test_a_group_with_members_is_not_deleted() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    assert refusal(stage.run, protocols.delete) == ErrorCode.NON_EMPTY_GROUP


def test_a_silent_member_is_removed_when_its_session_ends() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    first, second = two(stage)
    stage.pass_ms(30_000)
    first.beat()
    stage.pass_ms(14_000)
    assert "m2" in stage.body.members
    stage.pass_ms(1_500)
    assert "m2" not in stage.body.members
    assert given(stage.beat("m1", first.epoch)) == {topic: {0, 1, 2, 3}}
    assert second.beat()
    assert second.epoch == 0


def test_a_group_can_have_a_session_timeout_of_its_own() -> None:
    stage = Stage()
    stage.configure(consumer_session_timeout_ms="10000")
    stage.join("m1", "orders")
    stage.pass_ms(9_999)
    assert stage.body.members
    stage.pass_ms(1)
    assert not stage.body.members


def test_sessions_begin_anew_with_another_coordinator() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    stage.pass_ms(40_000)
    stage.reload()
    stage.pass_ms(44_000)
    assert stage.body.members
    stage.pass_ms(1_001)
    assert not stage.body.members


def test_a_member_that_does_not_give_up_partitions_in_time_is_removed() -> None:
    stage = Stage()
    topic = stage.create("orders", 2)
    stage.join("m1", "orders")
    stage.pass_ms(1_000)
    stage.join("m2", "orders")
    for _ in range(35):
        owned = [TopicPartitions(topic, [0, 1])]
        if "m1" in stage.body.members:
            stage.beat("m1", 1, topic_partitions=owned)
        second = stage.beat("m2", stage.body.members["m2"].epoch)
        stage.pass_ms(1_000)
    assert list(stage.body.members) == ["m2"]
    second = stage.join("m2", "orders")
    assert given(second) == {topic: {0, 1}}


def test_a_second_revocation_has_its_own_time() -> None:
    stage = Stage()
    topic = stage.create("orders", 6)
    stage.join("m1", "orders")
    stage.pass_ms(100)
    stage.join("m2", "orders")
    kept = sorted(given(stage.beat("m1", 1))[topic])
    stage.pass_ms(20_000)
    stage.join("m3", "orders")
    told = stage.beat("m1", 1, topic_partitions=[TopicPartitions(topic, kept)])
    assert len(given(told)[topic]) == 2
    for _ in range(29):
        stage.pass_ms(1_000)
        assert "m1" in stage.body.members
        stage.beat("m1", told.member_epoch)
    stage.pass_ms(1_000)
    assert "m1" not in stage.body.members


def test_a_member_that_obeys_is_not_removed_for_an_earlier_revocation() -> None:
    stage = Stage()
    stage.create("orders", 4)
    clients = two(stage)
    for _ in range(40):
        stage.pass_ms(1_000)
        for client in clients:
            client.beat()
    assert len(stage.body.members) == 2


def test_a_static_member_that_comes_back_has_its_place_without_a_rebalance() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    stage.join("m1", "orders", instance_id="i1")
    stage.pass_ms(1_000)
    assert stage.beat("m1", -2, instance_id="i1").member_epoch == -2
    stage.pass_ms(10_000)
    answer = stage.join("m2", "orders", instance_id="i1")
    assert answer.member_epoch == 1
    assert given(answer) == {topic: {0, 1, 2, 3}}
    assert stage.body.epoch == 1
    assert list(stage.body.members) == ["m2"]
    assert stage.body.owners.keys() == {(topic, number) for number in range(4)}


def test_a_static_member_that_comes_back_wanting_other_topics_is_a_change() -> None:
    stage = Stage()
    stage.create("orders", 4)
    topic = stage.create("payments", 1)
    stage.join("m1", "orders", instance_id="i1")
    stage.pass_ms(1_000)
    stage.beat("m1", -2, instance_id="i1")
    answer = stage.join("m2", "payments", instance_id="i1")
    assert answer.member_epoch == 2
    assert given(answer) == {topic: {0}}


def test_a_static_member_that_stays_away_is_removed_when_its_session_ends() -> None:
    stage = Stage()
    stage.create("orders", 4)
    stage.join("m1", "orders", instance_id="i1")
    stage.beat("m1", -2, instance_id="i1")
    stage.pass_ms(45_000)
    assert not stage.body.members
    assert not stage.body.static


def test_the_instance_of_a_running_member_is_taken() -> None:
    stage = Stage()
    stage.join("m1", "orders", instance_id="i1")
    code = refusal(stage.join, "m2", "orders", instance_id="i1")
    assert code == ErrorCode.UNRELEASED_INSTANCE_ID


def test_the_former_self_of_a_static_member_is_fenced() -> None:
    stage = Stage()
    stage.join("m1", "orders", instance_id="i1")
    stage.beat("m1", -2, instance_id="i1")
    assert refusal(stage.beat, "m1", 1, instance_id="i1") == ErrorCode.FENCED_MEMBER_EPOCH
    stage.join("m2", "orders", instance_id="i1")
    assert refusal(stage.beat, "m1", 1, instance_id="i1") == ErrorCode.FENCED_INSTANCE_ID
    assert refusal(stage.beat, "m1", -1, instance_id="i1") == ErrorCode.FENCED_INSTANCE_ID
    assert refusal(stage.beat, "m1", 1, instance_id="i9") == ErrorCode.UNKNOWN_MEMBER_ID


def test_what_is_loaded_is_the_same_whether_old_ends_are_still_in_the_log_or_not() -> None:
    stage = Stage()
    stage.create("orders", 4)
    _, second = two(stage)
    second.leave()
    stage.reload()
    with_ends = dict(stage.body.members), dict(stage.body.target), stage.body.epoch
    stage.reload(keeps_ends=False)
    assert (dict(stage.body.members), dict(stage.body.target), stage.body.epoch) == with_ends


def test_an_end_that_comes_for_a_group_that_is_not_there_is_no_harm() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    stage.beat("m1", -1)
    stage.run(protocols.delete)
    stage.reload()
    assert isinstance(stage.group.body, Classic)
    assert stage.group.is_forgotten
