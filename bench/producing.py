"""What it costs the broker to take messages."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

from bench import bare_loops
from bench.bare_loops import GB, warm_memory
from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import batch_of, produce_frame

LEADER, ALL = 1, -1
WINDOW = 64
ROUNDS = 5
SHORT_ROUNDS = 12
WARM_BYTES = 3 << 29
"""More than a round of synced requests writes."""


def large_batches(profile: Path | None = None) -> Result:
    """acks=1, 1 KiB messages, batches of about 1 MB as librdkafka makes them under load.

    In short rounds, each into a topic of its own that is deleted afterwards, so that the page cache
    is made of the same memory again and again: see `bare_loops`.
    """
    batch = batch_of(1000, 1024)
    total = 200
    sent = total * len(batch)
    costs, bare, rates = [], [], []
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        for number in range(SHORT_ROUNDS):
            topic = f"large-{number}"
            client.create_topic(topic, configs={"file.delete.delay.ms": "0"})
            frame = produce_frame(topic, 0, batch, LEADER)
            client.pipeline(frame, 20, window=8, at_once=1)
            spent = broker.spent()
            client.pipeline(frame, total, window=8, at_once=1)
            seconds, cpu = spent()
            costs.append(cpu / (sent / GB))
            rates.append(sent / GB / seconds)
            client.delete_topic(topic)
            broker.wait_until_deleted(topic)
            bare.append(bare_loops.copying(sent))
    cost = median(costs)
    details = (
        f"{min(costs):.2f} to {max(costs):.2f}, {median(rates):.2f} GB/s; "
        f"a bare loop of recv and pwrite {median(bare):.2f}, {min(bare):.2f} to {max(bare):.2f}"
    )
    return Result(
        "produce acks=1, large batches", cost, "CPU s/GB", "<= 0.45", cost <= 0.45, details
    )


def small_requests(profile: Path | None = None) -> Result:
    """acks=1, one record a request, pipelined."""
    total = 200_000
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("small")
        frame = produce_frame("small", 0, batch_of(1, 100), LEADER)
        client.pipeline(frame, 20_000, window=2000, at_once=200)
        spent = broker.spent()
        client.pipeline(frame, total, window=2000, at_once=200)
        seconds, cpu = spent()
    rate = total / seconds
    details = f"{1e6 * cpu / total:.2f} CPU us a request"
    return Result(
        "produce acks=1, one record", rate / 1000, "k requests/s", ">= 100", rate >= 1e5, details
    )


def latency(profile: Path | None = None) -> Result:
    """acks=1, one record of 1 KiB, at 1,000 requests a second."""
    times: list[float] = []
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("latency")
        frame = produce_frame("latency", 0, batch_of(1, 1024), LEADER)
        for _ in range(500):
            client.ask(frame)
        due = time.perf_counter()
        for _ in range(5000):
            due += 0.001
            while time.perf_counter() < due:
                pass
            began = time.perf_counter()
            client.ask(frame)
            times.append(1000 * (time.perf_counter() - began))
    times.sort()
    p99 = times[int(len(times) * 0.99)]
    details = f"p50 {times[len(times) // 2]:.3f} ms, p99.9 {times[int(len(times) * 0.999)]:.3f} ms"
    return Result("produce acks=1 p99 at 1,000/s", p99, "ms", "< 1", p99 < 1, details)


def synced(profile: Path | None = None) -> Result:
    """acks=all with sync, against a bare loop of append and group fdatasync on the same disk.

    With 64 requests of one partition under way, so a group is of up to 64 for both. The figure is
    for batches of 64 KiB; the details say what becomes of it with smaller ones.
    """
    ratios: dict[str, float] = {}
    for records, total in ((64, 4000), (16, 8000), (1, 20_000)):
        batch = batch_of(records, 1024)
        ratios[f"{records} KiB"] = _synced_ratio(batch, total, profile if records == 16 else None)
    ratio = ratios["64 KiB"]
    details = ", ".join(f"{size}: {each:.2f}" for size, each in ratios.items())
    return Result(
        "produce acks=all, synced", ratio, "of the bare loop", ">= 0.6", ratio >= 0.6, details
    )


def _synced_ratio(batch: bytes, total: int, profile: Path | None) -> float:
    """The median of pairs, each measured back to back."""
    ratios = []
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("synced")
        frame = produce_frame("synced", 0, batch, ALL)
        client.pipeline(frame, 200, window=WINDOW, at_once=WINDOW // 4)
        for _ in range(ROUNDS):
            warm_memory(WARM_BYTES)
            spent = broker.spent()
            client.pipeline(frame, total, window=WINDOW, at_once=WINDOW // 4)
            rate = total / spent()[0]
            ratios.append(rate / bare_loops.appending(batch, total, WINDOW))
    return median(ratios)
