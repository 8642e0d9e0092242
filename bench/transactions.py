"""What transactions cost: the same messages with a commit after every thousand, and without."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Any

import confluent_kafka
import confluent_kafka.admin

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker

EACH = 1000
MESSAGES = 60_000
ROUNDS = 5
VALUE = bytes(1024)
WAIT_S = 60

admin_types: Any = confluent_kafka.admin
"""Its types are not all there."""


def cost(profile: Path | None = None) -> Result:
    """Rounds in turn, so that both have the same hour of the machine."""
    with PinnedBroker(profile=profile) as broker:
        address = f"{broker.host}:{broker.port}"
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
        topic = admin_types.NewTopic("messages", 1, 1)
        admin.create_topics([topic])["messages"].result()
        plain, open_ = _producer(address), _producer(address, "bench")
        open_.init_transactions(WAIT_S)
        _rate(plain, in_transactions=False)
        _rate(open_, in_transactions=True)
        pairs = [
            (_rate(plain, in_transactions=False), _rate(open_, in_transactions=True))
            for _ in range(ROUNDS)
        ]
    ratio = median(within / without for without, within in pairs)
    without = median(each for each, _ in pairs)
    within = median(each for _, each in pairs)
    return Result(
        "throughput in transactions of 1,000 messages, against without",
        ratio,
        "of it",
        "at least 0.85",
        ratio >= 0.85,
        f"{without:,.0f} messages/s without, {within:,.0f} with, 1 KiB each, acks=all, synced; "
        f"ratios {', '.join(f'{within / without:.2f}' for without, within in pairs)}",
    )


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


def _rate(producer: Any, *, in_transactions: bool) -> float:
    """Messages a second, from the first to the last that is acknowledged."""
    began = time.perf_counter()
    for start in range(0, MESSAGES, EACH):
        if in_transactions:
            producer.begin_transaction()
        for _ in range(start, start + EACH):
            _send(producer)
        if in_transactions:
            producer.commit_transaction(WAIT_S)
        else:
            producer.poll(0)
    producer.flush(WAIT_S)
    return MESSAGES / (time.perf_counter() - began)


def _send(producer: Any) -> None:
    while True:
        try:
            producer.produce("messages", VALUE, partition=0)
        except BufferError:
            producer.poll(0.01)
        else:
            return
