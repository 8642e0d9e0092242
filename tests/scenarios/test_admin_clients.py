"""What operators do with topics and settings, through the admin clients that they use."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import confluent_kafka.admin
import pytest
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.admin import NewPartitions as AioNewPartitions
from aiokafka.admin import NewTopic as AioNewTopic
from aiokafka.admin.config_resource import ConfigResource as AioConfigResource
from aiokafka.admin.config_resource import ConfigResourceType as AioConfigResourceType
from tests.broker_process import BrokerProcess

with warnings.catch_warnings():  # it reads its schemas by a call that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.admin
    import kafka.errors

WAIT_S = 30
rdkafka: Any = confluent_kafka.admin
"""Its types are not all there."""

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*_text is deprecated:DeprecationWarning",  # kafka-python's schemas, as above
)


def fill(broker: BrokerProcess, topic: str, count: int) -> None:
    """So many records in partition 0."""
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.address})
    for number in range(count):
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(WAIT_S) == 0


# confluent-kafka


@pytest.fixture
def librdkafka(broker: BrokerProcess) -> Any:
    return rdkafka.AdminClient({"bootstrap.servers": broker.address})


def done(futures: Mapping[Any, Any]) -> Any:
    """The result of the one thing that was asked for."""
    (future,) = futures.values()
    return future.result(WAIT_S)


def config(admin: Any, topic: str) -> dict[str, str]:
    entries = done(admin.describe_configs([rdkafka.ConfigResource("topic", topic)]))
    return {name: entry.value for name, entry in entries.items()}


def test_confluent_kafka_creates_describes_and_deletes_a_topic(librdkafka: Any, topic: str) -> None:
    done(librdkafka.create_topics([rdkafka.NewTopic(topic, 3, config={"retention.ms": "1000"})]))
    wanted = confluent_kafka.TopicCollection([topic])
    described = done(librdkafka.describe_topics(wanted))
    assert [(each.id, each.leader.id) for each in described.partitions] == [(0, 1), (1, 1), (2, 1)]
    assert config(librdkafka, topic)["retention.ms"] == "1000"
    done(librdkafka.delete_topics([topic]))
    with pytest.raises(confluent_kafka.KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        done(librdkafka.describe_topics(wanted))


def test_confluent_kafka_is_told_what_is_wrong_with_a_topic(librdkafka: Any, topic: str) -> None:
    done(librdkafka.create_topics([rdkafka.NewTopic(topic)]))
    with pytest.raises(confluent_kafka.KafkaException, match="already exists"):
        done(librdkafka.create_topics([rdkafka.NewTopic(topic)]))
    with pytest.raises(confluent_kafka.KafkaException, match=r"did you mean retention\.ms"):
        done(
            librdkafka.create_topics([rdkafka.NewTopic(topic + "x", config={"retention.mz": "1"})])
        )


def test_confluent_kafka_adds_partitions(librdkafka: Any, topic: str) -> None:
    done(librdkafka.create_topics([rdkafka.NewTopic(topic, 1)]))
    done(librdkafka.create_partitions([rdkafka.NewPartitions(topic, 4)]))
    described = done(librdkafka.describe_topics(confluent_kafka.TopicCollection([topic])))
    assert len(described.partitions) == 4


def test_confluent_kafka_changes_single_settings(librdkafka: Any, topic: str) -> None:
    done(librdkafka.create_topics([rdkafka.NewTopic(topic, config={"retention.ms": "1000"})]))
    changes = [
        rdkafka.ConfigEntry(
            "segment.ms", "500", incremental_operation=rdkafka.AlterConfigOpType.SET
        ),
        rdkafka.ConfigEntry(
            "cleanup.policy", "compact", incremental_operation=rdkafka.AlterConfigOpType.APPEND
        ),
        rdkafka.ConfigEntry(
            "retention.ms", None, incremental_operation=rdkafka.AlterConfigOpType.DELETE
        ),
    ]
    resource = rdkafka.ConfigResource("topic", topic, incremental_configs=changes)
    done(librdkafka.incremental_alter_configs([resource]))
    now = config(librdkafka, topic)
    assert (now["segment.ms"], now["cleanup.policy"]) == ("500", "delete,compact")
    assert now["retention.ms"] == "1209600000"


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated:DeprecationWarning")
def test_confluent_kafka_replaces_all_settings(librdkafka: Any, topic: str) -> None:
    done(librdkafka.create_topics([rdkafka.NewTopic(topic, config={"retention.ms": "1000"})]))
    resource = rdkafka.ConfigResource("topic", topic, set_config={"segment.ms": "500"})
    done(librdkafka.alter_configs([resource]))
    now = config(librdkafka, topic)
    assert (now["segment.ms"], now["retention.ms"]) == ("500", "1209600000")


def test_confluent_kafka_describes_the_broker(librdkafka: Any) -> None:
    cluster = librdkafka.describe_cluster().result(WAIT_S)
    assert [node.id for node in cluster.nodes] == [1]
    entries = done(librdkafka.describe_configs([rdkafka.ConfigResource("broker", "1")]))
    assert entries["node.id"].value == "1"
    assert entries["node.id"].is_read_only


def test_confluent_kafka_deletes_records(
    broker: BrokerProcess, librdkafka: Any, topic: str
) -> None:
    done(librdkafka.create_topics([rdkafka.NewTopic(topic)]))
    fill(broker, topic, 10)
    deleted = done(librdkafka.delete_records([confluent_kafka.TopicPartition(topic, 0, 4)]))
    assert deleted.low_watermark == 4
    place = confluent_kafka.TopicPartition(topic, 0)
    assert done(librdkafka.list_offsets({place: rdkafka.OffsetSpec.earliest()})).offset == 4
    assert done(librdkafka.list_offsets({place: rdkafka.OffsetSpec.latest()})).offset == 10


# kafka-python


@pytest.fixture
def kafka_python(broker: BrokerProcess) -> Iterator[Any]:
    admin = kafka.admin.KafkaAdminClient(bootstrap_servers=broker.address)
    yield admin
    admin.close()


def test_kafka_python_creates_widens_describes_and_deletes_a_topic(
    kafka_python: Any, topic: str
) -> None:
    kafka_python.create_topics([kafka.admin.NewTopic(topic, 2, 1)])
    with pytest.raises(kafka.errors.TopicAlreadyExistsError):
        kafka_python.create_topics([kafka.admin.NewTopic(topic, 2, 1)])
    kafka_python.create_partitions({topic: kafka.admin.NewPartitions(3)})
    (by_metadata,) = kafka_python.describe_topics([topic])
    (by_cursor,) = kafka_python.describe_topic_partitions([topic])["topics"]
    for described in (by_metadata, by_cursor):
        assert [each["leader_id"] for each in described["partitions"]] == [1, 1, 1]
    kafka_python.delete_topics([topic])
    assert topic not in kafka_python.list_topics()


def test_kafka_python_alters_and_resets_settings(kafka_python: Any, topic: str) -> None:
    kind = kafka.admin.ConfigResourceType.TOPIC

    def modified() -> dict[str, str]:
        found = kafka_python.describe_configs([kafka.admin.ConfigResource(kind, topic)])
        return {name: entry["value"] for name, entry in found["topic"][topic].items()}

    kafka_python.create_topics([kafka.admin.NewTopic(topic, 1, 1)])
    kafka_python.alter_configs([kafka.admin.ConfigResource(kind, topic, {"segment.ms": "500"})])
    assert modified() == {"segment.ms": "500"}
    kafka_python.reset_configs([kafka.admin.ConfigResource(kind, topic, ["segment.ms"])])
    assert modified() == {}


def test_kafka_python_deletes_records_and_measures_what_is_left(
    broker: BrokerProcess, kafka_python: Any, topic: str
) -> None:
    kafka_python.create_topics([kafka.admin.NewTopic(topic, 1, 1)])
    fill(broker, topic, 10)
    place = kafka.TopicPartition(topic, 0)
    assert kafka_python.delete_records({place: 4})[place]["low_watermark"] == 4
    (producers,) = kafka_python.describe_producers([place]).values()
    assert producers.active_producers == [], "it was not idempotent"
    (described,) = kafka_python.describe_log_dirs({topic: [0]})
    (log_dir,) = described["log_dirs"]
    assert log_dir["log_dir"] == str(broker.data_dir)
    (found,) = [each for each in log_dir["topics"] if each["name"] == topic]
    assert found["partitions"][0]["partition_size"] > 0


def test_kafka_python_describes_the_cluster_and_its_features(kafka_python: Any) -> None:
    cluster = kafka_python.describe_cluster()
    assert (cluster["controller_id"], len(cluster["brokers"])) == (1, 1)
    assert kafka_python.describe_features()["penstock.version"]["finalized"] == (1, 1)


# aiokafka


@pytest.fixture
async def aiokafka_admin(broker: BrokerProcess) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.address)
    await admin.start()
    yield admin
    await admin.close()


async def test_aiokafka_creates_widens_describes_and_deletes_a_topic(
    aiokafka_admin: AIOKafkaAdminClient, topic: str
) -> None:
    created = await aiokafka_admin.create_topics([AioNewTopic(topic, 2, 1)])
    assert [error[1] for error in created.topic_errors] == [0]
    await aiokafka_admin.create_partitions({topic: AioNewPartitions(3)})
    (described,) = await aiokafka_admin.describe_topics([topic])
    assert [each["leader"] for each in described["partitions"]] == [1, 1, 1]
    await aiokafka_admin.delete_topics([topic])
    assert topic not in await aiokafka_admin.list_topics()


async def test_aiokafka_alters_settings(aiokafka_admin: AIOKafkaAdminClient, topic: str) -> None:
    def resource(**configs: Any) -> AioConfigResource:
        named = {name.replace("_", "."): value for name, value in configs.items()}
        return AioConfigResource(AioConfigResourceType.TOPIC, topic, configs=named)

    await aiokafka_admin.create_topics([AioNewTopic(topic, 1, 1)])
    await aiokafka_admin.alter_configs([resource(segment_ms="500")])
    (answer,) = await aiokafka_admin.describe_configs([resource(segment_ms=None)])
    (described,) = answer.resources
    assert [entry[:2] for entry in described[4]] == [("segment.ms", "500")]


async def test_aiokafka_deletes_records_and_finds_its_way_around(
    broker: BrokerProcess, aiokafka_admin: AIOKafkaAdminClient, topic: str
) -> None:
    await aiokafka_admin.create_topics([AioNewTopic(topic, 1, 1)])
    fill(broker, topic, 10)
    place = AioTopicPartition(topic, 0)
    deleted = await aiokafka_admin.delete_records({place: RecordsToDelete(before_offset=4)})
    assert deleted == {place: 4}
    assert await aiokafka_admin.find_coordinator("group") == 1
    assert (await aiokafka_admin.describe_cluster())["controller_id"] == 1
