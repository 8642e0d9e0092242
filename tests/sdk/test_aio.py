"""The asyncio variants, against a broker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.sdk.reading import SOON_S, read_async, values

from penstock import AsyncConsumer, AsyncProducer, Producer
from penstock.sdk import (
    DeliveryFailed,
    Json,
    Message,
    Misconfigured,
    NotDeserializable,
    NotSerializable,
    PenstockError,
    Unreachable,
)

Make = Callable[..., Any]
NOWHERE = "127.0.0.1:1"


def reading(broker: BrokerProcess, topic: str, **options: Any) -> AsyncConsumer[Any]:
    options = {"tune": "latency", "idle_timeout": 5.0, "group": f"of-{topic}", **options}
    return AsyncConsumer(broker.address, topic, **options)


async def test_what_was_sent_is_read(broker: BrokerProcess, make_topic: Make) -> None:
    name = make_topic()
    async with AsyncProducer(broker.address) as producer:
        assert (await producer.send(name, "0", key="k", tags={"a": "b"})).offset == 0
        places = await asyncio.gather(*(producer.send(name, str(n)) for n in range(1, 300)))
    assert [place.offset for place in places] == list(range(1, 300))
    async with reading(broker, name) as consumer:
        found = await read_async(consumer, 300)
    assert values(found) == [str(number) for number in range(300)]
    assert found[0].tags == {"a": "b"}


async def test_no_thread_per_message(broker: BrokerProcess, make_topic: Make) -> None:
    name = make_topic()
    async with AsyncProducer(broker.address) as producer:
        await producer.send(name, "first")
        before = threading.active_count()
        tasks = [asyncio.create_task(producer.send(name, "v")) for _ in range(200)]
        await asyncio.sleep(0)
        assert threading.active_count() <= before, "those of other tests may end"
        await asyncio.gather(*tasks)


async def test_enqueue_does_not_wait_and_flush_does(
    broker: BrokerProcess, make_topic: Make
) -> None:
    name = make_topic()
    settings = {"queue.buffering.max.messages": 10}
    async with AsyncProducer(broker.address, settings=settings) as producer:
        sent = [await producer.enqueue(name, str(number)) for number in range(100)]
        await producer.flush()
        assert all(each.is_done for each in sent)


async def test_a_failed_delivery_is_raised_where_it_is_awaited(
    broker: BrokerProcess, make_topic: Make
) -> None:
    name = make_topic(max_message_bytes="1000")
    async with AsyncProducer(broker.address, tune="latency") as producer:
        with pytest.raises(DeliveryFailed, match=name):
            await producer.send(name, "x" * 100_000)
        await producer.enqueue(name, "x" * 100_000)
        with pytest.raises(DeliveryFailed, match=name):
            await producer.flush()
        with pytest.raises(NotSerializable):
            await producer.send(name, 1.5)  # type: ignore[arg-type]


async def test_a_broker_that_is_not_there() -> None:
    async with AsyncProducer(NOWHERE, timeout=0.5) as producer:
        with pytest.raises(Unreachable):
            await producer.send("topic", "v")
    async with AsyncConsumer(NOWHERE, "topic", group="g", timeout=0.5) as consumer:
        with pytest.raises(Unreachable):
            await consumer.poll(0)


async def test_batches_seek_pause_and_commit(
    broker: BrokerProcess, producer: Producer, make_topic: Make
) -> None:
    name = make_topic()
    for number in range(20):
        producer.send(name, str(number))
    producer.flush()
    async with reading(broker, name) as consumer:
        async for batch in consumer.batches(5):
            assert batch[0].value == "0"
            break
        await consumer.seek(name, 0, 10)
        first = await consumer.poll(30)
        assert first
        assert first.value == "10"
        await consumer.pause()
        assert await consumer.poll(0.3) is None
        await consumer.resume()
        second = await consumer.poll(30)
        assert second
        assert second.value == "11"
        await consumer.commit()
        assert len(await consumer.assignment()) == 1
    async with reading(broker, name) as consumer:
        third = await consumer.poll(30)
    assert third
    assert third.value == "12"


async def test_who_is_cancelled_while_waiting_loses_nothing(
    broker: BrokerProcess, producer: Producer, make_topic: Make
) -> None:
    name = make_topic()
    async with reading(broker, name) as consumer:
        waiting = asyncio.create_task(consumer.poll(60))
        await consumer.assignment()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        producer.send(name, "v").result(30)
        found = await consumer.poll(30)
    assert found
    assert found.value == "v"


async def test_a_batch_that_nobody_waits_for_any_more_is_handed_out_later(
    broker: BrokerProcess, producer: Producer, make_topic: Make
) -> None:
    name = make_topic()
    for number in range(30):
        producer.send(name, str(number))
    producer.flush()
    async with reading(broker, name) as consumer:
        waiting = asyncio.ensure_future(anext(aiter(consumer.batches(1000, timeout=60))))
        while len(consumer.consumer.buffer) < 30:
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        found: list[str] = []
        async for batch in consumer.batches(10):
            found += values(batch)
            if len(found) >= 30:
                consumer.consumer.idle_timeout = SOON_S
    assert found == [str(number) for number in range(30)]


async def test_what_cannot_be_read_is_told_also_after_a_cancelled_wait(
    broker: BrokerProcess, producer: Producer, make_topic: Make
) -> None:
    name = make_topic()
    producer.send(name, "nothing").result(30)
    async with reading(broker, name, deserializer=Json(int)) as consumer:
        waiting = asyncio.create_task(consumer.poll(60))
        while not consumer.consumer.buffer.is_stuck:
            assert not waiting.done()
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises((asyncio.CancelledError, NotDeserializable)) as first:
            await waiting
        if first.type is asyncio.CancelledError:
            with pytest.raises(NotDeserializable):
                await consumer.poll(30)


@pytest.mark.parametrize("way", ["poll", "batches", "iteration"])
async def test_a_program_that_takes_its_time_is_alive_for_its_group(
    broker: BrokerProcess, producer: Producer, make_topic: Make, way: str
) -> None:
    name = make_topic()
    for number in range(40):
        producer.send(name, str(number))
    producer.flush()
    async with reading(broker, name) as consumer:
        batches, messages = aiter(consumer.batches(4)), aiter(consumer)
        steps: dict[str, Callable[[], Any]] = {
            "poll": lambda: consumer.poll(30),
            "batches": lambda: anext(batches),
            "iteration": lambda: anext(messages),
        }
        for _ in range(5):
            assert await steps[way]()
            assert not consumer.consumer.breath.is_due
            consumer.consumer.breath.is_due = True


async def test_a_batch_takes_no_more_than_it_was_asked_for(
    broker: BrokerProcess, producer: Producer, make_topic: Make
) -> None:
    name = make_topic()
    for number in range(40):
        producer.send(name, str(number))
    producer.flush()
    async with reading(broker, name) as consumer:
        assert len(await anext(aiter(consumer.batches(4)))) <= 4
        assert len(consumer.consumer.buffer) == 0


async def test_a_consumer_may_be_closed_twice_and_says_that_it_is(
    broker: BrokerProcess, make_topic: Make
) -> None:
    consumer = reading(broker, make_topic())
    await consumer.poll(0)
    await consumer.close()
    await consumer.close()
    with pytest.raises(PenstockError, match="closed"):
        await consumer.poll(0)


async def test_a_handler_that_is_no_coroutine_is_refused(
    broker: BrokerProcess, producer: Producer, make_topic: Make
) -> None:
    name = make_topic()
    producer.send(name, "v").result(30)
    handler: Any = print
    async with reading(broker, name) as consumer:
        with pytest.raises(Misconfigured, match="async def"):
            await consumer.process(handler, dead_letters=f"{name}.dlq")


async def test_dead_letters(broker: BrokerProcess, producer: Producer, make_topic: Make) -> None:
    name = make_topic()
    for value in ("1", "2", "nothing", "4"):
        producer.send(name, value)
    producer.flush()
    handled: list[int] = []

    async def handle(message: Message[int]) -> None:
        handled.append(message.value)
        if message.value == 4:
            consumer.consumer.idle_timeout = SOON_S
        if message.value == 2:
            raise ValueError("no")

    dead = f"{name}.dlq"
    async with reading(broker, name, deserializer=Json(int)) as consumer:
        await consumer.process(handle, retries=1, backoff=0.001, dead_letters=dead)
    assert handled == [1, 2, 2, 4]
    async with reading(broker, dead) as consumer:
        letters = await read_async(consumer, 2)
    assert [letter.value for letter in letters] == ["2", "nothing"]
    assert letters[1].tags["__dlq.errors.offset"] == "2"


async def test_what_cannot_be_read_is_raised_and_the_next_can_be(
    broker: BrokerProcess, producer: Producer, make_topic: Make
) -> None:
    name = make_topic()
    for value in ("nothing", "2"):
        producer.send(name, value)
    producer.flush()
    async with reading(broker, name, deserializer=Json(int)) as consumer:
        with pytest.raises(NotDeserializable):
            await consumer.poll(30)
        found = await consumer.poll(30)
    assert found
    assert found.value == 2
