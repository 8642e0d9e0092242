"""The part of the demo in which a client reads a part of a topic, through a view."""

from __future__ import annotations

from collections.abc import Callable

import confluent_kafka
from rich.console import Console

TOPIC, VIEW = "shipments", "shipments-eu"
WHERE = "region = 'eu' and tier in ('gold', 'silver')"
REGIONS, TIERS = ("eu", "us", "ap"), ("gold", "silver", "bronze", "none")
COUNT = 12_000
PARTITIONS = 3
WAIT_S = 30

Run = Callable[..., None]


def view(address: str, run: Run, console: Console) -> bool:
    """Whether the view has what matches, once, and nothing else."""
    _send(address)
    run("view", "create", VIEW, "--of", TOPIC, "--where", WHERE)
    found = _read(address)
    expected = [n for n in range(COUNT) if _tags(n)[0][1] == "eu" and n // 3 % 4 < 2]
    console.print(f"  {COUNT:,} messages in {TOPIC}, {len(found):,} of them in {VIEW}")
    return sorted(found) == expected


def _tags(number: int) -> list[tuple[str, str]]:
    return [("region", REGIONS[number % 3]), ("tier", TIERS[number // 3 % 4])]


def _send(address: str) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "linger.ms": 20, "log_level": 0}
    )
    for number in range(COUNT):
        value = str(number).encode()
        producer.produce(TOPIC, value, str(number % 100).encode(), headers=_tags(number))
    producer.flush(WAIT_S)


def _read(address: str) -> list[int]:
    """By a client that knows nothing of views."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "demo-view",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    places = [confluent_kafka.TopicPartition(VIEW, index, 0) for index in range(PARTITIONS)]
    consumer.assign(places)
    found: list[int] = []
    ended: set[int | None] = set()
    while len(ended) < PARTITIONS:
        message = consumer.poll(WAIT_S)
        if message is None:
            raise SystemExit(f"nothing came from {VIEW} for {WAIT_S} s")
        if message.error():
            ended.add(message.partition())
        else:
            found.append(int(message.value() or b"-1"))
    consumer.close()
    return found
