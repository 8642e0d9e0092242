"""Messages that wait for their time: which there are in a topic, and taking one back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from typing import NamedTuple

from penstock.client.admin import topic_configs
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.offsets import EARLIEST, LATEST, ends
from penstock.client.producer import Producer
from penstock.client.reader import Arrived, Reader
from penstock.errors import ErrorCode
from penstock.metadata.delayed_topics import scheduled_name
from penstock.wire.holding import CANCEL, CRON, DELAY, DELIVER_AT, NEXT_AT, SCHEDULED_ID
from penstock.wire.records import Headers, Record

SETTING = "delayed.delivery"
WAIT_MS = 20
"""A leader that has yet to look at its last records is asked again after that."""
_OURS = frozenset({DELIVER_AT, DELAY, CRON, SCHEDULED_ID, NEXT_AT})

Place = tuple[int, int]
"""A partition, and the offset at which a message was sent to it: that names it, wherever it is
kept meanwhile."""


class Scheduled(NamedTuple):
    due_ms: int
    partition: int
    offset: int
    key: bytes | None
    headers: Headers
    """Without those that say when."""
    size_bytes: int
    """Of key, value and headers."""
    cron: str | None
    """When it comes, of one that comes again and again."""


class Listing(NamedTuple):
    first: list[Scheduled]
    """Those that are due first, in that order."""
    total: int


def check_delays(client: WireClient, topic: str) -> None:
    """Where a topic has no delays, what is to wait would be delivered at once."""
    found = topic_configs(client, topic).get(SETTING)
    if found is not None and found.value == "true":
        return
    if source := client.retry(lambda deadline: client.topic(topic, deadline=deadline)).view_of:
        words = f"{topic} shows a part of topic {source}, and can only be read: name {source}"
        raise ClientError(ErrorCode.INVALID_TOPIC, words)
    raise ClientError(ErrorCode.INVALID_CONFIG, without_delays(topic))


def without_delays(topic: str) -> str:
    return (
        f"topic {topic} delivers every message at once; `penstock topic alter {topic} --set "
        f"{SETTING}=true` lets it hold those that are to wait"
    )


def list_scheduled(client: WireClient, topic: str, limit: int) -> Listing:
    check_delays(client, topic)
    total = 0

    def counted() -> Iterator[Scheduled]:
        nonlocal total
        for each in _held(client, topic):
            total += 1
            yield each

    first = nsmallest(limit, counted(), key=lambda each: each[:3])
    return Listing(first, total)


def cancel(
    client: WireClient, topic: str, places: Iterable[Place]
) -> Iterator[tuple[Place, ClientError | None]]:
    """One after the other: whether each will not be delivered, or why that is too late."""
    check_delays(client, topic)
    for partition, offset in places:
        try:
            producer = Producer(client, topic)
            producer.send(None, headers=((CANCEL, b"%d" % offset),), partition=partition)
            producer.flush()
        except ClientError as error:
            if error.code is not ErrorCode.INVALID_RECORD and not error.is_missing:
                raise
            yield (partition, offset), error
        else:
            yield (partition, offset), None


def _held(client: WireClient, topic: str) -> Iterator[Scheduled]:
    """What is held now, and nothing that comes meanwhile."""
    name = scheduled_name(topic)
    indexes = client.retry(lambda deadline: client.topic(name, deadline=deadline)).partitions
    stops = ends(client, name, indexes, LATEST)
    reader = Reader(client, name, ends(client, name, indexes, EARLIEST))
    while True:
        for index, position in list(reader.positions.items()):
            if position >= stops[index]:
                del reader.positions[index]
        if reader.lost:
            raise next(iter(reader.lost.values()))
        if not reader.positions:
            return
        for arrived in reader.poll(WAIT_MS):
            stop = stops[arrived.partition]
            yield from (held_as(arrived, each) for each in arrived.records() if each.offset < stop)


def held_as(arrived: Arrived, record: Record) -> Scheduled:
    """What the leader has carried forward says where it was sent; the rest is there still."""
    told = {name: content for name, content in record.headers if name in _OURS}
    offset = record.offset
    if arrived.header.is_by_leader:
        offset = int(told[SCHEDULED_ID] or b"")
    cron = told.get(CRON)
    at = told.get(DELIVER_AT if cron is None else NEXT_AT)
    due_ms = int(at or record.timestamp + int(told.get(DELAY) or b"0"))
    size = len(record.key or b"") + len(record.value or b"")
    size += sum(len(name) + len(content or b"") for name, content in record.headers)
    headers = tuple(each for each in record.headers if each[0] not in _OURS)
    text = None if cron is None else cron.decode(errors="backslashreplace")
    return Scheduled(due_ms, arrived.partition, offset, record.key, headers, size, text)
