"""What it takes to give delays to a topic that is large already: all of it is gone through."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any

from bench.delays import end_of, held_any_time, send_all
from bench.measurement import Result
from bench.raw_client import FETCH_VERSION, RawClient, batch_of, fetch_frame, produce_frame
from bench.watched_broker import watched_broker
from penstock.wire.codec import decode_response
from penstock.wire.messages import message_types
from penstock.wire.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

LARGE_BYTES = 1 << 30
RECORDS, VALUE_BYTES = 100, 100
AT_ONCE = 40
TOPIC, ALTER_VERSION, SET = 2, 1, 0


def large_topic(profile: Path | None = None) -> Result:
    """1 GiB in batches of 12 KB. Meanwhile records are produced and fetched, one at a time."""
    with watched_broker(profile) as (broker, client):
        client.create_topic("orders")
        batch = batch_of(RECORDS, VALUE_BYTES)
        frame = produce_frame("orders", 0, batch, 1)
        client.await_taken(frame)
        rounds = LARGE_BYTES // len(batch) // AT_ONCE
        client.pipeline(frame, rounds * AT_ONCE, window=10 * AT_ONCE, at_once=AT_ONCE)
        broker.look()
        cpu, began = broker.cpu_seconds(), time.perf_counter()
        _begin(client)
        longest_ms, times = _use(client)
        seconds, spent = time.perf_counter() - began, broker.cpu_seconds() - cpu
        held = broker.look().longest
    details = (
        f"known after {seconds:.1f} s, at {spent:.1f} s of CPU; {times} times meanwhile a record "
        f"was produced and fetched, in {longest_ms:.0f} ms at most"
    )
    return Result("delays for 1 GiB: the loop is held", held, "ms", "<= 10", held <= 10, details)


def _begin(client: RawClient) -> None:
    change = AlterConfigsResource(
        TOPIC, "orders", [AlterableConfig("delayed.delivery", SET, "true")]
    )
    answer = client.request(IncrementalAlterConfigsRequest([change]), ALTER_VERSION)
    assert not answer.responses[0].error_code, answer


def _use(client: RawClient) -> tuple[float, int]:
    """Until what is held is known: the longest that a record took, and how many there were."""
    send_all(client, [held_any_time(Random(0), 1)])
    offset = end_of(client) - 1
    small, longest_ms, times = produce_frame("orders", 0, batch_of(1, VALUE_BYTES), 1), 0.0, 0
    while not _records(client, "orders.scheduled", offset):
        began, end = time.perf_counter(), end_of(client)
        client.await_taken(small)
        assert _records(client, "orders", end, wait_ms=1000)
        longest_ms = max(longest_ms, 1000 * (time.perf_counter() - began))
        times += 1
    return longest_ms, times


def _records(client: RawClient, topic: str, offset: int, wait_ms: int = 0) -> Any:
    frame = fetch_frame(topic, offset, 1 << 20, wait_ms=wait_ms)
    answer: Any = decode_response(message_types(1)[1], client.ask(frame), FETCH_VERSION)[1]
    data = answer.responses[0].partitions[0]
    return None if data.error_code else data.records
