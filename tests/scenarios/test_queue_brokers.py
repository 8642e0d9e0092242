"""What brokers do for queues beside giving jobs out: dead letters, pauses, and deleting what is
done, in clusters whose brokers fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread

from tests.broker_process import BrokerProcess
from tests.cluster_process import Cluster
from tests.group_stage import wait_until
from tests.lanes import in_chaos

from penstock import Consumer, Queue
from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.client.group_offsets import commit_offsets
from penstock.sdk.dead_letters import CAUSE, OFFSET, PARTITION, TOPIC
from penstock.sdk.errors import Empty, PenstockError
from penstock.sdk.job import Job
from penstock.wire.archive_group import archive_group

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


def test_what_is_not_archived_is_not_deleted_either(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker(*OPTIONS).start()
    Queue.ensure(broker.address, topic, partitions=1, delete_on_ack=True)
    with WireClient(broker.address) as client:
        admin.alter_topic(client, topic, {"retention.hold.for.archive": "true"})
        commit_offsets(client, archive_group(topic), {(topic, 0): 4})
    with Queue(broker.address, topic) as queue:
        queue.put_many(f"job {number}" for number in range(10))
        for _ in range(10):
            queue.ack(queue.get(LIMIT_S))
        wait_until(lambda: earliest(broker.address, topic) == {0: 4}, "what is archived", LIMIT_S)
        with WireClient(broker.address) as client:
            commit_offsets(client, archive_group(topic), {(topic, 0): 10})
        wait_until(lambda: earliest(broker.address, topic) == {0: 10}, "all of it", LIMIT_S)


class Worker(Thread):
    """Accepts most jobs, rejects some, and fails with some at first, until it is stopped."""

    def __init__(self, address: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.queue = Queue(address, topic)
        self.accepted: list[str] = []
        self.unsure: set[str] = set()
        """Accepted, and told that it could not be stored: it may have been."""

    def run(self) -> None:
        while not self.queue.desk.is_stopped:
            with suppress(Empty):
                for job in self.queue.get_many(5, timeout=1):
                    self.do(job)

    def do(self, job: Job[str]) -> None:
        number = int(job.value.split()[1])
        try:
            if number % 5 == 0:
                self.queue.reject(job)
            elif number % 5 == 1 and job.delivery_count == 1:
                self.queue.nack(job)
            else:
                self.unsure.add(job.value)
                self.queue.ack(job)
                self.accepted.append(job.value)
        except PenstockError:
            pass  # its leader is gone, or is another: it comes again


@in_chaos
def test_no_job_is_lost_while_brokers_are_killed_in_turn(
    own_cluster: Callable[..., Cluster], topic: str
) -> None:
    """Each is accepted by somebody, or is a dead letter; and then the queue is empty."""
    cluster, count = own_cluster(options=OPTIONS).start(3), 300
    Queue.ensure(
        cluster.address, topic, partitions=3, replicas=3, dead_letters=True, delete_on_ack=True
    )
    with WireClient(cluster.address) as client:
        settings = {"share.redelivery.backoff.ms": "200", "share.delivery.count.limit": "10"}
        admin.alter_group(client, topic, settings)
    workers = [Worker(cluster.address, topic) for _ in range(3)]
    for worker in workers:
        worker.start()
    ends = Counter[int]()
    with Queue(cluster.address, topic) as queue:
        for start in range(0, count, count // 3):
            numbers = range(start, start + count // 3)
            for sent in queue.put_many(f"job {number}" for number in numbers):
                ends[sent.partition] = max(ends[sent.partition], sent.offset + 1)
            cluster.leader(topic, start % 3).kill()
            cluster.mend()
    wait_until(partial(_begins_at, cluster, topic, ends), "all is done", 2 * LIMIT_S)
    for worker in workers:
        worker.queue.stop()
    for worker in workers:
        worker.join(LIMIT_S)
        worker.queue.close()
    letters = {value for _, value in all_letters(cluster.address, f"dlq.{topic}", count // 5)}
    accepted = {value for worker in workers for value in worker.accepted}
    unsure = set().union(*(worker.unsure for worker in workers))
    missing = {f"job {number}" for number in range(count)} - letters - accepted
    assert missing <= unsure
    assert letters >= {f"job {number}" for number in range(0, count, 5)}


def _begins_at(cluster: Cluster, topic: str, wanted: dict[int, int]) -> bool:
    found = earliest(cluster.address, topic, max(wanted) + 1)
    return all(found[index] == offset for index, offset in wanted.items())
