"""What transactions cost: the same messages with a commit after every thousand, and without.

A producer waits for each commit, which takes as long as its last records and the commit need to be
synced, one after the other. So one producer is told beside several, and how long a transaction
takes from its beginning until it is committed. What of that is up to the client is seen where
nothing is synced on either side: without transactions librdkafka makes the next batch while one is
under way, and with them it has nothing to make.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import confluent_kafka
import confluent_kafka.admin

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker

EACH = 1000
ROUNDS = 5
WAIT_S = 60
UNSYNCED = ("log.flush.on.acks.all=false",)

admin_types: Any = confluent_kafka.admin
"""Its types are not all there."""


class Case(NamedTuple):
    name: str
    producers: int = 1
    value_bytes: int = 1024
    messages: int = 60_000
    """Of each producer in a round."""
    linger_ms: int = 5


ALONE = Case("one producer")
TOGETHER = Case("4 producers", producers=4)
OTHERS = (
    Case("one with 100 B", value_bytes=100),
    Case("with 4 KiB", value_bytes=4096, messages=15_000),
    Case("with linger.ms=0", linger_ms=0),
)


class Cost(NamedTuple):
    ratios: Sequence[float]
    """Of the throughput without transactions, by round."""
    took_ms: Sequence[float]
    """From begin to committed."""

    def __str__(self) -> str:
        low, high = min(self.ratios), max(self.ratios)
        return f"{median(self.ratios):.2f} ({low:.2f} to {high:.2f})"


def cost(profile: Path | None = None) -> Result:
    """By one producer, which waits for each commit, and by several, of which some go on meanwhile.
    Rounds in turn, so that both have the same hour of the machine."""
    with PinnedBroker(profile=profile) as broker:
        alone, together = _measured(broker, ALONE), _measured(broker, TOGETHER)
        others = [f"{case.name} {_measured(broker, case)}" for case in OTHERS]
    with PinnedBroker(*UNSYNCED) as broker:
        unsynced = _measured(broker, ALONE)
    ratio = median(alone.ratios)
    return Result(
        "throughput in transactions of 1,000 messages, against without",
        ratio,
        "of it",
        "at least 0.85",
        ratio >= 0.85,
        f"1 KiB each, acks=all, synced; {ALONE.name} {alone}, {TOGETHER.name} {together}; "
        f"{', '.join(others)}; one with nothing synced on either side {unsynced}; from begin to "
        f"committed, median: {median(alone.took_ms):.1f} ms by one, "
        f"{median(together.took_ms):.1f} ms by each of {TOGETHER.producers}",
    )


def _measured(broker: PinnedBroker, case: Case) -> Cost:
    address, topic = f"{broker.host}:{broker.port}", case.name.replace(" ", "-").replace("=", "-")
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    admin.create_topics([admin_types.NewTopic(topic, case.producers, 1)])[topic].result()
    plain = [_producer(address, case) for _ in range(case.producers)]
    within = [_producer(address, case, f"{topic}-{at}") for at in range(case.producers)]
    for each in within:
        each.init_transactions(WAIT_S)
    ratios: list[float] = []
    took_ms: list[float] = []
    for _ in range(ROUNDS + 1):
        rate = _rate(plain, topic, case)
        ratios.append(_rate(within, topic, case, took_ms) / rate)
    return Cost(ratios[1:], took_ms)  # the first time connections are made, too


def _producer(address: str, case: Case, name: str = "") -> Any:
    settings: dict[str, Any] = {
        "bootstrap.servers": address,
        "enable.idempotence": True,
        "linger.ms": case.linger_ms,
        "log_level": 0,
        "queue.buffering.max.messages": 20_000,
    }
    if name:
        settings["transactional.id"] = name
    return confluent_kafka.Producer(settings)


def _rate(
    producers: Sequence[Any], topic: str, case: Case, took_ms: list[float] | None = None
) -> float:
    """Messages a second, from the first to the last that is acknowledged. With `took_ms` in
    transactions, and how long each took is noted there."""
    threads = [
        threading.Thread(target=_send_all, args=(each, topic, number, case, took_ms))
        for number, each in enumerate(producers)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(producers) * case.messages / (time.perf_counter() - began)


def _send_all(
    producer: Any, topic: str, partition: int, case: Case, took_ms: list[float] | None
) -> None:
    value = bytes(case.value_bytes)
    for start in range(0, case.messages, EACH):
        began = time.perf_counter()
        if took_ms is not None:
            producer.begin_transaction()
        for _ in range(start, start + EACH):
            _send(producer, topic, value, partition)
        if took_ms is not None:
            producer.commit_transaction(WAIT_S)
            took_ms.append(1000 * (time.perf_counter() - began))
        else:
            producer.poll(0)
    producer.flush(WAIT_S)


def _send(producer: Any, topic: str, value: bytes, partition: int) -> None:
    while True:
        try:
            producer.produce(topic, value, partition=partition)
        except BufferError:
            producer.poll(0.01)
        else:
            return
