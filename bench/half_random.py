"""Messages that compress to about half: half of each value is chance, the rest is text."""

from __future__ import annotations

import random

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.producer import Producer

BATCH_RECORDS, BATCH_BYTES = 1000, 1 << 20
_TEXT = b'{"status":"delivered","city":"somewhere","note":"left at the door as was agreed"},' * 16


def fill(client: WireClient, topic: str, partitions: int, count: int, size: int) -> None:
    """In batches as a busy producer makes them, spread evenly."""
    chance = random.Random(topic)
    rest = (_TEXT * (size // len(_TEXT) + 1))[: size - size // 2]
    admin.create_topic(client, topic, partitions=partitions)
    producer = Producer(client, topic, batch_records=BATCH_RECORDS, batch_bytes=BATCH_BYTES)
    for number in range(count):
        value = chance.randbytes(size // 2) + rest
        producer.send(value, b"%d" % number, partition=number // BATCH_RECORDS % partitions)
    producer.flush()
