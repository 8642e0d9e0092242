"""Corners where other systems have lost data, at the level of processes; one test each.

The numbers are those of the list of what a broker must survive. What depends on timing is forced in
the simulator as well.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from tests.cluster_faults import check
from tests.cluster_process import Cluster, Member
from tests.cluster_traffic import Traffic
from tests.group_stage import wait_until
from tests.raw_client import RawClient, a_batch

from penstock.errors import ErrorCode
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from penstock.wire.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

MakeCluster = Callable[..., Cluster]
MakeTraffic = Callable[..., Traffic]
LATEST = -1


def log_of(member: Member, topic: str, index: int = 0) -> bytes:
    """All bytes of a partition."""
    paths = sorted((member.data_dir / f"{topic}-{index}").glob("*.log"))
    return b"".join(path.read_bytes() for path in paths)


def wait_equal(cluster: Cluster, topic: str) -> None:
    """All replicas have the same bytes, once nothing is sent any more."""
    cluster.wait_in_sync(topic, len(cluster.members))
    cluster.wait(
        lambda: len({log_of(each, topic) for each in cluster.members.values()}) == 1,
        "all replicas are the same",
    )


def test_corner_1_a_follower_with_a_stale_high_watermark_keeps_what_is_committed(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    leader = cluster.leader(topic)
    for follower in cluster.others(leader):
        follower.kill()
        (follower.data_dir / "replication-offset-checkpoint").unlink(missing_ok=True)
    leader.kill()
    for follower in cluster.others(leader):
        follower.start()
    sending.go_on()
    leader.start()
    check(cluster, sending, 1)
    wait_equal(cluster, topic)


def test_corner_2_after_two_quick_failovers_all_replicas_have_one_history(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic, min_insync_replicas="1")
    sending = traffic(cluster, topic)
    sending.go_on()
    first = cluster.leader(topic)
    first.kill()
    sending.go_on(1)
    second = cluster.leader(topic)
    second.kill()
    sending.go_on(1)
    assert len({first, second, cluster.leader(topic)}) == 3
    first.start()
    second.start()
    sending.go_on()
    check(cluster, sending, 1)
    wait_equal(cluster, topic)
    partition = cluster.partition(topic)
    assert partition is not None
    assert partition.leader_epoch >= 2


def test_corner_3_who_knows_an_older_leader_is_fenced(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    before = cluster.partition(topic)
    assert before is not None
    assert cluster.leader(topic).stop() == 0
    sending.go_on()
    now = cluster.partition(topic)
    assert now is not None
    with cluster.leader(topic).connect() as client:
        for epoch, expected in (
            (before.leader_epoch, ErrorCode.FENCED_LEADER_EPOCH),
            (now.leader_epoch, ErrorCode.NONE),
            (now.leader_epoch + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ):
            assert client.fetch(topic, 0, leader_epoch=epoch).error_code == expected
            assert list_offsets_error(client, topic, epoch) == expected
    check(cluster, sending, 1)


def test_corner_3_a_consumer_notices_that_what_it_has_read_is_gone(
    cluster: Cluster, topic: str
) -> None:
    """An unclean election: records that only the dead leader had are replaced by others."""
    cluster.create(topic, 1, 2, min_insync_replicas="1", unclean_leader_election_enable="true")
    leader = cluster.leader(topic)
    partition = cluster.partition(topic)
    assert partition is not None
    (other,) = [cluster[each] for each in partition.replica_nodes if each != leader.node_id]
    send_to(leader, topic, b"both", 10)
    other.kill()
    cluster.wait(lambda: cluster.in_sync(topic) == {leader.node_id}, "the leader is alone")
    send_to(leader, topic, b"one", 10)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.address,
            "group.id": topic,
            "auto.offset.reset": "error",
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    assert values_from(consumer, 20) == [b"both"] * 10 + [b"one"] * 10
    leader.kill()
    other.start()
    cluster.wait(lambda: cluster.leader(topic) is other, "who lacks records leads")
    send_to(other, topic, b"other", 30)
    with pytest.raises(confluent_kafka.KafkaException, match="truncation detected at offset 20"):
        values_from(consumer, 1)
    consumer.close()
    leader.start()
    cluster.wait_in_sync(topic, 2)


def send_to(member: Member, topic: str, value: bytes, count: int) -> None:
    """Which may not know yet that it leads."""
    with member.connect() as client:
        for _ in range(count):
            wait_until(lambda: not client.produce(topic, a_batch(value)).error_code, "it is acked")


def values_from(consumer: Any, count: int) -> list[bytes]:
    """The next so many; raises what the consumer is told instead."""
    found: list[bytes] = []

    def read() -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is not None:
            raise confluent_kafka.KafkaException(message.error())
        if message is not None:
            found.append(message.value())
        return len(found) >= count

    wait_until(read, f"{count} messages")
    return found


def list_offsets_error(client: RawClient, topic: str, epoch: int) -> int:
    wanted = ListOffsetsPartition(0, epoch, LATEST)
    request = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(topic, [wanted])])
    code: int = client.ask(request, 5).topics[0].partitions[0].error_code
    return code


def test_corner_4_who_stopped_uncleanly_is_not_the_last_eligible_replica(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic, flush_on_acks_all="false")
    sending = traffic(cluster, topic)
    sending.go_on()
    sending.finish()
    last = cluster.leader(topic)
    first, second = cluster.others(last)
    first.kill()
    cluster.wait(lambda: first.node_id not in cluster.in_sync(topic), "the first is out of sync")
    second.kill()
    cluster.wait(lambda: cluster.in_sync(topic) == {last.node_id}, "the last one is alone")
    assert last.stop() == 0
    second.start()
    for _ in range(20):
        partition = cluster.partition(topic)
        assert partition is not None
        assert partition.leader_id not in (first.node_id, second.node_id)
    last.start()
    first.start()
    cluster.wait_in_sync(topic, 3)
    check(cluster, sending, 1)


def test_corner_4_who_has_all_that_is_committed_leads_again_after_a_crash(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    """What is synced before it counts survives a crash: such a replica stays eligible."""
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    sending.finish()
    last = cluster.leader(topic)
    first, second = cluster.others(last)
    first.kill()
    cluster.wait(lambda: first.node_id not in cluster.in_sync(topic), "the first is out of sync")
    second.kill()
    cluster.wait(lambda: cluster.in_sync(topic) == {last.node_id}, "the last one is alone")
    last.kill()
    second.start()
    cluster.wait(lambda: cluster.leader(topic) is second, "the eligible one leads")
    last.start()
    first.start()
    cluster.wait_in_sync(topic, 3)
    check(cluster, sending, 1)


class IdempotentClient:
    """Sends batches by hand, so that one can be sent again."""

    def __init__(self, member: Member, topic: str) -> None:
        self.topic = topic
        with member.connect() as client:
            answer: InitProducerIdResponse = client.ask(InitProducerIdRequest(None, 0), 4)
        assert answer.error_code == 0
        self._id = answer.producer_id

    def send(self, member: Member, number: int) -> tuple[int, int]:
        """Batch by number: the error and the offset that are answered."""
        batch = a_batch(
            b"?", b"?", producer_id=self._id, producer_epoch=0, base_sequence=2 * number
        )
        with member.connect() as client:
            answer = client.produce(self.topic, batch)
            while answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:  # not yet, as it knows
                answer = client.produce(self.topic, batch)
        return answer.error_code, answer.base_offset


@pytest.mark.parametrize("loses_snapshots", [False, True], ids=["whole", "without-snapshots"])
def test_corner_8_a_batch_sent_again_to_the_next_leader_gets_its_first_offset(
    cluster: Cluster, topic: str, loses_snapshots: bool
) -> None:
    cluster.create(topic)
    leader = cluster.leader(topic)
    sender = IdempotentClient(leader, topic)
    sent = [sender.send(leader, number) for number in range(6)]
    assert sent == [(0, 2 * number) for number in range(6)]
    if loses_snapshots:
        for other in cluster.others(leader):
            assert other.stop() == 0
            for path in (other.data_dir / f"{topic}-0").glob("*.snapshot"):
                path.unlink()
            other.start()
            cluster.wait_in_sync(topic, 3)
    leader.kill()
    cluster.wait(lambda: cluster.leader(topic) is not leader, "another one leads")
    after = cluster.leader(topic)
    assert [sender.send(after, number) for number in range(1, 6)] == sent[1:]
    assert sender.send(after, 6) == (0, 12)
    assert sender.send(after, 9)[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    leader.start()
    cluster.wait_in_sync(topic, 3)


def batches_in(path: Path) -> list[int]:
    """Where each begins."""
    data, at, found = memoryview(path.read_bytes()), 0, []
    while at < len(data):
        found.append(at)
        at += 12 + struct.unpack_from(">i", data, at + 8)[0]
    return found


def flip_a_bit(member: Member, topic: str) -> int:
    """In the first batch of a log; how many batches there are."""
    (path,) = (member.data_dir / f"{topic}-0").glob("*.log")
    starts = batches_in(path)
    with path.open("r+b") as file:
        file.seek(starts[0] + 61 + 4)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    return len(starts)


def test_corner_9_a_follower_fetches_again_what_its_disk_has_damaged(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    leader = cluster.leader(topic)
    hurt = cluster.others(leader)[0]
    hurt.kill()
    assert flip_a_bit(hurt, topic) > 1
    hurt.start()
    sending.go_on()
    cluster.wait_in_sync(topic, 3)
    check(cluster, sending, 1)
    wait_equal(cluster, topic)
    assert "damaged" in hurt.log


def test_corner_9_a_leader_with_a_damaged_log_gives_way_to_a_whole_one(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    hurt = cluster.leader(topic)
    hurt.kill()
    flip_a_bit(hurt, topic)
    hurt.start()
    sending.go_on()
    cluster.wait_in_sync(topic, 3)
    check(cluster, sending, 1)
    wait_equal(cluster, topic)


def test_corner_9_a_tail_that_a_crash_has_torn_is_fetched_again(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic, flush_on_acks_all="false")
    sending = traffic(cluster, topic)
    sending.go_on()
    torn = cluster.leader(topic)
    torn.kill()
    (path,) = (torn.data_dir / f"{topic}-0").glob("*.log")
    with path.open("r+b") as file:
        file.truncate(batches_in(path)[-1] + 30)
    sending.go_on()
    torn.start()
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending, 1)
    wait_equal(cluster, topic)
