"""The producer for asyncio where callers are cancelled, callbacks fail and loops end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from tests.group_stage import wait_until

from penstock import AsyncProducer
from penstock.sdk import DeliveryFailed, Fenced, Misconfigured, PenstockError, Sending
from penstock.testing import Broker

WAIT_S = 30.0


def end_of(broker: Broker, topic: str) -> int | None:
    return broker.admin.topics.describe(topic).partitions[0].end


def is_over(name: str) -> Callable[[], bool]:
    return lambda: not any(each.name.startswith(name) for each in threading.enumerate())


async def test_a_callback_that_fails_holds_up_nobody(
    penstock_broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    topic = penstock_broker.topic()

    def fail(_: Sending) -> None:
        raise RuntimeError("a mistake")

    async with AsyncProducer(penstock_broker.bootstrap) as producer:
        await producer.send(topic, "0")
        await producer.enqueue(topic, "1", on_delivery=fail)
        async with asyncio.timeout(WAIT_S):
            assert (await producer.send(topic, "2")).offset == 2
    assert "a mistake" in caplog.text


async def test_a_failure_is_raised_to_who_is_there_to_hear_it(penstock_broker: Broker) -> None:
    topic = penstock_broker.topic(max_message_bytes=1000)
    async with AsyncProducer(penstock_broker.bootstrap, tune="latency") as producer:
        failing = await producer.enqueue(topic, "x" * 100_000)
        while not failing.is_done:
            await asyncio.sleep(0.001)
        cancelled = asyncio.create_task(producer.enqueue(topic, "v"))
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        waiting = asyncio.create_task(producer.enqueue(topic, "v"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(DeliveryFailed, match=topic):
            await waiting


async def test_a_transaction_whose_beginning_is_cancelled_is_over(penstock_broker: Broker) -> None:
    topic = penstock_broker.topic()
    async with AsyncProducer(
        penstock_broker.bootstrap, delivery="exactly-once", transactional_id=topic
    ) as producer:

        async def use() -> None:
            async with producer.transaction():
                await producer.enqueue(topic, "never")

        for turns in range(4):
            task = asyncio.create_task(use())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        async with producer.transaction():
            await producer.enqueue(topic, "v")
    with penstock_broker.consumer(topic, group=topic, delivery="exactly-once") as consumer:
        assert consumer.poll(WAIT_S).value == "v"


async def test_a_first_transaction_that_times_out_can_be_tried_again(
    penstock_fresh_broker: Broker,
) -> None:
    broker, topic = penstock_fresh_broker, penstock_fresh_broker.topic()
    async with AsyncProducer(
        broker.bootstrap, delivery="exactly-once", transactional_id="t"
    ) as producer:
        broker.pause()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), producer.transaction():
                pass
        broker.resume()
        async with producer.transaction():
            await producer.enqueue(topic, "v")


async def test_who_is_cancelled_while_closing_is_told_so_and_loses_nothing(
    penstock_fresh_broker: Broker,
) -> None:
    broker, topic = penstock_fresh_broker, penstock_fresh_broker.topic()

    async def send_two() -> None:
        async with asyncio.timeout(None) as limit, AsyncProducer(broker.bootstrap) as producer:
            await producer.send(topic, "0")
            broker.pause()
            await producer.enqueue(topic, "1")
            limit.reschedule(asyncio.get_running_loop().time() + 0.05)

    with pytest.raises(TimeoutError):
        await send_two()
    broker.resume()
    await asyncio.to_thread(wait_until, is_over("penstock-producer"), "the end of its thread")
    assert end_of(broker, topic) == 2


async def test_what_is_not_delivered_after_a_cancelled_close_is_logged(
    penstock_fresh_broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker, topic = penstock_fresh_broker, penstock_fresh_broker.topic()
    producer = AsyncProducer(broker.bootstrap, timeout=1.0)
    await producer.send(topic, "0")
    broker.pause()
    await producer.enqueue(topic, "1")
    closing = asyncio.create_task(producer.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await asyncio.to_thread(wait_until, is_over("penstock-producer"), "the end of its thread")
    assert f"to topic {topic} was not delivered" in caplog.text


async def test_a_closed_one_says_so(penstock_broker: Broker) -> None:
    topic = penstock_broker.topic()
    producer = AsyncProducer(penstock_broker.bootstrap)
    await producer.send(topic, "v")
    await producer.close()
    await producer.close()
    with pytest.raises(PenstockError, match="closed"):
        await producer.send(topic, "v")
    with pytest.raises(PenstockError, match="closed"):
        await producer.enqueue(topic, "v")
    await producer.flush()


def test_one_in_another_event_loop_says_so(penstock_broker: Broker) -> None:
    topic = penstock_broker.topic()
    producer = AsyncProducer(penstock_broker.bootstrap)
    asyncio.run(_enqueue(producer, topic))
    with pytest.raises(Misconfigured, match="make one in each event loop"):
        asyncio.run(_enqueue(producer, topic))
    asyncio.run(producer.close())
    assert end_of(penstock_broker, topic) == 1


async def _enqueue(producer: AsyncProducer, topic: str) -> None:
    await producer.enqueue(topic, "v")


async def test_a_message_of_a_fenced_producer_that_nobody_waits_for_is_told_of(
    penstock_broker: Broker,
) -> None:
    """Also where the event loop is who hears of it first, which has nobody to tell."""
    topic, complaints = penstock_broker.topic(), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, said: complaints.append(said))
    old, new = (
        AsyncProducer(penstock_broker.bootstrap, delivery="exactly-once", transactional_id=topic)
        for _ in range(2)
    )
    await old.transaction().begin()
    await old.send(topic, "before")
    async with new, new.transaction():
        await new.send(topic, "by the newer one")
    sending = await old.enqueue(topic, "by a zombie")
    async with asyncio.timeout(WAIT_S):
        while not sending.is_done:
            await asyncio.sleep(0.01)
    with pytest.raises(Fenced):
        await old.flush()
    with pytest.raises(Fenced):
        await old.close()
    assert complaints == []
