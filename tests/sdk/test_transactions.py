"""Exactly once, against a broker that has transactions."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.group_stage import wait_until
from tests.sdk.reading import SOON_S, WAIT_S, read, values

from penstock import AsyncConsumer, AsyncProducer, Consumer, Producer
from penstock.sdk import Fenced, Misconfigured, PenstockError

Make = Callable[..., Any]


def transactional(broker: BrokerProcess, name: str, **options: Any) -> Producer:
    return Producer(
        broker.address,
        delivery="exactly-once",
        transactional_id=f"writer-of-{name}",
        tune="latency",
        **options,
    )


def committed_values(consumer: Consumer[Any], count: int) -> list[Any]:
    with consumer:
        return values(read(consumer, count))


def fill(producer: Producer, topic: str, count: int) -> None:
    for number in range(count):
        producer.send(topic, str(number))
    producer.flush()


def test_only_what_was_committed_is_read(
    broker: BrokerProcess, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    with transactional(broker, name) as producer:
        with producer.transaction():
            producer.send(name, "seen")
        with pytest.raises(ZeroDivisionError), producer.transaction():
            producer.send(name, str(1 / 0))
        with producer.transaction() as txn:
            producer.send(name, "given up").result(30)
            txn.abort()
        with producer.transaction():
            producer.send(name, "seen too")
    assert committed_values(consumer_of(name, delivery="exactly-once"), 2) == ["seen", "seen too"]


def test_a_message_outside_a_transaction_is_refused(
    broker: BrokerProcess, make_topic: Make
) -> None:
    name = make_topic()
    with transactional(broker, name) as producer:
        with pytest.raises(PenstockError, match=r"inside `with producer\.transaction"):
            producer.send(name, "v")
        with producer.transaction(), pytest.raises(PenstockError, match="one at a time"):
            producer.transaction().begin()


def test_of_two_producers_with_one_id_the_older_is_fenced(
    broker: BrokerProcess, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    old, new = transactional(broker, name), transactional(broker, name)

    def write(producer: Producer, value: str) -> None:
        with producer.transaction():
            producer.send(name, value)

    write(old, "old")
    write(new, "new")
    for _ in range(2):
        with pytest.raises(Fenced, match="a newer one goes on"):
            write(old, "zombie")
    write(new, "newer")
    new.close()
    old.close()
    found = committed_values(consumer_of(name, delivery="exactly-once"), 3)
    assert found == ["old", "new", "newer"]


def test_a_producer_that_is_closed_aborts_what_is_open(
    broker: BrokerProcess, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    producer = transactional(broker, name)
    producer.transaction().begin()
    producer.send(name, "never").result(WAIT_S)
    producer.close()
    with transactional(broker, f"{name}-too") as another, another.transaction():
        another.send(name, "afterwards")
    assert committed_values(consumer_of(name, delivery="exactly-once"), 1) == ["afterwards"]


def test_copying_is_exactly_once_also_where_attempts_fail(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    target = f"{name}-copy"
    fill(producer, name, 100)
    failures = iter([True, False, True, False, False])

    def copy() -> None:
        reader = consumer_of(name, delivery="exactly-once")
        with reader, transactional(broker, name) as writer:
            for batch in reader.transactions(writer, max_messages=30, max_seconds=0.5):
                with batch:
                    for message in batch:
                        writer.send(target, message.value)
                    if next(failures, False):
                        raise OSError("the machine is on fire")
                if batch[-1].value == "99":
                    reader.idle_timeout = SOON_S

    for _ in range(2):
        with pytest.raises(OSError, match="on fire"):
            copy()
    copy()
    copied = committed_values(consumer_of(target, delivery="exactly-once"), 100)
    assert copied == [str(number) for number in range(100)]


def test_after_an_exception_the_same_messages_come_again(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    reader = consumer_of(name, delivery="exactly-once")
    with transactional(broker, name) as writer:
        batches = reader.transactions(writer, max_messages=4)
        for _ in range(2):
            batch = next(batches)
            assert [message.value for message in batch] == ["0", "1", "2", "3"]
            with pytest.raises(OSError, match="again"), batch:
                raise OSError("again")
        with next(batches):
            pass
        assert next(batches)[0].value == "4"


def test_a_batch_that_is_not_entered_is_an_error(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 5)
    reader = consumer_of(name, delivery="exactly-once")
    with transactional(broker, name) as writer:
        batches = reader.transactions(writer, max_messages=2)
        next(batches)
        with pytest.raises(Misconfigured, match="with batch"):
            next(batches)


def test_offsets_go_with_the_transaction(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 5)
    with transactional(broker, name) as writer:
        with consumer_of(name, delivery="exactly-once") as reader:
            reader.poll(30)
            with writer.transaction() as txn:
                txn.send_offsets(reader)
            reader.poll(30)
            with writer.transaction() as txn:
                txn.send_offsets(reader)
                txn.abort()
        again = consumer_of(name, delivery="exactly-once")
        assert again.poll(30).value == "1"


async def test_copying_from_asyncio(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    target = f"{name}-copy"
    fill(producer, name, 50)
    once: dict[str, Any] = {"delivery": "exactly-once", "tune": "latency"}
    async with (
        AsyncConsumer(broker.address, name, group=name, idle_timeout=WAIT_S, **once) as reader,
        AsyncProducer(broker.address, transactional_id=name, **once) as writer,
    ):
        async for batch in reader.transactions(writer, max_messages=20, max_seconds=0.5):
            async with batch:
                for message in batch:
                    await writer.enqueue(target, message.value)
            if message.value == "49":
                reader.consumer.idle_timeout = SOON_S
    copied = committed_values(consumer_of(target, delivery="exactly-once"), 50)
    assert copied == [str(number) for number in range(50)]


def test_a_batch_has_nothing_of_a_partition_that_went_while_it_was_gathered(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    """Another member reads that; nobody would commit it with this batch."""
    name, revoked = make_topic(2), list[Any]()
    for number in range(20):
        producer.send(name, str(number), partition=number % 2)
    producer.flush()
    first = consumer_of(name, delivery="exactly-once", on_revoke=revoked.extend)
    second = consumer_of(name, delivery="exactly-once")

    def join() -> None:
        wait_until(lambda: len(first.buffer) == 20, "the first has all messages")
        second.poll(0)

    joining = Thread(target=join)
    joining.start()
    batch: list[Any] = []
    while not revoked:
        first.rewind()
        batch = first.gather(100, 2.0)
    joining.join()
    assert {each.place for each in batch} == set(first.assignment)
    assert len(batch) == 10


def test_what_a_process_that_died_has_left_open_holds_nobody_up(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    """Its offsets cannot be read before its transaction is over, which the next one ends at once:
    without that, the group would wait for the timeout of a minute."""
    name = make_topic()
    fill(producer, name, 3)
    dying, reader = transactional(broker, name), consumer_of(name, delivery="exactly-once")
    batch = next(reader.transactions(dying)).__enter__()
    dying.send(name, "never seen").result(30)
    batch.transaction.send_offsets(reader)
    reader.close()
    found: list[str] = []
    with transactional(broker, name) as heir:
        reader = consumer_of(name, delivery="exactly-once", idle_timeout=WAIT_S)
        for batch in reader.transactions(heir):
            with batch:
                found += [message.value for message in batch]
            if batch[-1].value == "2":
                reader.idle_timeout = SOON_S
    assert found == ["0", "1", "2"]
    with pytest.raises(Fenced):
        dying.close()
