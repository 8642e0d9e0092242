"""Retention that waits for an archive, whoever leads, and whoever looks after its group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.broker_process import BrokerProcess
from tests.cluster_process import Cluster
from tests.group_stage import wait_until

from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.client.group_offsets import commit_offsets
from penstock.client.producer import Producer
from penstock.wire.archive_group import archive_group

QUICK = ("--set", "log.retention.check.interval.ms=50")
HELD = {"retention.hold.for.archive": "true", "retention.ms": "1", "segment.bytes": "1024"}
COUNT = 60


def fill(client: WireClient, topic: str, partitions: int = 1) -> None:
    """Records that were too old when they came, in several segments."""
    for number in range(COUNT * partitions):
        producer = Producer(client, topic)
        producer.send(b"x" * 100, partition=number % partitions, timestamp_ms=1_000_000 + number)
        producer.flush()


def starts(client: WireClient, topic: str, partitions: int = 1) -> dict[int, int]:
    return offsets.ends(client, topic, range(partitions), offsets.EARLIEST)


def test_what_is_not_archived_stays_until_it_is_or_until_there_is_too_much(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker(*QUICK).start()
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic, configs=HELD)
        fill(client, topic)
        waits = f"{topic}: retention waits for the archive (partitions: 1): {topic}-0 is kept from "
        wait_until(lambda: f"{waits}offset 0 on, and archived up to 0" in broker.log, waits)
        assert starts(client, topic) == {0: 0}
        commit_offsets(client, archive_group(topic), {(topic, 0): COUNT // 2})
        wait_until(lambda: starts(client, topic)[0] > COUNT // 4, "what is archived goes")
        assert starts(client, topic)[0] <= COUNT // 2
        offsets.delete_records(client, topic, {0: COUNT // 2 + 5})
        assert starts(client, topic) == {0: COUNT // 2 + 5}
        admin.alter_topic(client, topic, {"retention.hold.max.bytes": "0"})
        wait_until(lambda: starts(client, topic)[0] == COUNT, "the limit takes the rest")
        lost = f"{topic}: {COUNT // 2 - 5} offsets went before they were archived (partitions: 1)"
        wait_until(lambda: lost in broker.log, lost)
        assert broker.log.count(waits) == 1


def test_another_leader_waits_too_and_asks_whoever_looks_after_the_archives_group(
    own_cluster: Callable[..., Cluster], topic: str
) -> None:
    cluster = own_cluster(options=QUICK).start(3)
    settings: dict[str, Any] = {name.replace(".", "_"): text for name, text in HELD.items()}
    cluster.create(topic, 3, **settings)
    with WireClient(cluster.address) as client:
        fill(client, topic, 3)
        for member in cluster.members.values():
            wait_until(lambda: f"{topic}: retention waits" in member.log, "all wait")  # noqa: B023
        cluster.leader(topic, 0).kill()
        cluster.leader(topic, 0)
        client.forget()
        assert starts(client, topic, 3) == {0: 0, 1: 0, 2: 0}
        marks = {(topic, index): COUNT for index in range(3)}
        commit_offsets(client, archive_group(topic), marks)
        goes = "all goes, as all is archived"
        wait_until(lambda: starts(client, topic, 3) == dict.fromkeys(range(3), COUNT), goes)
