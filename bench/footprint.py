"""What a broker takes before it does anything, and how that grows with its partitions."""

from __future__ import annotations

import statistics
from pathlib import Path

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import batch_of, produce_frame

WARMING, MEASURED = 20_000, 100_000
"""Requests."""


def start(profile: Path | None = None) -> Result:
    """From the start of the process to the ready line, as the median of seven."""
    times = []
    for _ in range(7):
        with PinnedBroker(profile=profile) as broker:
            times.append(broker.started_ms)
    middle = statistics.median(times)
    return Result("serve ready", middle, "ms", "< 300", middle < 300, f"worst {max(times):.0f} ms")


def memory(profile: Path | None = None) -> Result:
    """Resident with 1,000 partitions, each of them written to."""
    with PinnedBroker(profile=profile) as broker:
        empty = broker.resident_mb()
        write_to_many(broker)
        full = broker.resident_mb()
    return Result(
        "resident with 1,000 partitions", full, "MB", "< 60", full < 60, f"empty {empty:.0f} MB"
    )


def write_to_many(broker: PinnedBroker) -> None:
    """One record to each of 1,000 partitions."""
    with broker.client() as client:
        client.create_topic("many", partitions=1000)
        batch = batch_of(1, 100)
        for partition in range(1000):
            client.ask(produce_frame("many", partition, batch, 1))


def cost_by_partitions(profile: Path | None = None) -> Result:
    """CPU per produce request on a topic of 10,000 partitions, against one of 1."""
    costs = {partitions: request_us(partitions, profile) for partitions in (1, 10_000)}
    ratio = costs[10_000] / costs[1]
    details = ", ".join(f"{count}: {cost:.2f} us" for count, cost in costs.items())
    return Result(
        "cost per request, 10,000 partitions to 1", ratio, "x", "<= 1.1", ratio <= 1.1, details
    )


def request_us(partitions: int, profile: Path | None = None) -> float:
    """CPU per produce request on a topic of so many partitions."""
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("grow", partitions=partitions)
        frame = produce_frame("grow", partitions - 1, batch_of(1, 100), 1)
        client.pipeline(frame, WARMING, window=500, at_once=50)
        spent = broker.spent()
        client.pipeline(frame, MEASURED, window=500, at_once=50)
        return 1e6 * spent()[1] / MEASURED
