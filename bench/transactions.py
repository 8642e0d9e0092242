"""What transactions cost: the same messages with a commit after every thousand, and without.

A producer waits for each commit, which takes as long as its last records and the commit need to be
synced, one after the other. So one producer is told beside several, and how long a transaction
takes from its beginning until it is committed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import confluent_kafka
import confluent_kafka.admin

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker

EACH = 1000
MESSAGES = 60_000
PRODUCERS = 4
ROUNDS = 5
VALUE = bytes(1024)
WAIT_S = 60

admin_types: Any = confluent_kafka.admin
"""Its types are not all there."""


def cost(profile: Path | None = None) -> Result:
    """By one producer, which waits for each commit, and by several, of which some go on meanwhile.
    Rounds in turn, so that both have the same hour of the machine."""
    took_ms: dict[int, list[float]] = {1: [], PRODUCERS: []}
    with PinnedBroker(profile=profile) as broker:
        alone = _ratios(broker, 1, took_ms[1])
        together = _ratios(broker, PRODUCERS, took_ms[PRODUCERS])
    ratio = median(alone)
    return Result(
        "throughput in transactions of 1,000 messages, against without",
        ratio,
        "of it",
        "at least 0.85",
        ratio >= 0.85,
        f"1 KiB each, acks=all, synced; one producer {_text(alone)}, {PRODUCERS} producers "
        f"{_text(together)}; from begin to committed, median: {median(took_ms[1]):.1f} ms by one, "
        f"{median(took_ms[PRODUCERS]):.1f} ms by each of {PRODUCERS}",
    )


def _text(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _ratios(broker: PinnedBroker, count: int, took_ms: list[float]) -> list[float]:
    address, topic = f"{broker.host}:{broker.port}", f"messages-{count}"
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    admin.create_topics([admin_types.NewTopic(topic, count, 1)])[topic].result()
    plain = [_producer(address) for _ in range(count)]
    within = [_producer(address, f"{topic}-{number}") for number in range(count)]
    for each in within:
        each.init_transactions(WAIT_S)
    ratios = []
    for _ in range(ROUNDS + 1):
        rate = _rate(plain, topic, in_transactions=False)
        ratios.append(_rate(within, topic, in_transactions=True, took_ms=took_ms) / rate)
    return ratios[1:]  # the first time connections are made, too


def _producer(address: str, name: str = "") -> Any:
    settings: dict[str, Any] = {
        "bootstrap.servers": address,
        "enable.idempotence": True,
        "linger.ms": 5,
        "log_level": 0,
        "queue.buffering.max.messages": 20_000,
    }
    if name:
        settings["transactional.id"] = name
    return confluent_kafka.Producer(settings)


def _rate(
    producers: Sequence[Any],
    topic: str,
    *,
    in_transactions: bool,
    took_ms: list[float] | None = None,
) -> float:
    """Messages a second, from the first to the last that is acknowledged; and how long each
    transaction took."""
    took_ms = [] if took_ms is None else took_ms
    threads = [
        threading.Thread(target=_send_all, args=(each, topic, number, in_transactions, took_ms))
        for number, each in enumerate(producers)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(producers) * MESSAGES / (time.perf_counter() - began)


def _send_all(
    producer: Any, topic: str, partition: int, in_transactions: bool, took_ms: list[float]
) -> None:
    for start in range(0, MESSAGES, EACH):
        began = time.perf_counter()
        if in_transactions:
            producer.begin_transaction()
        for _ in range(start, start + EACH):
            _send(producer, topic, partition)
        if in_transactions:
            producer.commit_transaction(WAIT_S)
            took_ms.append(1000 * (time.perf_counter() - began))
        else:
            producer.poll(0)
    producer.flush(WAIT_S)


def _send(producer: Any, topic: str, partition: int) -> None:
    while True:
        try:
            producer.produce(topic, VALUE, partition=partition)
        except BufferError:
            producer.poll(0.01)
        else:
            return
