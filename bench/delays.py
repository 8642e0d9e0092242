"""What delayed messages take: memory while they are held, deliveries a second, how late they are.

Beside that, what a topic without delays pays on a broker that holds many of another one's.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import FETCH_VERSION, RawClient, batch_of, fetch_frame, produce_frame
from bench.watched_broker import watched_broker
from penstock.wire.batch import read_header, size_at
from penstock.wire.batch_builder import build_batch, read_records
from penstock.wire.codec import decode_response
from penstock.wire.messages import message_types
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from penstock.wire.records import Record

AT = b"penstock-deliver-at"
DELAYS = {"delayed.delivery": "true"}
BATCH_RECORDS = 500
VALUE_BYTES = 100
HOUR_MS = 3_600_000
ALL = -1
LATEST = -1
LIST_VERSION = 5
PENDING, DELIVERED = 1_000_000, 200_000
RATE, LATE_S = 1000, 15
GRACE_S = 5.0
ROUNDS = 7
SMALL = 60_000


def pending_memory(profile: Path | None = None) -> Result:
    """A million, due at any time of the day after tomorrow; half a GB of log is not counted."""
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("orders", configs=DELAYS)
        send_all(client, [held_any_time(Random(0), 10)])
        before, began = broker.resident_mb(), time.perf_counter()
        chance = Random(1)
        send_all(client, [held_any_time(chance) for _ in range(PENDING // BATCH_RECORDS)])
        took = time.perf_counter() - began
        _wait_listed(client, PENDING + 10)
        taken = broker.resident_mb() - before
        began = time.perf_counter()
        broker.restart()
        with broker.client() as again:
            _wait_listed(again, PENDING + 10)
        back = time.perf_counter() - began
        details = f"sent in {took:.0f} s; known again {back:.1f} s after a stop"
    return Result("a million held messages", taken, "MB", "<= 200", taken <= 200, details)


def deliveries(profile: Path | None = None) -> Result:
    """All due at once, as after downtime."""
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("orders", configs=DELAYS)
        due = _now_ms() + 1000 * max(5, DELIVERED // 20_000)
        send_all(client, [_due_at([due] * BATCH_RECORDS)] * (DELIVERED // BATCH_RECORDS))
        assert _now_ms() < due, "sending took too long"
        spent, cpu_at = broker.spent(), 0.0
        while _now_ms() < due:
            time.sleep(0.001)
            cpu_at = spent()[1]
        began = time.perf_counter()
        _wait_end(client, 2 * DELIVERED)
        seconds, cpu = time.perf_counter() - began, spent()[1] - cpu_at
    rate = DELIVERED / seconds
    details = f"{1e6 * cpu / DELIVERED:.1f} CPU us a message"
    title = "held messages that are all due"
    return Result(title, rate / 1000, "k deliveries/s", ">= 20", rate >= 20_000, details)


def lateness(profile: Path | None = None) -> Result:
    """A thousand a second are sent, each due a second or two later, and as many fall due."""
    late: list[float] = []
    chance = Random(2)
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("orders", configs=DELAYS)
        with broker.client() as reading:
            reader = _Reader(reading)
            sent, began = 0, time.perf_counter()
            while sent < RATE * LATE_S:
                if sent < RATE * (time.perf_counter() - began):
                    dues = [_now_ms() + chance.randint(1000, 2000) for _ in range(10)]
                    send_all(client, [_due_at(dues)])
                    sent += len(dues)
                late += reader.read(wait_ms=1)
            until = time.perf_counter() + GRACE_S
            while len(late) < sent and time.perf_counter() < until:
                late += reader.read(wait_ms=100)
    assert len(late) == sent, f"{len(late)} of {sent} came"
    cuts = quantiles(late, n=100)
    details = f"p50 {cuts[49]:.1f} ms, longest {max(late):.1f} ms, {sent} messages"
    return Result("how late at 1,000/s, p99", cuts[98], "ms", "<= 100", cuts[98] <= 100, details)


def plain_topics(profile: Path | None = None) -> Result:
    """One record a request to a topic without delays, with and without many held in another."""
    costs: dict[bool, list[float]] = {True: [], False: []}
    with (
        PinnedBroker(profile=profile) as quiet,
        quiet.client() as alone,
        PinnedBroker() as busy,
        busy.client() as beside,
    ):
        beside.create_topic("orders", configs=DELAYS)
        chance = Random(3)
        send_all(beside, [held_any_time(chance) for _ in range(200)])
        _wait_listed(beside, 200 * BATCH_RECORDS)
        frame = produce_frame("small", 0, batch_of(1, 100), 1)
        for client in (alone, beside):
            client.create_topic("small")
            client.pipeline(frame, SMALL // 2, window=2000, at_once=200)
        for _ in range(ROUNDS):
            for broker, client in ((quiet, alone), (busy, beside)):
                spent = broker.spent()
                client.pipeline(frame, SMALL, window=2000, at_once=200)
                costs[broker is busy].append(spent()[1] / SMALL * 1e6)
    more = 100 * (median(costs[True]) / median(costs[False]) - 1)
    details = f"{median(costs[True]):.2f} and {median(costs[False]):.2f} CPU us a request"
    return Result("a topic without delays pays", more, "% more", "<= 5", more <= 5, details)


def longest_hold(profile: Path | None = None) -> Result:
    """Of the broker's loop, while much falls due at once."""
    with watched_broker(profile) as (broker, client):
        client.create_topic("orders", configs=DELAYS)
        due = _now_ms() + 4000
        send_all(client, [_due_at([due] * BATCH_RECORDS)] * 100)
        broker.look()
        _wait_end(client, 2 * 100 * BATCH_RECORDS)
        held = broker.look().longest
    return Result("much is due: the loop is held", held, "ms", "<= 10", held <= 10)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _due_at(dues: list[int]) -> bytes:
    now, value = _now_ms(), bytes(VALUE_BYTES)
    records = [
        Record(number, now, b"key", value, ((AT, b"%d" % due),)) for number, due in enumerate(dues)
    ]
    return bytes(build_batch(records))


def held_any_time(chance: Random, count: int = BATCH_RECORDS) -> bytes:
    first = _now_ms() + 24 * HOUR_MS
    return _due_at([first + chance.randrange(24 * HOUR_MS) for _ in range(count)])


def send_all(client: RawClient, batches: list[bytes]) -> None:
    for batch in batches:
        client.await_taken(produce_frame("orders", 0, batch, ALL))


def end_of(client: RawClient, topic: str = "orders") -> int:
    wanted = ListOffsetsPartition(0, timestamp=LATEST)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(topic, [wanted])])
    offset: int = client.request(request, LIST_VERSION).topics[0].partitions[0].offset
    return offset


def _wait_end(client: RawClient, end: int) -> None:
    while end_of(client) < end:
        time.sleep(0.002)


def _wait_listed(client: RawClient, end: int) -> None:
    """Until the list of what is held has the last of them."""
    kind: Any = message_types(1)[1]
    while True:
        frame = fetch_frame("orders.scheduled", end - 1, 1 << 20, wait_ms=100)
        answer: Any = decode_response(kind, client.ask(frame), FETCH_VERSION)[1]
        data = answer.responses[0].partitions[0]
        if not data.error_code and data.records:
            return


class _Reader:
    def __init__(self, client: RawClient) -> None:
        self._client = client
        self._offset = 0
        self._kind: Any = message_types(1)[1]

    def read(self, wait_ms: int) -> list[float]:
        """How late each message is that has come, by its time."""
        frame = fetch_frame("orders", self._offset, 1 << 20, wait_ms=wait_ms)
        answer: Any = decode_response(self._kind, self._client.ask(frame), FETCH_VERSION)[1]
        data = answer.responses[0].partitions[0]
        now, found = time.time() * 1000, []
        records, position = memoryview(data.records or b""), 0
        while position < len(records):
            end = position + size_at(records, position)
            header = read_header(records, position)
            if not header.is_control:
                batch = records[position:end]
                found += [now - int(each.timestamp) for each in read_records(batch, 1 << 24)]
            self._offset, position = header.next_offset, end
        return found
