"""What brokers do for queues beside giving jobs out: dead letters, pauses, and deleting what is
done, in clusters whose brokers fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from tests.broker_process import BrokerProcess
from tests.cluster_process import Cluster
from tests.group_stage import wait_until

from penstock import Consumer, Queue
from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.sdk.dead_letters import CAUSE, OFFSET, PARTITION, TOPIC
from penstock.sdk.errors import PenstockError
from penstock.sdk.job import Job

OPTIONS = ("--set", "share.coordinator.state.topic.num.partitions=3")
LIMIT_S = 60


def earliest(address: str, topic: str, partitions: int = 1) -> dict[int, int]:
    with WireClient(address) as client:
        return offsets.ends(client, topic, range(partitions), offsets.EARLIEST)


def all_letters(address: str, topic: str, count: int) -> list[tuple[dict[str, bytes | None], str]]:
    """Headers and values, of at least so many."""
    found: list[tuple[dict[str, bytes | None], str]] = []
    with Consumer(address, topic, group=f"readers of {topic}", start="earliest") as consumer:

        def poll() -> bool:
            message = consumer.poll(0.5)
            if message is not None:
                found.append((dict(message.headers), message.value))
            return len(found) >= count

        wait_until(poll, f"{count} letters in {topic}", LIMIT_S)
        while (more := consumer.poll(1.0)) is not None:
            found.append((dict(more.headers), more.value))
    return found


def test_what_is_rejected_is_in_the_dead_letters_and_what_is_done_is_gone(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker(*OPTIONS).start()
    Queue.ensure(broker.address, topic, dead_letters=True, delete_on_ack=True)
    with Queue(broker.address, topic) as queue:
        queue.put_many(f"job {number}" for number in range(50))
        seen = 0
        while seen < 50:
            for job in queue.get_many(50, timeout=LIMIT_S):
                number = int(job.value.split()[1])
                queue.reject(job) if number % 10 == 0 else queue.ack(job)
                seen += 1
        letters = all_letters(broker.address, f"dlq.{topic}", 5)
        wait_until(lambda: earliest(broker.address, topic) == {0: 50}, "all is done", LIMIT_S)
    assert sorted(value for _, value in letters) == [f"job {number}" for number in range(0, 50, 10)]
    for headers, value in letters:
        assert headers[TOPIC] == topic.encode()
        assert headers[PARTITION] == b"0"
        assert headers[OFFSET] == value.split()[1].encode()
        assert headers[CAUSE] == b"Offset rejected by client."


def test_a_job_that_is_given_back_comes_again_after_its_pause(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker(*OPTIONS).start()
    Queue.ensure(broker.address, topic, partitions=1)
    with WireClient(broker.address) as client:
        admin.alter_group(client, topic, {"share.redelivery.backoff.ms": "1500"})
    with Queue(broker.address, topic) as queue:
        queue.put_many(["first", "second"])
        order: list[Job[str]] = []
        job = queue.get(LIMIT_S)
        queue.nack(job)
        while len(order) < 2:
            order.append(queue.get(LIMIT_S))
            queue.ack(order[-1])
    assert [each.value for each in order] == ["second", "first"]
    assert order[-1].delivery_count == 2


def test_no_dead_letter_is_missing_whichever_leader_fails(
    own_cluster: Callable[..., Cluster], topic: str
) -> None:
    cluster = own_cluster(options=OPTIONS).start(3)
    Queue.ensure(cluster.address, topic, partitions=3, replicas=3, dead_letters=True)
    count, rejected = 60, 0
    with Queue(cluster.address, topic) as queue:
        queue.put_many(f"job {number}" for number in range(count))
        while rejected < count:
            for job in queue.get_many(10, timeout=LIMIT_S):
                try:
                    queue.reject(job)
                    rejected += 1
                except PenstockError:
                    pass  # its leader is gone: it comes again
            if rejected >= 10 and len(cluster.all_well) == 3:
                cluster.leader(f"dlq.{topic}").kill()
        letters = all_letters(cluster.address, f"dlq.{topic}", count)
    told = Counter(value for _, value in letters)
    assert told.keys() == {f"job {number}" for number in range(count)}
    cluster.mend()


def test_a_queue_is_emptied_whoever_leads_and_followers_too(
    own_cluster: Callable[..., Cluster], topic: str
) -> None:
    cluster = own_cluster(options=OPTIONS).start(3)
    Queue.ensure(cluster.address, topic, partitions=2, replicas=3, delete_on_ack=True)
    with Queue(cluster.address, topic) as queue:
        for _ in range(2):
            sent = queue.put_many(f"job {number}" for number in range(30))
            ends = Counter[int]()
            for each in sent:
                ends[each.partition] = max(ends[each.partition], each.offset + 1)
            done = 0
            while done < 30:
                for job in queue.get_many(30, timeout=LIMIT_S):
                    queue.ack(job)
                    done += 1
            wait_until(partial(_begins_at, cluster, topic, ends), "all is gone", LIMIT_S)
            if len(cluster.all_well) == 3:
                cluster.leader(topic).kill()
    cluster.mend()


def _begins_at(cluster: Cluster, topic: str, wanted: dict[int, int]) -> bool:
    found = earliest(cluster.address, topic, 2)
    return all(found[index] == offset for index, offset in wanted.items())
