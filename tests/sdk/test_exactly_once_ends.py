"""How batches in transactions end: whatever goes wrong, nothing is skipped and nothing doubled."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from threading import Timer
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.sdk.reading import SOON_S, WAIT_S, read, values

from penstock import AsyncConsumer, AsyncProducer, Consumer, Producer
from penstock.sdk import Json, Misconfigured, NotDeserializable, TimedOut, TransactionAborted
from penstock.testing import Broker, running_broker

Make = Callable[..., Any]
ONCE: dict[str, Any] = {"delivery": "exactly-once", "tune": "latency"}
HELD_UP_S = 2.0
"""Longer than the producers here wait."""


@pytest.fixture
def lame_broker() -> Iterator[Broker]:
    """One that can be held up."""
    with running_broker() as broker:
        yield broker


def fill(producer: Producer, topic: str, count: int) -> list[str]:
    values = [str(number) for number in range(count)]
    for value in values:
        producer.send(topic, value)
    producer.flush()
    return values


def copied(address: str, topic: str, count: int) -> list[str]:
    with Consumer(address, topic, group="check", **ONCE) as consumer:
        return values(read(consumer, count))


def transactional(broker: BrokerProcess, name: str) -> Producer:
    return Producer(broker.address, transactional_id=name, **ONCE)


def test_a_batch_whose_end_times_out_is_ended_before_the_next_is_read(
    lame_broker: Broker,
) -> None:
    source, target = lame_broker.topic(), lame_broker.topic()
    with Producer(lame_broker.bootstrap) as producer:
        sent = fill(producer, source, 30)
    writer = Producer(lame_broker.bootstrap, transactional_id="t", **ONCE)
    reader = Consumer(lame_broker.bootstrap, source, group="g", idle_timeout=WAIT_S, **ONCE)
    numbers, late = iter(range(100)), list[str]()
    with writer, reader:
        while True:
            try:
                for batch in reader.transactions(writer, max_messages=10, max_seconds=0.2):
                    with batch:
                        for message in batch:
                            writer.send(target, message.value)
                        if next(numbers) == 1:
                            writer.flush()
                            lame_broker.pause()
                            Timer(HELD_UP_S, lame_broker.resume).start()
                            writer.timeout = HELD_UP_S / 4
                    if batch[-1].value == sent[-1]:
                        reader.idle_timeout = SOON_S
                break
            except TimedOut as error:
                writer.timeout = WAIT_S
                late.append(str(error))
    assert ["again" in words for words in late] == [True]
    assert copied(lame_broker.bootstrap, target, len(sent)) == sent


class Interrupted:
    """librdkafka, with somebody who presses Ctrl-C before or after a transaction is committed."""

    def __init__(self, rdkafka: Any, moment: str) -> None:
        self._rdkafka = rdkafka
        self._moment = moment

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rdkafka, name)

    def commit_transaction(self, limit_s: float) -> None:
        if self._moment == "after":
            self._rdkafka.commit_transaction(limit_s)
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_batch_whose_commit_is_interrupted_is_neither_skipped_nor_doubled(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make, moment: str
) -> None:
    name = make_topic()
    target = f"{name}-copy"
    sent = fill(producer, name, 12)
    reader = consumer_of(name, delivery="exactly-once")

    def copy(writer: Producer, interrupted: bool) -> None:
        for batch in reader.transactions(writer, max_messages=4, max_seconds=0.2):
            if interrupted:
                batch.transaction._rdkafka = Interrupted(batch.transaction._rdkafka, moment)
            with batch:
                for message in batch:
                    writer.send(target, message.value)
            if batch[-1].value == sent[-1]:
                reader.idle_timeout = SOON_S

    with transactional(broker, name) as writer:
        with pytest.raises(KeyboardInterrupt):
            copy(writer, True)
        reader.batch.transaction._rdkafka = reader.batch.transaction._rdkafka._rdkafka
        copy(writer, False)
    assert copied(broker.address, target, len(sent)) == sent


async def test_a_batch_whose_end_is_cancelled_is_ended_before_the_next_is_read(
    lame_broker: Broker,
) -> None:
    source, target = lame_broker.topic(), lame_broker.topic()
    with Producer(lame_broker.bootstrap) as producer:
        sent = fill(producer, source, 30)
    address, numbers, cancelled = lame_broker.bootstrap, iter(range(100)), 0
    async with (
        AsyncProducer(address, transactional_id="t", **ONCE) as writer,
        AsyncConsumer(address, source, group="g", idle_timeout=WAIT_S, **ONCE) as reader,
    ):
        while True:
            try:
                async for batch in reader.transactions(writer, max_messages=10, max_seconds=0.2):
                    async with asyncio.timeout(HELD_UP_S / 2), batch:
                        for message in batch:
                            await writer.enqueue(target, message.value)
                        if next(numbers) == 1:
                            lame_broker.pause()
                            Timer(HELD_UP_S, lame_broker.resume).start()
                    if message.value == sent[-1]:
                        reader.consumer.idle_timeout = SOON_S
                break
            except TimeoutError:
                cancelled += 1
    assert cancelled
    assert copied(address, target, len(sent)) == sent


async def test_a_batch_whose_beginning_is_cancelled_comes_again(
    broker: BrokerProcess, producer: Producer, make_topic: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    async with (
        AsyncProducer(broker.address, transactional_id=name, **ONCE) as writer,
        AsyncConsumer(broker.address, name, group=name, **ONCE) as reader,
    ):
        batch = await anext(aiter(reader.transactions(writer, max_messages=4)))
        entering = asyncio.create_task(batch.__aenter__())
        await asyncio.sleep(0)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering
        async for again in reader.transactions(writer, max_messages=4):
            async with again:
                assert [message.value for message in again] == ["0", "1", "2", "3"]
            break


def test_a_batch_that_was_left_before_it_was_entered_comes_again(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    reader = consumer_of(name, delivery="exactly-once")
    with transactional(broker, name) as writer:
        next(reader.transactions(writer, max_messages=4))
        batch = next(reader.transactions(writer, max_messages=4))
        assert [message.value for message in batch] == ["0", "1", "2", "3"]


async def test_a_batch_that_was_left_comes_again_also_to_who_polls(
    broker: BrokerProcess, producer: Producer, make_topic: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    async with (
        AsyncProducer(broker.address, transactional_id=name, **ONCE) as writer,
        AsyncConsumer(broker.address, name, group=name, **ONCE) as reader,
    ):
        assert await reader.poll(WAIT_S)
        batch = await anext(aiter(reader.transactions(writer, max_messages=4)))
        again = await reader.poll(WAIT_S)
        assert again
        assert [again.value] == [message.value for message in batch][:1]


def test_inside_a_batch_nothing_else_is_read(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    reader = consumer_of(name, delivery="exactly-once")
    with transactional(broker, name) as writer:
        batches = reader.transactions(writer, max_messages=4)
        with next(batches), pytest.raises(Misconfigured, match="after its `with batch:`"):
            reader.poll(0)
        assert next(batches)[0].value == "4"


def test_an_aborted_attempt_forgets_no_ids(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    reader = consumer_of(name, delivery="exactly-once", deduplicate=100)
    seen: list[list[str]] = []
    with transactional(broker, name) as writer:
        batches = reader.transactions(writer, max_messages=10, max_seconds=0.5)
        for values in ("AB", "AC"):
            for value in values:
                producer.send(name, value, headers={"penstock-message-id": value})
            producer.flush()
            batch = next(batches)
            with batch:
                if values == "AC":
                    raise TransactionAborted("as the cluster does it")
                seen.append([message.value for message in batch])
        with next(batches) as batch:
            seen.append([message.value for message in batch])
    assert seen == [["A", "B"], ["C"]]


def test_offsets_of_a_transaction_that_fails_are_read_again(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    sent = fill(producer, name, 6)
    reader = consumer_of(name, delivery="exactly-once")
    numbers, found = iter(range(100)), list[str]()
    with transactional(broker, name) as writer:
        while len(found) < len(sent):
            message = reader.poll(WAIT_S)
            try:
                with writer.transaction() as txn:
                    txn.send_offsets(reader)
                    if next(numbers) in (0, 3):
                        raise TransactionAborted("as the cluster does it")
            except TransactionAborted:
                continue
            found.append(message.value)
    assert found == sent


def test_a_consumer_that_commits_by_itself_has_no_place_in_a_transaction(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 2)
    reader = consumer_of(name)
    reader.poll(WAIT_S)
    with (
        transactional(broker, name) as writer,
        writer.transaction() as txn,
        pytest.raises(Misconfigured, match="commits by itself"),
    ):
        txn.send_offsets(reader)


def test_what_cannot_be_read_is_raised_once_and_then_passed(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    for value in ("1", "no number", "3"):
        producer.send(name, value)
    producer.flush()
    reader = consumer_of(name, delivery="exactly-once", deserializer=Json(int))
    seen: list[int] = []

    def copy(writer: Producer) -> None:
        for batch in reader.transactions(writer, max_seconds=0.2):
            with batch:
                seen.extend(message.value for message in batch)
            if seen[-1] == 3:
                reader.idle_timeout = SOON_S

    with transactional(broker, name) as writer:
        with pytest.raises(NotDeserializable):
            copy(writer)
        copy(writer)
    assert seen == [1, 3]
