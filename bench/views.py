"""What it costs the broker to read a topic through a view, which leaves most or half of it out."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import FETCH_VERSION, RawClient, fetch_frame, produce_frame
from bench.watched_broker import watched_broker
from penstock.wire.batch import read_header, size_at
from penstock.wire.batch_builder import build_batch
from penstock.wire.codec import decode_response
from penstock.wire.compression import Codec
from penstock.wire.messages import message_types
from penstock.wire.records import Record

BATCH_RECORDS = 500
VALUE_BYTES = 100
ANSWER_BYTES = 1 << 20
START_MS = 1_794_830_400_000
WHERE = "region = 'eu'"

LARGE_BATCH_RECORDS, LARGE_BATCHES = 8_000, 50
SMALL_BATCHES = 2000
FEW = 10
"""Batches that match, of all in a topic of which hardly anything does."""


def few_matches(profile: Path | None = None, batches: int = 20_000) -> Result:
    """Ten batches of 20,000: the first reader makes the index, and the second uses it."""
    other, wanted = (batch_of([region]) for region in (b"us", b"eu"))
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("orders")
        for _ in range(FEW):
            _send(client, other, batches // FEW - 1)
            _send(client, wanted, 1)
        _make_view(client)
        first = _scanned(broker, client, batches, FEW * BATCH_RECORDS)
        again = _scanned(broker, client, batches, FEW * BATCH_RECORDS)
    rate, cost = again
    details = (
        f"{cost:.3f} CPU us a message; by the first reader, who makes the index, "
        f"{first[0] / 1e6:.2f} M messages/s at {first[1]:.3f} CPU us"
    )
    return Result(
        "a view of ten batches in 20,000", rate / 1e6, "M messages/s", ">= 5", rate >= 5e6, details
    )


def half_matches(profile: Path | None = None, batches: int = 2000) -> Result:
    """Every other message, so that every batch is made anew."""
    plain, packed = (_half(codec, profile, batches) for codec in (Codec.NONE, Codec.LZ4))
    rate = 1e6 / plain[1]
    details = (
        f"{plain[0] / 1e3:.0f} k/s by the clock; lz4 {1e3 / packed[1]:.0f} k messages a CPU s, "
        f"{packed[0] / 1e3:.0f} k/s by the clock"
    )
    title = "a view of every other message"
    return Result(title, rate / 1e3, "k messages a CPU s", ">= 500", rate >= 5e5, details)


def _half(codec: Codec, profile: Path | None, batches: int) -> tuple[float, float]:
    """As who reads it the second time finds it; the first one makes the index too."""
    batch, matches = batch_of([b"eu", b"us"], codec), batches * BATCH_RECORDS // 2
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("orders")
        _send(client, batch, batches)
        _make_view(client)
        _scanned(broker, client, batches, matches)
        return _scanned(broker, client, batches, matches)


def longest_hold(profile: Path | None = None) -> Result:
    """Of the broker's loop, while views are read for the first time and again: of large compressed
    batches, which are opened elsewhere, and of many small ones."""
    large = _held_by(Codec.ZSTD, LARGE_BATCH_RECORDS, LARGE_BATCHES, profile)
    small = _held_by(Codec.NONE, BATCH_RECORDS, SMALL_BATCHES, profile)
    details = f"{large:.1f} ms by zstd batches of {LARGE_BATCH_RECORDS:,}, {small:.1f} by others"
    held = max(large, small)
    return Result("a view is read: the loop is held", held, "ms", "<= 10", held <= 10, details)


def _held_by(codec: Codec, records: int, batches: int, profile: Path | None) -> float:
    batch = batch_of([b"eu", b"us"], codec, records)
    with watched_broker(profile) as (broker, client):
        client.create_topic("orders")
        _send(client, batch, batches)
        _make_view(client)
        broker.look()
        for _ in range(2):
            read_view(client, batches * records)
        return broker.look().longest


def batch_of(regions: list[bytes], codec: Codec = Codec.NONE, count: int = BATCH_RECORDS) -> bytes:
    """Half of a value is always the same, half differs from record to record."""
    half, chance = VALUE_BYTES // 2, Random(count)
    records = [
        Record(
            number,
            START_MS + number,
            b"key-%d" % number,
            chance.randbytes(half) + bytes(half),
            ((b"region", regions[number % len(regions)]), (b"tier", b"gold")),
        )
        for number in range(count)
    ]
    return bytes(build_batch(records, codec=codec))


def _send(client: RawClient, batch: bytes, count: int) -> None:
    frame = produce_frame("orders", 0, batch, 1)
    client.await_taken(frame)
    for _ in range(count - 1):
        client.ask(frame)


def _make_view(client: RawClient) -> None:
    configs = {"view.of": "orders", "view.where": WHERE}
    client.create_topic("view", -1, configs, replicas=-1)


def _scanned(
    broker: PinnedBroker, client: RawClient, batches: int, matches: int
) -> tuple[float, float]:
    """From start to end: messages that the broker has gone past a second, and CPU us for each."""
    total = batches * BATCH_RECORDS
    spent = broker.spent()
    found = read_view(client, total)
    seconds, cpu = spent()
    assert found == matches, f"{found} of {matches} messages match"
    return total / seconds, 1e6 * cpu / total


def read_view(client: RawClient, end: int) -> int:
    """How many records it has. Only the headers of batches are looked at."""
    kind: Any = message_types(1)[1]
    offset = found = 0
    while offset < end:
        frame = fetch_frame("view", offset, ANSWER_BYTES, wait_ms=500)
        answer: Any = decode_response(kind, client.ask(frame), FETCH_VERSION)[1]
        data = answer.responses[0].partitions[0]
        assert not data.error_code, data
        records, position = memoryview(data.records or b""), 0
        while position < len(records):
            header = read_header(records, position)
            offset = header.next_offset
            found += 0 if header.is_control else header.record_count
            position += size_at(records, position)
    return found
