"""What tools are told of a group of KIP-848."""

from __future__ import annotations

from tests.coordination.group.consumer.classic_clients import ClassicClient
from tests.coordination.group.consumer.stage import HOST, Stage

from penstock.coordination.group.consumer.describing import describe, described_members
from penstock.coordination.group.consumer.phases import (
    GROUP_MOVES,
    MEMBER_MOVES,
    GroupState,
    MemberState,
)
from penstock.wire.messages.k69_consumer_group_describe import DescribedGroup, TopicPartitions


def described(stage: Stage) -> DescribedGroup:
    told = describe(stage.config, stage.group, stage.body)
    told.members = list(described_members(stage.image, stage.body))
    return told


def test_a_group_is_described_with_what_members_have_and_are_to_have() -> None:
    stage = Stage()
    topic = stage.create("orders", 2)
    stage.join("m1", "orders", instance_id="i1", rack_id="r1", server_assignor="range")
    stage.pass_ms(100)
    stage.join("m2", "orders")
    told = described(stage)
    assert (told.group_state, told.group_epoch, told.assignment_epoch) == ("Reconciling", 2, 2)
    assert told.assignor_name == "range"
    first, second = told.members
    assert (first.member_id, first.instance_id, first.rack_id) == ("m1", "i1", "r1")
    assert (first.client_id, first.client_host, first.member_type) == ("client", HOST, 1)
    assert first.assignment.topic_partitions == [TopicPartitions(topic, "orders", [0, 1])]
    assert first.target_assignment.topic_partitions == [TopicPartitions(topic, "orders", [0])]
    assert (second.member_epoch, second.assignment.topic_partitions) == (2, [])
    assert second.target_assignment.topic_partitions == [TopicPartitions(topic, "orders", [1])]


def test_members_are_described_as_they_are_at_one_moment() -> None:
    """However long it takes, and whatever happens to the group meanwhile."""
    stage = Stage()
    stage.create("orders", 2)
    stage.join("m1", "orders")
    stage.pass_ms(100)
    stage.join("m2", "orders")
    at_once = list(described_members(stage.image, stage.body))
    slowly = described_members(stage.image, stage.body)
    first = next(slowly)
    stage.beat("m1", -1)
    stage.beat("m2", -1)
    stage.join("m3", "orders")
    assert [first, *slowly] == at_once
    assert [each.member_id for each in described(stage).members] == ["m3"]


def test_classic_members_are_told_apart() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    ClassicClient(stage, "orders").join()
    assert [member.member_type for member in described(stage).members] == [1, 0]


def test_topics_that_are_gone_are_left_out() -> None:
    stage = Stage()
    stage.create("orders", 2)
    stage.join("m1", "orders")
    stage.delete("orders")
    assert described(stage).members[0].assignment.topic_partitions == []


def test_every_state_leads_somewhere() -> None:
    assert MEMBER_MOVES.keys() == set(MemberState)
    assert GROUP_MOVES.keys() == set(GroupState)
