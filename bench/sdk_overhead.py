"""What the SDK costs beside bare confluent-kafka: CPU of the client, all threads, a message.

Both do the same work in turn, on the same broker: text keys and values, delivery reports that are
looked at, and on the other side keys and values as text again. Bare confluent-kafka is used as well
as it can be: delivery reports served every 100 messages, 500 messages taken at once. What its own
examples do (`poll` for each message) is among the details.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import confluent_kafka

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from penstock import Consumer, Producer

COUNT = 300_000
"""So many that joining and leaving do not count."""
ROUNDS = 9
VALUE = "x" * 100
KEYS = [f"key-{number}" for number in range(100)]
TOPIC = "overhead"

Work = Callable[[str, int], None]
"""(address, round)"""


def producing(profile: Path | None = None) -> Result:
    return _compared("SDK, producing", _send, _send_bare, _send_bare_polling)


def consuming(profile: Path | None = None) -> Result:
    return _compared("SDK, consuming", _read, _read_bare, _read_bare_polling)


def consuming_batches(profile: Path | None = None) -> Result:
    return _compared("SDK, consuming batches", _read_batches, _read_bare, _read_bare_polling)


def _compared(title: str, ours: Work, bare: Work, usual: Work) -> Result:
    """The median of ratios, each of two runs back to back; who goes first takes turns."""
    ratios, costs = [], dict[Work, list[float]]()
    with PinnedBroker() as broker:
        address = f"{broker.host}:{broker.port}"
        _send_bare(address, 0)
        for number in range(1, ROUNDS + 1):
            order = (ours, bare, usual) if number % 2 else (bare, ours, usual)
            took = {work: _cpu_us(work, address, number) for work in order}
            ratios.append(took[ours] / took[bare])
            for work, cost in took.items():
                costs.setdefault(work, []).append(cost)
    ratio = median(ratios)
    details = (
        f"{min(ratios):.2f} to {max(ratios):.2f}; CPU us a message: SDK {median(costs[ours]):.2f}, "
        f"bare {median(costs[bare]):.2f}, with a poll for each {median(costs[usual]):.2f}"
    )
    return Result(title, ratio, "of bare confluent-kafka", "<= 1.2", ratio <= 1.2, details)


def _cpu_us(work: Work, address: str, number: int) -> float:
    began = time.process_time()
    work(address, number)
    return 1e6 * (time.process_time() - began) / COUNT


def _send(address: str, _: int) -> None:
    with Producer(address) as producer:
        for number in range(COUNT):
            producer.send(TOPIC, VALUE, key=KEYS[number % 100])


def _send_bare(address: str, _: int) -> None:
    _send_bare_polling(address, 0, 100)


def _send_bare_polling(address: str, _: int, every: int = 1) -> None:
    failed: list[object] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            failed.append(error)

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": address,
            "acks": "all",
            "enable.idempotence": True,
            "partitioner": "murmur2_random",
            "linger.ms": 10,
            "batch.size": 1_048_576,
            "message.max.bytes": 1_048_588,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 500_000,
        }
    )
    for number in range(COUNT):
        producer.produce(TOPIC, VALUE, key=KEYS[number % 100], on_delivery=delivered)
        if number % every == 0:
            producer.poll(0)
    producer.flush()
    assert not failed


def _read(address: str, number: int) -> None:
    read = 0
    with Consumer(address, TOPIC, group=f"ours-{number}") as consumer:
        for message in consumer:
            assert message.value
            assert message.key
            read += 1
            if read == COUNT:
                break


def _read_batches(address: str, number: int) -> None:
    read = 0
    with Consumer(address, TOPIC, group=f"batches-{number}") as consumer:
        for batch in consumer.batches():
            for message in batch:
                assert message.value
                assert message.key
            read += len(batch)
            if read >= COUNT:
                break


def _bare_consumer(address: str, group: str) -> Any:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "check.crcs": True,
            "fetch.min.bytes": 65_536,
            "fetch.wait.max.ms": 100,
            "fetch.message.max.bytes": 4_194_304,
            "queued.min.messages": 100_000,
        }
    )
    consumer.subscribe([TOPIC])
    return consumer


def _read_bare(address: str, number: int) -> None:
    consumer = _bare_consumer(address, f"bare-{number}")
    read = 0
    while read < COUNT:
        for message in consumer.consume(500, 0.05):
            assert message.error() is None
            assert message.value().decode()
            assert message.key().decode()
            read += 1
            if read == COUNT:
                break
    consumer.close()


def _read_bare_polling(address: str, number: int) -> None:
    consumer = _bare_consumer(address, f"polling-{number}")
    read = 0
    while read < COUNT:
        message = consumer.poll(1)
        if message is None:
            continue
        assert message.error() is None
        assert message.value().decode()
        assert message.key().decode()
        read += 1
    consumer.close()
