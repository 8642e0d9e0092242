"""A program of somebody who uses a type checker. `test_types` checks it; nobody runs it.

A line with `type: ignore` is wrong on purpose: the checker complains if it is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

from penstock import (
    Admin,
    AsyncConsumer,
    AsyncProducer,
    AsyncQueue,
    Consumer,
    Producer,
    Queue,
)
from penstock.sdk import (
    AsyncJob,
    Delivered,
    Int64,
    Job,
    Json,
    Message,
    Sending,
    TopicPartition,
    raw,
)
from penstock.testing import Broker

AT = "127.0.0.1:9092"


@dataclass
class Order:
    item: str


class Hex:
    def serialize(self, value: bytes) -> bytes:
        return value.hex().encode()

    def deserialize(self, data: bytes) -> bytes:
        return bytes.fromhex(data.decode())


def told(sending: Sending) -> None:
    assert_type(sending.result().offset, int)


def gone(places: list[TopicPartition]) -> None:
    assert_type(places[0].partition, int)


def send() -> None:
    with Producer(AT, tune="latency", settings={"linger.ms": 5}) as producer:
        producer.send("orders", "text", key=1, tags={"a": "b"}, on_delivery=told)
        producer.send("orders", None, headers={"a": b"x"}, timestamp=datetime.now(UTC))
        producer.send("orders", 3.5)  # type: ignore[arg-type]
        producer.send("orders", "later", delay=timedelta(hours=1))
        producer.send("orders", "daily", repeat="30 9 * * *")
        producer.send("orders", "later", deliver_at="tomorrow")  # type: ignore[arg-type]
    with Producer(AT, serializer=Json(Order), partitioner=lambda key, count: 0) as orders:
        assert_type(orders.send("orders", Order("book")).result(), Delivered)
        orders.send("orders", "book")  # type: ignore[arg-type]
    with Producer(AT, serializer=Json()) as anything:
        anything.send("orders", {"item": "book"})
    with Producer(AT, serializer=Hex(), key_serializer=Int64()) as dumps:
        dumps.send("dumps", b"\x00", key=1)
        dumps.send("dumps", "text")  # type: ignore[arg-type]
    Producer(AT, delivery="exactly-onse", transactional_id="a")  # type: ignore[call-overload]
    Producer(AT, tune="fast")  # type: ignore[call-overload]


def scale(job: Job[Order]) -> None:
    assert_type(job.value.item, str)


async def scale_soon(job: AsyncJob[Order]) -> None:
    assert_type(job.value.item, str)


def work() -> None:
    with Queue(AT, "mails", group="g", prefetch=4) as queue:
        assert_type(queue.put("a", key="k", tags={"a": "b"}, delay=3.5), Delivered)
        assert_type(queue.get(timeout=1).value, str)
        queue.put(Order("book"))  # type: ignore[arg-type]
        queue.work(scale)  # type: ignore[arg-type]
    with Queue(AT, "orders", serializer=Json(Order)) as orders:
        orders.put(Order("book"))
        assert_type(orders.work(scale, concurrency=2), int)
        orders.put("book")  # type: ignore[arg-type]
    with Queue(AT, "dumps", serializer=Hex(), key_serializer=Int64()) as dumps:
        for job in dumps:
            assert_type(job.value, bytes)
            job.nack(delay=1)
    Queue(AT, "mails", start="now")  # type: ignore[call-overload]


async def work_soon() -> None:
    async with AsyncQueue(AT, "orders", serializer=Json(Order)) as orders:
        assert_type(await orders.put(Order("book")), Delivered)
        async for job in orders:
            assert_type(job, AsyncJob[Order])
            await job.ack(wait=False)
        await orders.work(scale_soon)
        await orders.work(scale)  # type: ignore[arg-type]


def read() -> None:
    with Consumer(AT, "orders", group="g", on_lost=gone) as consumer:
        for message in consumer:
            assert_type(message.value, str)
    with Consumer(AT, ["orders"], group="g", deserializer=Json(), start=timedelta(hours=1)) as any_:
        assert_type(any_, Consumer[Any])
    with Consumer(AT, "orders", group="g", deserializer=Json(Order)) as orders:
        for batch in orders.batches(3):
            assert_type(batch[0].value, Order)
            str(batch[0].value.itme)  # type: ignore[attr-defined]
        orders.process(lambda order: order.value.item, retries=3)
    with Consumer(AT, "orders", group="g", deserializer=raw) as dumps:
        assert_type(dumps, Consumer[bytes])
    assert_type(Json(dict[str, int]), Json[dict[str, int]])
    assert_type(Json(int | None), Json[Any])


def copy() -> None:
    producer = Producer(AT, delivery="exactly-once", transactional_id="t")
    consumer = Consumer(AT, "orders", group="g", delivery="exactly-once")
    for batch in consumer.transactions(producer):
        with batch:
            for message in batch:
                producer.send("totals", message.value)
    with producer.transaction() as transaction:
        transaction.send_offsets(consumer)


async def from_asyncio() -> None:
    async with AsyncProducer(AT, serializer=Json(Order)) as producer:
        assert_type(await producer.send("orders", Order("book")), Delivered)
        await producer.enqueue("orders", "book")  # type: ignore[arg-type]

    async def handle(message: Message[Order]) -> None:
        assert_type(message.value.item, str)

    async with AsyncConsumer(AT, "orders", group="g", deserializer=Json(Order)) as consumer:
        async for message in consumer:
            assert_type(message.value, Order)
        await consumer.process(handle)


def test_orders(penstock_broker: Broker) -> None:
    topic: str = penstock_broker.topic("orders", partitions=3, retention_ms=1000)
    admin: Admin = penstock_broker.admin
    assert_type(admin.topics.describe(topic).partitions[0].leader, int | None)
    admin.schedules.cancel(Producer(AT).send(topic, "later", delay=1.5).result())
    admin.schedules.cancel(admin.schedules.list(topic)[0])
    admin.schedules.cancel(topic)  # type: ignore[arg-type]
