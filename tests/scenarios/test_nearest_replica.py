"""Consumers that say where they stand are served by the replica that stands there (KIP-392)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from tests.cluster_process import Cluster, Member
from tests.group_process import WAIT_S
from tests.group_stage import wait_until

from penstock.errors import ErrorCode

FOLLOWERS_SINCE = 11
"""The version of Fetch that a follower answers."""


@pytest.fixture
def racks(own_cluster: Callable[..., Cluster], topic: str) -> Cluster:
    """Three brokers, each in a rack of its own, and a topic with a replica on each."""
    cluster = own_cluster()
    for number in (1, 2, 3):
        cluster.add("--set", f"broker.rack=rack-{number}").start()
    cluster.wait_known()
    cluster.create(topic, replica_lag_time_max_ms="1000")
    return cluster


class Reader:
    """A consumer in a rack, which notes what it gets and from whom."""

    def __init__(self, cluster: Cluster, topic: str, rack: str) -> None:
        self._topic = topic
        self.found: list[bytes | None] = []
        self.broker = -1
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": cluster.address,
                "group.id": "near",
                "client.rack": rack,
                "auto.offset.reset": "earliest",
                "reconnect.backoff.max.ms": 200,
                "statistics.interval.ms": 50,
                "stats_cb": self._note,
                "log_level": 0,
            }
        )
        self._consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])

    def _note(self, text: str) -> None:
        topics: dict[str, Any] = json.loads(text)["topics"]
        if self._topic in topics:
            self.broker = topics[self._topic]["partitions"]["0"]["broker"]

    def reads(self, count: int, member: Member) -> bool:
        """Whether there are so many by now, and the last came from this broker."""
        message = self._consumer.poll(0.1)
        if message is not None and message.error() is None:
            self.found.append(message.value())
        return len(self.found) >= count and self.broker == member.node_id

    def close(self) -> None:
        self._consumer.close()


def write(cluster: Cluster, topic: str, *values: bytes) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.address, "log_level": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(WAIT_S) == 0


def test_a_consumer_reads_from_the_replica_in_its_rack_and_elsewhere_while_that_is_down(
    racks: Cluster, topic: str
) -> None:
    leader = racks.leader(topic)
    near = racks.others(leader)[0]
    values = [b"%d" % number for number in range(80)]
    write(racks, topic, *values[:20])
    reader = Reader(racks, topic, f"rack-{near.node_id}")
    wait_until(lambda: reader.reads(20, near), "it reads nearby")
    write(racks, topic, *values[20:40])
    wait_until(lambda: reader.reads(40, near), "it goes on there")
    near.kill()
    write(racks, topic, *values[40:60])
    wait_until(lambda: reader.reads(60, leader), "it reads from the leader")
    near.start()
    racks.wait_in_sync(topic, 3)
    write(racks, topic, *values[60:])
    wait_until(lambda: reader.reads(80, near), "it reads nearby again")
    assert reader.found == values
    reader.close()


def test_a_replica_that_has_not_got_as_far_says_so_until_it_has(racks: Cluster, topic: str) -> None:
    """Past its high watermark a consumer may have read what the leader had; so it waits here."""
    near = racks.others(racks.leader(topic))[0]
    write(racks, topic, b"0", b"1")
    with near.connect() as client:
        racks.wait(lambda: client.fetch(topic, 1, FOLLOWERS_SINCE).records, "it knows of both")
        racks.isolate(near)
        write(racks, topic, b"2", b"3")
        assert client.fetch(topic, 1, FOLLOWERS_SINCE).records
        ahead = client.fetch(topic, 3, FOLLOWERS_SINCE)
        assert ahead.error_code == ErrorCode.OFFSET_NOT_AVAILABLE
        racks.repair()
        racks.wait(lambda: client.fetch(topic, 3, FOLLOWERS_SINCE).records, "it has got as far")
