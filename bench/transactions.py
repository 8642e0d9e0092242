"""What transactions cost: the same messages with a commit after every thousand, and without.

A producer waits for each commit, which takes as long as its last records and the commit need to be
synced, one after the other. Others go on meanwhile. So several producers show what is left of
their throughput together, and one by itself what transactions cost who waits. With eight and more
the core of the load is full, and not the broker's. Settings are those of the SDK for throughput,
but for compression.
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
from penstock.sdk.semantics import PRODUCER_TUNE, Tune

EACH = 1000
ROUNDS = 5
WAIT_S = 60
GOAL = 0.85
UNSYNCED = ("log.flush.on.acks.all=false",)
AS_THE_SDK = {each.name: each.value for each in PRODUCER_TUNE[Tune.THROUGHPUT]}

admin_types: Any = confluent_kafka.admin
"""Its types are not all there."""


class Case(NamedTuple):
    name: str
    producers: int = 1
    value_bytes: int = 1024
    messages: int = 60_000
    """Of each producer in a round."""
    batch_bytes: int = AS_THE_SDK["batch.size"]


ALONE = Case("one producer")
EIGHT = Case("8 producers", producers=8, messages=30_000)
"""So many that the broker has something to do whenever some of them wait."""
FEWER_AND_MORE = (
    Case("4 producers", producers=4, messages=40_000),
    Case("16 producers", producers=16, messages=20_000),
)
OTHERS = (
    Case("one with 100 B", value_bytes=100),
    Case("with 4 KiB", value_bytes=4096, messages=15_000),
    Case("with batches of half the size", batch_bytes=AS_THE_SDK["batch.size"] // 2),
)


class Cost(NamedTuple):
    ratios: Sequence[float]
    """Of the throughput without transactions, by round."""
    took_ms: Sequence[float]
    """From begin to committed."""
    rate: float
    """Messages a second in transactions, in the median round."""

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    def __str__(self) -> str:
        low, high = min(self.ratios), max(self.ratios)
        return (
            f"{self.ratio:.2f} ({low:.2f} to {high:.2f}; {self.rate:,.0f}/s, "
            f"{median(self.took_ms):.1f} ms each)"
        )


def of_several(profile: Path | None = None) -> Result:
    """What they cost together: while one producer waits, others go on."""
    with PinnedBroker(profile=profile) as broker:
        eight = _measured(broker, EIGHT)
        others = [f"{case.name} {_measured(broker, case)}" for case in FEWER_AND_MORE]
    return _result(EIGHT.name, eight, "; ".join(others))


def of_one(profile: Path | None = None) -> Result:
    """What they cost who waits for each commit before going on."""
    with PinnedBroker(profile=profile) as broker:
        alone = _measured(broker, ALONE)
        others = [f"{case.name} {_measured(broker, case)}" for case in OTHERS]
    with PinnedBroker(*UNSYNCED) as broker:
        unsynced = _measured(broker, ALONE)
    return _result(
        ALONE.name, alone, f"{'; '.join(others)}; with nothing synced on either side {unsynced}"
    )


def _result(who: str, cost: Cost, others: str) -> Result:
    return Result(
        f"throughput in transactions of 1,000 messages, against without, {who}",
        cost.ratio,
        "of it",
        f"at least {GOAL}",
        cost.ratio >= GOAL,
        f"1 KiB each, acks=all, synced; {cost}; {others}",
    )


def _measured(broker: PinnedBroker, case: Case) -> Cost:
    """Rounds in turn, so that both have the same hour of the machine."""
    address, topic = f"{broker.host}:{broker.port}", case.name.replace(" ", "-")
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    admin.create_topics([admin_types.NewTopic(topic, case.producers, 1)])[topic].result()
    plain = [_producer(address, case) for _ in range(case.producers)]
    within = [_producer(address, case, f"{topic}-{at}") for at in range(case.producers)]
    for each in within:
        each.init_transactions(WAIT_S)
    ratios: list[float] = []
    rates: list[float] = []
    took_ms: list[float] = []
    for _ in range(ROUNDS + 1):
        without = _rate(plain, topic, case)
        rates.append(_rate(within, topic, case, took_ms))
        ratios.append(rates[-1] / without)
    _check_all_is_there(address, topic, case)
    return Cost(ratios[1:], took_ms, median(rates[1:]))  # connections are made in the first


def _producer(address: str, case: Case, name: str = "") -> Any:
    settings: dict[str, Any] = {
        "bootstrap.servers": address,
        "enable.idempotence": True,
        "log_level": 0,
        **AS_THE_SDK,
        "compression.type": "none",
        "batch.size": case.batch_bytes,
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


def _check_all_is_there(address: str, topic: str, case: Case) -> None:
    """A batch that was refused would have been quick."""
    reader: Any = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": "none"})
    ends = [
        reader.get_watermark_offsets(confluent_kafka.TopicPartition(topic, number))[1]
        for number in range(case.producers)
    ]
    reader.close()
    sent = 2 * case.messages * (ROUNDS + 1)
    markers = case.messages // EACH * (ROUNDS + 1)
    assert ends == [sent + markers] * case.producers, f"{ends}, {sent} and {markers} each expected"
