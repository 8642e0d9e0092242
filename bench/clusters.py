"""What three brokers do together: on two cores, with the client beside them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench import bare_loops, real_client
from bench.bare_loops import GB
from bench.measurement import Result
from bench.raw_client import RawClient, batch_of, produce_frame
from bench.several_brokers import LEASE_MS, SeveralBrokers, partitions
from penstock.wire.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)

ALL = -1
LEADERS = 3
WINDOW = 64
"""Requests under way on each connection, as where one broker syncs what it takes."""
ROUNDS = 5
COPIED_BYTES = 1 << 30
MANY = 10_000
UNSYNCED = {"flush.on.acks.all": "false"}


def throughput_unsynced(profile: Path | None = None) -> Result:
    return _throughput("not synced", UNSYNCED)


def throughput_synced(profile: Path | None = None) -> Result:
    return _throughput("synced", {})


def _throughput(name: str, configs: dict[str, str]) -> Result:
    """Rounds in turn on both, so that both have the same hour of the machine. The figure is for a
    producer as users run it. The details are for a client that sends ready-made frames, and so
    takes next to nothing of the two cores: what the brokers alone cost."""
    details: list[str] = []
    with SeveralBrokers(1) as one, SeveralBrokers(3) as three:
        for records, total in ((64, 8000), (16, 30_000), (1, 60_000)):
            frames = batch_of(records, 1024)
            pairs = [
                (_load(one, 1, frames, total, configs), _load(three, 3, frames, total, configs))
                for _ in range(ROUNDS)
            ]
            bare = median(three.rate / one.rate for one, three in pairs)
            details.append(f"{records} KiB: {bare:.2f} {_told(pairs, len(frames))}")
        ratio, rate = _with_a_real_client(one, three, configs)
    return Result(
        f"three brokers, three replicas, acks=all, {name}",
        ratio,
        "of one broker",
        ">= 0.5",
        ratio >= 0.5,
        f"librdkafka, messages of 1 KiB, {rate:.0f} a second; frames of " + ", ".join(details),
    )


class Load(NamedTuple):
    rate: float
    """Batches a second."""
    cpu_us: float
    """Of all brokers, for a batch: what other work on the machine changes least."""


def _told(pairs: list[tuple[Load, Load]], size: int) -> str:
    rate = median(three.rate for _, three in pairs) * size / 1e6
    before, after = (median(each[side].cpu_us for each in pairs) for side in (0, 1))
    return f"at {rate:.0f} MB/s, {before:.0f} and {after:.0f} us of CPU a batch"


def _with_a_real_client(
    one: SeveralBrokers, three: SeveralBrokers, configs: dict[str, str]
) -> tuple[float, float]:
    """Three brokers against one, and their messages a second."""
    pairs = [(_real_rate(one, 1, configs), _real_rate(three, 3, configs)) for _ in range(ROUNDS)]
    return median(three / one for one, three in pairs), median(three for _, three in pairs)


def _real_rate(brokers: SeveralBrokers, replicas: int, configs: dict[str, str]) -> float:
    with brokers.client(1) as client, _topic(brokers, client, replicas, configs) as topic:
        return real_client.messages_a_second(brokers.address, topic)


@contextmanager
def _topic(
    brokers: SeveralBrokers, client: RawClient, replicas: int, configs: dict[str, str]
) -> Iterator[str]:
    """Of three partitions, each led by another broker where there are three; all in sync."""
    name = f"load-{time.monotonic_ns()}"
    client.create_topic(name, LEADERS, configs, replicas)
    brokers.await_all_in_sync(name, replicas)
    yield name
    client.delete_topic(name)


def _load(
    brokers: SeveralBrokers, replicas: int, batch: bytes, total: int, configs: dict[str, str]
) -> Load:
    with ExitStack() as stack:
        first = stack.enter_context(brokers.client(1))
        topic = stack.enter_context(_topic(brokers, first, replicas, configs))
        clients = [
            stack.enter_context(brokers.client(each.leader_id)) for each in partitions(first, topic)
        ]
        loads = [
            threading.Thread(
                target=client.pipeline,
                args=(produce_frame(topic, number, batch, ALL), total // LEADERS),
                kwargs={"window": WINDOW, "at_once": WINDOW // 4},
            )
            for number, client in enumerate(clients)
        ]
        for number, client in enumerate(clients):
            client.await_taken(produce_frame(topic, number, batch, ALL))
        cpu, began = brokers.cpu_seconds(), time.perf_counter()
        for load in loads:
            load.start()
        for load in loads:
            load.join()
        seconds = time.perf_counter() - began
        cpu = brokers.cpu_seconds() - cpu
    return Load(total / seconds, 1e6 * cpu / total)


def catching_up(profile: Path | None = None) -> Result:
    """A replica of a gigabyte is made anew, against a file copied over loopback."""
    batch = batch_of(1000, 1024)
    size = COPIED_BYTES // len(batch) * len(batch)
    with SeveralBrokers(2) as brokers, brokers.client(1) as client:
        client.create_topic("large")
        leader = partitions(client, "large")[0].leader_id
        with brokers.client(leader) as producing:
            frame = produce_frame("large", 0, batch, 1)
            producing.pipeline(frame, size // len(batch), window=8, at_once=1)
        ratios, rates = [], []
        for _ in range(ROUNDS):
            rate = size / _copied_in(brokers, client, leader) / GB
            rates.append(rate)
            source = next((brokers.folder_of(leader) / "large-0").glob("*.log"))
            ratios.append(rate / bare_loops.copying_file(source))
    ratio = median(ratios)
    return Result(
        "a follower of 1 GB catches up",
        ratio,
        "of copying a file over loopback",
        ">= 0.8",
        ratio >= 0.8,
        f"{median(rates):.2f} GB/s; {min(ratios):.2f} to {max(ratios):.2f}",
    )


def _copied_in(brokers: SeveralBrokers, client: RawClient, leader: int) -> float:
    """Seconds until the other broker is in sync; it has nothing again afterwards."""
    other = 3 - leader
    began = time.perf_counter()
    _assign(client, "large", [leader, other])
    brokers.await_all_in_sync("large", 2)
    seconds = time.perf_counter() - began
    _assign(client, "large", [leader])
    while (brokers.folder_of(other) / "large-0").exists():
        time.sleep(0.01)
    return seconds


def _assign(client: RawClient, topic: str, replicas: list[int]) -> None:
    change = ReassignableTopic(topic, [ReassignablePartition(0, replicas)])
    answer = client.request(AlterPartitionReassignmentsRequest(topics=[change]), 0)
    assert not answer.error_code
    assert not answer.responses[0].partitions[0].error_code, answer


def failover_of_many(profile: Path | None = None) -> Result:
    """One of three brokers with ten thousand partitions dies."""
    with SeveralBrokers(3) as brokers, brokers.client(1) as client:
        for number in range(MANY // 1000):
            client.create_topic(f"many-{number}", 1000, replicas=3)
            brokers.await_all_in_sync(f"many-{number}", 3)
        began = time.perf_counter()
        brokers.end(3, signal.SIGKILL)
        while any(each.leader_id in (-1, 3) for each in _all_partitions(client)):
            time.sleep(0.02)
        seconds = time.perf_counter() - began - LEASE_MS / 1000
    return Result(
        f"{MANY} partitions on three brokers, one dies: all are led, after its lease",
        seconds,
        "s",
        "< 5",
        seconds < 5,
    )


def _all_partitions(client: RawClient) -> Iterator[Any]:
    for number in range(MANY // 1000):
        yield from partitions(client, f"many-{number}")
