"""The offsets topic is the brokers' own: clients may read it and see it, and that is all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.api.desk import NOW_MS, Desk
from tests.api.grouping import Room
from tests.raw_client import a_batch, frame_of

from penstock.api.handlers.k00_produce_single import produce_single
from penstock.errors import ErrorCode
from penstock.metadata.config_values import Operation
from penstock.metadata.internal_topics import OFFSETS
from penstock.wire.messages import k33_alter_configs as alter
from penstock.wire.messages import k44_incremental_alter_configs as incremental
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from penstock.wire.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from penstock.wire.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.wire.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from penstock.wire.messages.k75_describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)

TOPIC = 2


def produce(topic: str) -> ProduceRequest:
    part = PartitionProduceData(0, memoryview(bytearray(a_batch(b"value"))))
    return ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[TopicProduceData(topic, partition_data=[part])]
    )


def test_nobody_produces_to_it(room: Room) -> None:
    (topic,) = room.desk.ask(produce(OFFSETS), 12).responses
    assert topic.partition_responses[0].error_code == ErrorCode.INVALID_TOPIC
    assert room.desk.broker.leader(OFFSETS, 0).log.end_offset == 0
    (topic,) = room.desk.ask(produce("orders"), 12).responses
    assert topic.partition_responses[0].error_code == ErrorCode.NONE


def test_nobody_produces_to_it_the_short_way(room: Room) -> None:
    room.desk.broker.leader("orders", 0)
    for topic, is_short in (("orders", True), (OFFSETS, False)):
        frame = memoryview(bytearray(frame_of(produce(topic), 9)))[4:]
        assert (produce_single(room.desk.broker, frame, NOW_MS) is not None) == is_short
    assert room.desk.broker.leader(OFFSETS, 0).log.end_offset == 0


def test_nobody_creates_it(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    (result,) = desk.ask(CreateTopicsRequest([CreatableTopic(OFFSETS, 1, 1)])).topics
    assert result.error_code == ErrorCode.INVALID_TOPIC
    desk.ask(MetadataRequest([MetadataRequestTopic(name=OFFSETS)]))
    assert desk.image.topic(OFFSETS) is None


def test_nobody_deletes_it(room: Room) -> None:
    topic_id = room.desk.image.topics[OFFSETS].id
    for state in (DeleteTopicState(OFFSETS), DeleteTopicState(None, topic_id)):
        (result,) = room.desk.ask(DeleteTopicsRequest([state])).responses
        assert result.error_code == ErrorCode.INVALID_TOPIC
    assert room.desk.image.topic(OFFSETS) is not None


def test_nobody_adds_to_its_partitions(room: Room) -> None:
    """A group would be looked for in another one."""
    request = CreatePartitionsRequest([CreatePartitionsTopic(OFFSETS, 9)])
    (result,) = room.desk.ask(request).results
    assert result.error_code == ErrorCode.INVALID_TOPIC
    assert room.desk.image.topics[OFFSETS].record.partitions == 3


def test_nobody_deletes_records_of_it(room: Room) -> None:
    parts = [DeleteRecordsPartition(0, 0)]
    request = DeleteRecordsRequest([DeleteRecordsTopic(OFFSETS, parts)])
    (topic,) = room.desk.ask(request).topics
    assert topic.partitions[0].error_code == ErrorCode.INVALID_TOPIC


@pytest.mark.parametrize(("name", "is_internal"), [(OFFSETS, True), ("orders", False)])
def test_everyone_is_told_that_it_is_internal(room: Room, name: str, is_internal: bool) -> None:
    (topic,) = room.desk.ask(MetadataRequest([MetadataRequestTopic(name=name)])).topics
    assert topic.is_internal is is_internal
    (described,) = room.desk.ask(DescribeTopicPartitionsRequest([TopicRequest(name)])).topics
    assert described.is_internal is is_internal


def test_it_is_compacted(room: Room) -> None:
    config = room.desk.broker.leader(OFFSETS, 0).log.config
    assert config.compacts
    assert not config.deletes


ONLY_COMPACTED = {"cleanup.policy": "compact"}


def replaced(room: Room, configs: dict[str, str]) -> tuple[int, str]:
    given = [alter.AlterableConfig(*each) for each in configs.items()]
    resource = alter.AlterConfigsResource(TOPIC, OFFSETS, given)
    (result,) = room.desk.ask(alter.AlterConfigsRequest([resource])).responses
    return result.error_code, result.error_message or ""


def changed(room: Room, name: str, operation: int, value: str | None) -> tuple[int, str]:
    given = [incremental.AlterableConfig(name, operation, value)]
    resource = incremental.AlterConfigsResource(TOPIC, OFFSETS, given)
    (result,) = room.desk.ask(incremental.IncrementalAlterConfigsRequest([resource])).responses
    return result.error_code, result.error_message or ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "delete"),
        ("cleanup.policy", "compact,delete"),
        ("flush.on.acks.all", "false"),
        ("max.message.bytes", "1048575"),
        ("min.insync.replicas", "2"),
    ],
)
def test_nobody_takes_from_it_what_groups_rely_on(room: Room, name: str, value: str) -> None:
    before = room.desk.image.topics[OFFSETS].record.configs
    for code, message in (
        changed(room, name, Operation.SET, value),
        replaced(room, {**ONLY_COMPACTED, name: value}),
    ):
        assert code == ErrorCode.INVALID_CONFIG
        assert name in message
    assert room.desk.image.topics[OFFSETS].record.configs == before


def test_it_stays_compacted_when_settings_are_taken_back(room: Room) -> None:
    for code, _ in (
        changed(room, "cleanup.policy", Operation.DELETE, None),
        changed(room, "cleanup.policy", Operation.APPEND, "delete"),
        replaced(room, {"retention.ms": "1"}),
    ):
        assert code == ErrorCode.INVALID_CONFIG
    assert room.desk.image.settings.of_topic(room.desk.image.topics[OFFSETS]).compacts


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("compression.type", "gzip"),
        ("segment.bytes", "2000000"),
        ("retention.ms", "1"),
        ("max.message.bytes", "1048576"),
        ("min.insync.replicas", "1"),
        ("flush.on.acks.all", "true"),
    ],
)
def test_its_other_settings_may_be_changed(room: Room, name: str, value: str) -> None:
    assert changed(room, name, Operation.SET, value)[0] == 0
    assert replaced(room, {**ONLY_COMPACTED, name: value})[0] == 0
    assert room.desk.image.topics[OFFSETS].record.configs == {**ONLY_COMPACTED, name: value}


def test_an_operator_who_does_not_flush_may_still_change_it(
    make_desk: Callable[..., Desk],
) -> None:
    room = Room(make_desk({"log.flush.on.acks.all": "false"}))
    assert changed(room, "segment.bytes", Operation.SET, "2000000")[0] == 0


def test_other_topics_may_be_set_as_one_likes(room: Room) -> None:
    request = incremental.IncrementalAlterConfigsRequest(
        [
            incremental.AlterConfigsResource(
                TOPIC, "orders", [incremental.AlterableConfig("max.message.bytes", 0, "10")]
            )
        ]
    )
    assert room.desk.ask(request).responses[0].error_code == 0
