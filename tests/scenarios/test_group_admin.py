"""What operators do with groups, through the admin clients that they use."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka
import pytest
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaException,
    TopicPartition,
)
from tests.broker_process import BrokerProcess
from tests.group_stage import administer, rdkafka
from tests.scenarios.test_confluent import create, send

with warnings.catch_warnings():  # it reads its schemas by a call that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.admin
    import kafka.errors
    from kafka import OffsetAndMetadata

WAIT_S = 30
CLASSIC = {"partition.assignment.strategy": "range"}
CONSUMER = {"group.protocol": "consumer"}

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*_text is deprecated:DeprecationWarning",  # kafka-python's schemas, as above
)
protocols = pytest.mark.parametrize("options", [CLASSIC, CONSUMER], ids=["classic", "consumer"])


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"


@contextmanager
def member(
    broker: BrokerProcess, group: str, topic: str, options: dict[str, Any] = CLASSIC
) -> Iterator[Any]:
    """A consumer that has read and committed the three messages of its topic."""
    create(broker, topic)
    send(broker, topic, [b"a", b"b", b"c"])
    consumer: Any = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "client.id": "reader",
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **options,
        }
    )
    consumer.subscribe([topic])
    for _ in range(3):
        message = consumer.poll(WAIT_S)
        assert message is not None
        assert message.error() is None
    consumer.commit(asynchronous=False)
    try:
        yield consumer
    finally:
        consumer.close()


# confluent-kafka


def listed(broker: BrokerProcess, group: str, **filters: Any) -> list[Any]:
    client = rdkafka.AdminClient({"bootstrap.servers": broker.address})
    result = client.list_consumer_groups(**filters).result(WAIT_S)
    assert result.errors == []
    return [each for each in result.valid if each.group_id == group]


def offsets(broker: BrokerProcess, group: str, *places: TopicPartition) -> list[tuple[Any, ...]]:
    wanted = ConsumerGroupTopicPartitions(group, list(places) or None)
    found = administer(broker.address, lambda admin: admin.list_consumer_group_offsets([wanted]))
    return [(each.topic, each.partition, each.offset) for each in found.topic_partitions]


def alter(broker: BrokerProcess, group: str, *places: TopicPartition) -> list[Any]:
    """The name of each one's error, if there was one."""
    wanted = ConsumerGroupTopicPartitions(group, list(places))
    done = administer(broker.address, lambda admin: admin.alter_consumer_group_offsets([wanted]))
    return [each.error and each.error.name() for each in done.topic_partitions]


@protocols
def test_confluent_kafka_lists_groups_by_state_and_type(
    broker: BrokerProcess, topic: str, group: str, options: dict[str, Any]
) -> None:
    kind = ConsumerGroupType.CONSUMER if options is CONSUMER else ConsumerGroupType.CLASSIC
    other = ConsumerGroupType.CLASSIC if options is CONSUMER else ConsumerGroupType.CONSUMER
    with member(broker, group, topic, options):
        (found,) = listed(broker, group)
        assert (found.state, found.type) == (ConsumerGroupState.STABLE, kind)
        assert listed(broker, group, states={ConsumerGroupState.STABLE}, types={kind})
        assert not listed(broker, group, states={ConsumerGroupState.EMPTY})
        assert not listed(broker, group, types={other})
    (found,) = listed(broker, group, states={ConsumerGroupState.EMPTY})
    assert found.group_id == group


@protocols
def test_confluent_kafka_describes_a_group_and_its_members(
    broker: BrokerProcess, topic: str, group: str, options: dict[str, Any]
) -> None:
    with member(broker, group, topic, options):
        found = administer(broker.address, lambda admin: admin.describe_consumer_groups([group]))
        assert found.state == ConsumerGroupState.STABLE
        assert found.partition_assignor == ("uniform" if options is CONSUMER else "range")
        assert found.coordinator.id == 1
        (only,) = found.members
        assert (only.client_id, only.host) == ("reader", "/127.0.0.1")
        (place,) = only.assignment.topic_partitions
        assert (place.topic, place.partition) == (topic, 0)
    found = administer(broker.address, lambda admin: admin.describe_consumer_groups([group]))
    assert (found.state, found.members) == (ConsumerGroupState.EMPTY, [])


@protocols
def test_confluent_kafka_deletes_only_a_group_that_is_empty(
    broker: BrokerProcess, topic: str, group: str, options: dict[str, Any]
) -> None:
    with (
        member(broker, group, topic, options),
        pytest.raises(KafkaException, match="NON_EMPTY_GROUP"),
    ):
        administer(broker.address, lambda admin: admin.delete_consumer_groups([group]))
    administer(broker.address, lambda admin: admin.delete_consumer_groups([group]))
    assert listed(broker, group) == []
    with pytest.raises(KafkaException, match="GROUP_ID_NOT_FOUND"):
        administer(broker.address, lambda admin: admin.delete_consumer_groups([group]))


@protocols
def test_confluent_kafka_moves_a_group_only_while_it_is_empty(
    broker: BrokerProcess, topic: str, group: str, options: dict[str, Any]
) -> None:
    with member(broker, group, topic, options):
        assert offsets(broker, group) == [(topic, 0, 3)]
        assert alter(broker, group, TopicPartition(topic, 0, 1)) == ["UNKNOWN_MEMBER_ID"]
        assert offsets(broker, group) == [(topic, 0, 3)]
    assert alter(broker, group, TopicPartition(topic, 0, 1)) == [None]
    assert offsets(broker, group, TopicPartition(topic, 0)) == [(topic, 0, 1)]


def test_confluent_kafka_sets_what_holds_for_one_group(broker: BrokerProcess, group: str) -> None:
    kind = rdkafka.ResourceType.GROUP
    wanted = rdkafka.ConfigEntry(
        "consumer.session.timeout.ms",
        "50000",
        incremental_operation=rdkafka.AlterConfigOpType.SET,
    )
    change = rdkafka.ConfigResource(kind, group, incremental_configs=[wanted])
    administer(broker.address, lambda admin: admin.incremental_alter_configs([change]))
    asked = rdkafka.ConfigResource(kind, group)
    found = administer(broker.address, lambda admin: admin.describe_configs([asked]))
    assert found["consumer.session.timeout.ms"].value == "50000"
    assert found["consumer.session.timeout.ms"].source == rdkafka.CONFIG_SOURCE_GROUP_CONFIG
    wrong = rdkafka.ConfigEntry(
        "consumer.session.timeout.ms", "1", incremental_operation=rdkafka.AlterConfigOpType.SET
    )
    change = rdkafka.ConfigResource(kind, group, incremental_configs=[wrong])
    with pytest.raises(KafkaException, match="INVALID_CONFIG"):
        administer(broker.address, lambda admin: admin.incremental_alter_configs([change]))


# kafka-python


@pytest.fixture
def kafka_python(broker: BrokerProcess) -> Iterator[Any]:
    admin = kafka.admin.KafkaAdminClient(bootstrap_servers=broker.address)
    yield admin
    admin.close()


def test_kafka_python_lists_and_describes_groups(
    kafka_python: Any, broker: BrokerProcess, topic: str, group: str
) -> None:
    with member(broker, group, topic):
        (found,) = [each for each in kafka_python.list_groups() if each["group_id"] == group]
        assert (found["protocol_type"], found["group_state"]) == ("consumer", "Stable")
        described = kafka_python.describe_groups([group])[group]
        (only,) = described["members"]
        assert only["client_id"] == "reader"
        (assigned,) = only["member_assignment"]["assigned_partitions"]
        assert (assigned["topic"], list(assigned["partitions"])) == (topic, [0])


def test_kafka_python_reads_moves_and_deletes_offsets(
    kafka_python: Any, broker: BrokerProcess, topic: str, group: str
) -> None:
    place = kafka.TopicPartition(topic, 0)
    with member(broker, group, topic):
        assert kafka_python.list_group_offsets([group])[group][place].offset == 3
    kafka_python.alter_group_offsets(group, {place: OffsetAndMetadata(1, "back", -1)})
    found = kafka_python.list_group_offsets({group: [place]})[group][place]
    assert (found.offset, found.metadata) == (1, "back")
    kafka_python.reset_group_offsets(group, {place: kafka.admin.OffsetSpec.LATEST})
    assert kafka_python.list_group_offsets([group])[group][place].offset == 3
    assert kafka_python.delete_group_offsets(group, [place]) == {place: kafka.errors.NoError}
    assert kafka_python.list_group_offsets([group])[group] == {}


def test_kafka_python_deletes_only_a_group_that_is_empty(
    kafka_python: Any, broker: BrokerProcess, topic: str, group: str
) -> None:
    with member(broker, group, topic):
        assert kafka_python.delete_groups([group]) == {group: "NonEmptyGroupError"}
    assert kafka_python.delete_groups([group]) == {group: "OK"}
    assert [each for each in kafka_python.list_groups() if each["group_id"] == group] == []


def test_kafka_python_removes_a_member(
    kafka_python: Any, broker: BrokerProcess, topic: str, group: str
) -> None:
    with member(broker, group, topic):
        (only,) = kafka_python.describe_groups([group])[group]["members"]
        removed = kafka.admin.MemberToRemove(member_id=only["member_id"])
        assert list(kafka_python.remove_group_members(group, [removed]).values()) == [
            kafka.errors.NoError
        ]
        left = kafka_python.describe_groups([group])[group]["members"]
        assert only["member_id"] not in [each["member_id"] for each in left]


# aiokafka


async def test_aiokafka_lists_and_describes_groups_and_reads_offsets(
    broker: BrokerProcess, topic: str, group: str
) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.address)
    await admin.start()
    try:
        with member(broker, group, topic):
            assert (group, "consumer") in await admin.list_consumer_groups()
            (described,) = await admin.describe_consumer_groups([group])
            assert described.groups[0][1:4] == (group, "Stable", "consumer")
        found = await admin.list_consumer_group_offsets(group)
        assert found[AioTopicPartition(topic, 0)].offset == 3
    finally:
        await admin.close()
