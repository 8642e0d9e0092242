"""What queues cost: messages that are given out and accepted, a CPU second of the broker.

Many members on one partition, each with one batch at a time, which it accepts with the next fetch.
They are driven from one thread, by frames: the broker is what is measured. The SDK's Queue does the
same beside it, with jobs that take no time, and there its own CPU is what counts.
"""

from __future__ import annotations

import selectors
import time
from pathlib import Path

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import batch_of, produce_frame
from penstock import Queue
from penstock.client.admin import alter_group
from penstock.client.cluster import WireClient
from penstock.client.connection import Address
from penstock.client.share_membership import Membership
from penstock.sdk import raw
from penstock.wire.messages.k78_share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)

TOPIC = "jobs"
MEMBERS = 50
AT_ONCE = 100
COUNT = 400_000
SDK_COUNT = 60_000
VALUE_BYTES = 100
ACCEPT = 1
GOAL = 20_000
PATIENCE_S = 60.0


class _Member:
    """Asks for a batch, and says with the next question that it is done."""

    def __init__(self, broker: PinnedBroker, client: WireClient, topic_id: bytes) -> None:
        self.accepted = 0
        self.joined = Membership(client, TOPIC, TOPIC)
        self.joined.beat(time.monotonic() + PATIENCE_S)
        address = Address(broker.host, broker.port)
        self.connection = client.dial(address, time.monotonic() + PATIENCE_S)
        self._topic_id = topic_id
        self._epoch = 0
        self._done: list[AcknowledgementBatch] = []

    def ask(self) -> None:
        topics = []
        if self._done or not self._epoch:
            partition = FetchPartition(0, self._done)
            topics = [FetchTopic(self._topic_id, [partition])]
        request = ShareFetchRequest(
            group_id=TOPIC,
            member_id=self.joined.member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=500,
            min_bytes=1,
            max_records=AT_ONCE,
            batch_size=AT_ONCE,
            share_acquire_mode=1,
            topics=topics,
        )
        self._epoch += 1
        self.connection.send(request, time.monotonic() + PATIENCE_S)

    def hear(self) -> bool:
        """Whether the answer is there."""
        answer = self.connection.take(ShareFetchResponse)
        if answer is None:
            return False
        assert not answer.error_code
        self.accepted += sum(each.last_offset - each.first_offset + 1 for each in self._done)
        self._done = []
        for topic in answer.responses:
            for each in topic.partitions:
                assert not each.error_code
                assert not each.acknowledge_error_code
                self._done += [
                    AcknowledgementBatch(got.first_offset, got.last_offset, [ACCEPT])
                    for got in each.acquired_records
                ]
        return True


def accepted(profile: Path | None = None) -> Result:
    with PinnedBroker(profile=profile) as broker, _client(broker) as client:
        _fill(broker, client, COUNT)
        topic_id = client.topic(TOPIC).topic_id
        members = [_Member(broker, client, topic_id) for _ in range(MEMBERS)]
        spent = broker.spent()
        _play(members)
        seconds, cpu = spent()
        for each in members:
            each.connection.close()
    rate = COUNT / cpu
    most = max(each.accepted for each in members)
    return Result(
        f"queue, {MEMBERS} members on one partition, batches of {AT_ONCE}",
        rate,
        "messages accepted a CPU second of the broker",
        f">= {GOAL}",
        rate >= GOAL,
        f"{COUNT / seconds:.0f}/s; {min(each.accepted for each in members)} to {most} a member",
    )


def by_sdk(profile: Path | None = None) -> Result:
    """Taken in lists, acknowledged without waiting; one by one, each waited for; what both cost."""
    with PinnedBroker(profile=profile) as broker, _client(broker) as client:
        _fill(broker, client, 2 * SDK_COUNT)
        address = f"{broker.host}:{broker.port}"
        with Queue(address, TOPIC, serializer=raw, prefetch=1000) as queue:
            queue.get(PATIENCE_S).ack()  # it has joined
            spent, began = broker.spent(), time.process_time()
            count = 0
            while count < SDK_COUNT:
                for job in queue.get_many(500, PATIENCE_S):
                    job.ack(wait=False)
                    count += 1
            queue.flush()
            ours = time.process_time() - began
            seconds, cpu = spent()
            alone = _one_by_one(queue)
    rate = count / ours
    details = (
        f"{count / seconds:.0f}/s, broker {count / cpu:.0f} a CPU second; "
        f"one by one, each stored before the next: {alone:.0f}/s"
    )
    title = "queue, SDK, jobs of no length"
    return Result(
        title, rate, "messages a CPU second of the client", ">= 20000", rate >= 2e4, details
    )


def _one_by_one(queue: Queue[bytes]) -> float:
    began = time.perf_counter()
    for _ in range(2000):
        queue.get(PATIENCE_S).ack()
    return 2000 / (time.perf_counter() - began)


def _client(broker: PinnedBroker) -> WireClient:
    return WireClient(f"{broker.host}:{broker.port}")


def _fill(broker: PinnedBroker, client: WireClient, count: int) -> None:
    alter_group(client, TOPIC, {"share.auto.offset.reset": "earliest"})
    with broker.client() as sender:
        sender.create_topic(TOPIC)
        frame = produce_frame(TOPIC, 0, batch_of(500, VALUE_BYTES), acks=-1)
        for _ in range(count // 500 + 1):
            sender.ask(frame)


def _play(members: list[_Member]) -> None:
    """Until as many are accepted as were to be."""
    give_up_s = time.monotonic() + 10 * PATIENCE_S
    with selectors.DefaultSelector() as ready:
        for each in members:
            ready.register(each.connection, selectors.EVENT_READ, each)
            each.ask()
        while sum(each.accepted for each in members) < COUNT:
            assert time.monotonic() < give_up_s
            for key, _ in ready.select(1.0):
                member: _Member = key.data
                if member.hear():
                    member.ask()
