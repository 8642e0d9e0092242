"""What applications on aiokafka do with a broker."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiokafka
import aiokafka.errors
import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from tests.broker_process import BrokerProcess

WAIT_S = 30
OLD_MS = 1_700_000_000_000
CREATE_TIME, LOG_APPEND_TIME = 0, 1
RESTARTS = pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill])


@asynccontextmanager
async def administering(broker: BrokerProcess) -> AsyncIterator[Any]:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.address)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def create(broker: BrokerProcess, topic: str, partitions: int = 1, **settings: str) -> None:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    async with administering(broker) as admin:
        done = await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=named)])
    assert [error[1] for error in done.topic_errors] == [0]


@asynccontextmanager
async def producing(broker: BrokerProcess, **settings: Any) -> AsyncIterator[Any]:
    """Its default is acks=1, after which a record is there but not yet committed and shown."""
    named = {"acks": "all", **settings}
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=broker.address, **named)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def send(
    broker: BrokerProcess, topic: str, values: list[bytes], **settings: Any
) -> list[Any]:
    """In one batch, in partition 0; what was acknowledged."""
    async with producing(broker, linger_ms=20, **settings) as producer:
        sent = [await producer.send(topic, value, partition=0) for value in values]
        return list(await asyncio.wait_for(asyncio.gather(*sent), WAIT_S))


@asynccontextmanager
async def consuming(
    broker: BrokerProcess, places: dict[TopicPartition, int], **settings: Any
) -> AsyncIterator[Any]:
    """A consumer at these offsets."""
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=broker.address,
        fetch_max_wait_ms=settings.pop("fetch_max_wait_ms", 50),
        enable_auto_commit=False,
        **settings,
    )
    await consumer.start()
    try:
        consumer.assign(list(places))
        for place, offset in places.items():
            consumer.seek(place, offset)
        yield consumer
    finally:
        await consumer.stop()


async def take(consumer: Any, count: int) -> list[Any]:
    """The next records; no more than these are taken."""
    found: list[Any] = []
    deadline_s = time.monotonic() + WAIT_S
    while len(found) < count:
        assert time.monotonic() < deadline_s, f"only {len(found)} of {count} came"
        polled = await consumer.getmany(timeout_ms=1000, max_records=count - len(found))
        for records in polled.values():
            found += records
    return found


def values(records: list[Any]) -> list[bytes]:
    return [record.value for record in records]


def numbers(first: int, last: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, last)]


@pytest.mark.parametrize(
    "settings",
    [{"acks": 0}, {"acks": 1}, {"acks": "all"}, {"enable_idempotence": True}],
    ids=["acks 0", "acks 1", "acks all", "idempotent"],
)
async def test_every_kind_of_acknowledgement_delivers(
    broker: BrokerProcess, topic: str, settings: dict[str, Any]
) -> None:
    await create(broker, topic)
    acknowledged = await send(broker, topic, numbers(0, 50), **settings)
    if settings != {"acks": 0}:
        assert [each.offset for each in acknowledged] == list(range(50))
    async with consuming(broker, {TopicPartition(topic, 0): 0}) as consumer:
        assert values(await take(consumer, 50)) == numbers(0, 50)


async def test_all_that_a_record_may_carry_comes_back(broker: BrokerProcess, topic: str) -> None:
    headers = [("twice", b"1"), ("twice", b"2"), ("empty", b""), ("é", b"\xff")]
    records: list[dict[str, Any]] = [
        {"key": b"key", "value": b"value", "headers": headers, "timestamp_ms": OLD_MS},
        {"key": None, "value": b"no key", "timestamp_ms": OLD_MS + 5},
        {"key": b"tombstone", "value": None, "timestamp_ms": OLD_MS + 3},
        {"key": b"", "value": b"", "timestamp_ms": OLD_MS + 4},
    ]
    async with producing(broker) as producer:
        for offset, record in enumerate(records):
            sent = await producer.send_and_wait(topic, partition=0, **record)
            assert (sent.offset, sent.timestamp) == (offset, record["timestamp_ms"])
    async with consuming(broker, {TopicPartition(topic, 0): 0}) as consumer:
        found = await take(consumer, 4)
    assert [(each.key, each.value, each.timestamp) for each in found] == [
        (record["key"], record["value"], record["timestamp_ms"]) for record in records
    ]
    assert [list(each.headers) for each in found] == [headers, [], [], []]
    assert {each.timestamp_type for each in found} == {CREATE_TIME}


async def test_several_partitions_are_written_and_read_at_once(
    broker: BrokerProcess, topic: str
) -> None:
    await create(broker, topic, 4)
    async with producing(broker) as producer:
        sent = [await producer.send(topic, b"%d" % n, partition=n % 4) for n in range(400)]
        got = await asyncio.wait_for(asyncio.gather(*sent), WAIT_S)
    places = sorted((each.partition, each.offset) for each in got)
    assert places == [(p, offset) for p in range(4) for offset in range(100)]
    async with consuming(broker, {TopicPartition(topic, p): 0 for p in range(4)}) as consumer:
        found = await take(consumer, 400)
    for partition in range(4):
        read = [int(each.value) for each in found if each.partition == partition]
        assert read == list(range(partition, 400, 4))


async def test_the_largest_message_goes_through_and_a_larger_one_is_refused(
    broker: BrokerProcess, topic: str
) -> None:
    async with producing(broker, max_request_size=4_000_000) as producer:
        assert (await producer.send_and_wait(topic, b"x" * 1_048_500)).offset == 0
        with pytest.raises(aiokafka.errors.MessageSizeTooLargeError):
            await producer.send_and_wait(topic, b"x" * 1_048_588)
        assert (await producer.send_and_wait(topic, b"x" * 10)).offset == 1
    async with consuming(broker, {TopicPartition(topic, 0): 0}) as consumer:
        found = await take(consumer, 2)
    assert [len(value) for value in values(found)] == [1_048_500, 10]


async def test_a_timestamp_far_in_the_future_is_refused(broker: BrokerProcess, topic: str) -> None:
    async with producing(broker) as producer:
        with pytest.raises(aiokafka.errors.InvalidTimestampError):
            await producer.send_and_wait(topic, b"a", timestamp_ms=9_000_000_000_000)


async def test_a_consumer_starts_where_it_is_told_and_seeks(
    broker: BrokerProcess, topic: str
) -> None:
    await send(broker, topic, numbers(0, 100))
    place = TopicPartition(topic, 0)
    async with consuming(broker, {place: 0}) as consumer:
        assert values(await take(consumer, 3)) == numbers(0, 3)
        for offset in (60, 7, 99, 0, 50):
            consumer.seek(place, offset)
            assert values(await take(consumer, 1)) == [b"%d" % offset], "inside the batch"
            assert await consumer.position(place) == offset + 1
        await consumer.seek_to_beginning(place)
        assert values(await take(consumer, 100)) == numbers(0, 100)
        await consumer.seek_to_end(place)
        assert await consumer.position(place) == 100
        await send(broker, topic, [b"new"])
        assert values(await take(consumer, 1)) == [b"new"]


async def test_a_paused_partition_is_silent_until_it_is_resumed(
    broker: BrokerProcess, topic: str
) -> None:
    await create(broker, topic, 2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    async with (
        consuming(broker, {first: 0, second: 0}) as consumer,
        producing(broker) as producer,
    ):
        consumer.pause(first)
        for number in range(20):
            await producer.send_and_wait(topic, b"%d" % number, partition=number % 2)
        assert {record.partition for record in await take(consumer, 10)} == {1}
        consumer.resume(first)
        assert {record.partition for record in await take(consumer, 10)} == {0}


async def test_times_have_offsets_and_partitions_have_ends(
    broker: BrokerProcess, topic: str
) -> None:
    await create(broker, topic, 2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    async with producing(broker, linger_ms=20) as producer:
        for number in range(10):
            await producer.send(topic, b"x", partition=0, timestamp_ms=OLD_MS + 10 * number)
    async with consuming(broker, {first: 0}) as consumer:

        async def offset_at(timestamp: int) -> int | None:
            found = (await consumer.offsets_for_times({first: timestamp}))[first]
            return None if found is None else int(found.offset)

        times = (0, OLD_MS, OLD_MS + 1, OLD_MS + 50, OLD_MS + 90, OLD_MS + 91)
        assert [await offset_at(each) for each in times] == [0, 0, 1, 5, 9, None]
        assert await consumer.beginning_offsets([first, second]) == {first: 0, second: 0}
        assert await consumer.end_offsets([first, second]) == {first: 10, second: 0}
        await take(consumer, 10)
        assert consumer.highwater(first) == 10


async def test_the_broker_sets_the_time_where_the_topic_says_so(
    broker: BrokerProcess, topic: str
) -> None:
    await create(broker, topic, message_timestamp_type="LogAppendTime")
    async with producing(broker) as producer:
        told = await producer.send_and_wait(topic, b"x", timestamp_ms=OLD_MS)
    async with consuming(broker, {TopicPartition(topic, 0): 0}) as consumer:
        (found,) = await take(consumer, 1)
    assert (told.timestamp_type, found.timestamp_type) == (LOG_APPEND_TIME, LOG_APPEND_TIME)
    assert found.timestamp == told.timestamp > OLD_MS


async def test_a_consumer_that_waits_gets_what_is_produced_later(
    broker: BrokerProcess, topic: str
) -> None:
    await create(broker, topic)
    places = {TopicPartition(topic, 0): 0}
    patient = {"fetch_max_wait_ms": 2 * WAIT_S * 1000, "request_timeout_ms": 4 * WAIT_S * 1000}
    async with consuming(broker, places, **patient) as consumer:
        waiting = asyncio.create_task(consumer.getone())
        assert not (await asyncio.wait([waiting], timeout=0.2))[0]
        await send(broker, topic, [b"first"])
        assert (await asyncio.wait_for(waiting, WAIT_S)).value == b"first"
        for value in numbers(0, 5):
            await send(broker, topic, [value])
            assert values(await take(consumer, 1)) == [value]


async def test_news_of_some_of_many_partitions_arrive(broker: BrokerProcess, topic: str) -> None:
    await create(broker, topic, 12)
    places = {TopicPartition(topic, p): 0 for p in range(12)}
    async with consuming(broker, places) as consumer, producing(broker) as producer:
        for turn in range(20):
            chosen = {turn % 12, turn * 5 % 12}
            for partition in chosen:
                await producer.send(topic, b"%d" % turn, partition=partition)
            await producer.flush()
            found = await take(consumer, len(chosen))
            assert {record.partition for record in found} == chosen
            assert set(values(found)) == {b"%d" % turn}


async def test_a_topic_is_made_by_producing_and_listed(broker: BrokerProcess, topic: str) -> None:
    async with consuming(broker, {}) as consumer:
        assert topic not in await consumer.topics()
        (acknowledged,) = await send(broker, topic, [b"a"])
        assert acknowledged.offset == 0
        assert topic in await consumer.topics()
    async with producing(broker) as producer:
        assert await producer.partitions_for(topic) == {0}


async def test_a_running_producer_finds_new_partitions(broker: BrokerProcess, topic: str) -> None:
    await create(broker, topic)
    async with producing(broker, metadata_max_age_ms=50) as producer:

        async def partitions_hit() -> set[int]:
            sent = [await producer.send(topic, b"x", b"%d" % number) for number in range(50)]
            return {each.partition for each in await asyncio.gather(*sent)}

        assert await partitions_hit() == {0}
        async with administering(broker) as admin:
            await admin.create_partitions({topic: NewPartitions(3)})
        deadline_s = time.monotonic() + WAIT_S
        while await partitions_hit() != {0, 1, 2}:
            assert time.monotonic() < deadline_s


async def test_a_consumer_outlives_the_deletion_of_one_of_its_topics(
    broker: BrokerProcess, topic: str
) -> None:
    kept = topic + "-kept"
    for name in (topic, kept):
        await send(broker, name, [b"a"])
    places = {TopicPartition(topic, 0): 0, TopicPartition(kept, 0): 0}
    async with consuming(broker, places) as consumer:
        assert {record.topic for record in await take(consumer, 2)} == {topic, kept}
        async with administering(broker) as admin:
            await admin.delete_topics([topic])
        for value in numbers(0, 5):
            await send(broker, kept, [value])
            assert values(await take(consumer, 1)) == [value]
        await send(broker, topic, [b"anew"])
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        assert values(await take(consumer, 1)) == [b"anew"]


async def test_a_gone_offset_is_reset_as_the_consumer_wishes(
    broker: BrokerProcess, topic: str
) -> None:
    await send(broker, topic, numbers(0, 10))
    place = TopicPartition(topic, 0)
    async with administering(broker) as admin:
        await admin.delete_records({place: RecordsToDelete(before_offset=6)})
    async with consuming(broker, {place: 2}, auto_offset_reset="earliest") as consumer:
        assert values(await take(consumer, 4)) == numbers(6, 10)
        assert await consumer.beginning_offsets([place]) == {place: 6}
    async with consuming(broker, {place: 2}, auto_offset_reset="latest") as consumer:
        deadline_s = time.monotonic() + WAIT_S
        while await consumer.position(place) != 10:
            assert await consumer.getmany(timeout_ms=50) == {}
            assert time.monotonic() < deadline_s
        await send(broker, topic, [b"new"])
        assert values(await take(consumer, 1)) == [b"new"]
    async with consuming(broker, {place: 2}, auto_offset_reset="none") as consumer:
        with pytest.raises(aiokafka.errors.OffsetOutOfRangeError):
            await take(consumer, 1)
    async with consuming(broker, {place: 1000}, auto_offset_reset="earliest") as consumer:
        assert values(await take(consumer, 1)) == [b"6"]


@RESTARTS
async def test_producer_and_consumer_go_on_after_a_restart(
    own_broker: Callable[..., BrokerProcess],
    topic: str,
    end: Callable[[BrokerProcess], Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, "aiokafka")
    server = await asyncio.to_thread(own_broker().start)
    await create(server, topic)
    enough = asyncio.Event()
    acknowledged: list[Any] = []

    async def stream(producer: Any) -> None:
        while not enough.is_set():
            first = len(acknowledged)
            sent = [
                await producer.send(topic, value, partition=0)
                for value in numbers(first, first + 100)
            ]
            acknowledged.extend(await asyncio.gather(*sent))

    async with (
        consuming(server, {TopicPartition(topic, 0): 0}) as consumer,
        producing(server, enable_idempotence=True, retry_backoff_ms=50) as producer,
    ):
        sending = asyncio.create_task(stream(producer))
        found = await take(consumer, 1000)
        await asyncio.to_thread(end, server)
        before = len(acknowledged)
        await asyncio.to_thread(server.start)
        while len(acknowledged) < before + 500:
            found += await take(consumer, 100)
        enough.set()
        await asyncio.wait_for(sending, WAIT_S)
        found += await take(consumer, len(acknowledged) - len(found))
    assert [each.offset for each in acknowledged] == list(range(len(acknowledged)))
    assert values(found) == numbers(0, len(acknowledged))
    assert "Traceback" not in server.log
