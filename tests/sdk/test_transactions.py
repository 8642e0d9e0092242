"""Exactly once, against a broker that has transactions."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.group_stage import wait_until
from tests.sdk.reading import SOON_S, WAIT_S, read, values

from penstock import AsyncConsumer, AsyncProducer, Consumer, Producer
from penstock.client.cluster import WireClient
from penstock.client.transactions import describe_transaction
from penstock.sdk import Fenced, Misconfigured, PenstockError, TransactionAborted

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
        with pytest.raises(Fenced, match="a newer client has its id"):
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


@pytest.mark.parametrize("call", ["flush", "result", "send", "poll"])
def test_whichever_call_hears_of_it_says_that_the_producer_is_fenced(
    call: str, broker: BrokerProcess, make_topic: Make
) -> None:
    name = make_topic()
    old, new = transactional(broker, name), transactional(broker, name)
    old.transaction().begin()
    old.send(name, "before").result(30)
    with new.transaction():
        new.send(name, "by the newer one")

    def go_on() -> None:
        for _ in range(1000):
            sending = old.send(name, "by a zombie")
            if call == "flush":
                old.flush()
            elif call == "result":
                sending.result(30)
            elif call == "poll":
                old.poll(0.1)
            else:
                time.sleep(0.01)

    with pytest.raises(Fenced):
        go_on()
    with pytest.raises(Fenced):
        old.send(name, "again")
    with pytest.raises(Fenced):
        old.close()
    new.close()


def test_a_transaction_that_was_aborted_is_not_committed_in_silence(
    broker: BrokerProcess, make_topic: Make, consumer_of: Make
) -> None:
    """Also if the exception that told of it was passed over."""
    name = make_topic()
    producer, reader = transactional(broker, name), consumer_of(name, delivery="exactly-once")
    with transactional(broker, f"{name}-first") as first, first.transaction():
        first.send(name, "to be read")
    assert reader.poll(30).value == "to be read"
    with pytest.raises(Fenced), producer.transaction() as txn:  # noqa: PT012
        producer.send(name, "nobody will see it").result(30)
        with transactional(broker, name) as newer, newer.transaction():
            newer.send(name, "seen")
        with pytest.raises(Fenced):
            txn.send_offsets(reader)
    with pytest.raises(Fenced):
        txn.commit()
    with pytest.raises(Fenced):
        producer.close()
    seen = committed_values(consumer_of(name, group="others", delivery="exactly-once"), 2)
    assert seen == ["to be read", "seen"]


def test_what_was_given_up_or_not_begun_cannot_be_committed(
    broker: BrokerProcess, make_topic: Make
) -> None:
    name = make_topic()
    with transactional(broker, name) as producer:
        with pytest.raises(PenstockError, match="not begun"):
            producer.transaction().commit()
        with producer.transaction() as txn:
            producer.send(name, "given up").result(30)
            txn.abort()
            with pytest.raises(TransactionAborted, match="aborted before"):
                txn.commit()
        with producer.transaction() as txn:
            producer.send(name, "seen").result(30)
            txn.commit()
            txn.commit()


def test_a_transaction_that_was_open_for_too_long_says_that_this_may_be_the_cause(
    broker: BrokerProcess, make_topic: Make
) -> None:
    name = make_topic()
    short = {"transaction.timeout.ms": 1000, "message.timeout.ms": 1000}
    producer = transactional(broker, name, settings=short)
    transaction = producer.transaction()
    transaction.begin()
    producer.send(name, "too late").result(30)
    with WireClient(broker.address) as client:
        told = f"writer-of-{name}"
        wait_until(
            lambda: describe_transaction(client, told).state == "CompleteAbort", "it is aborted"
        )
    with pytest.raises(Fenced, match=r"open for longer than transaction\.timeout\.ms"):
        transaction.commit()
    with pytest.raises(Fenced):
        producer.close()


def test_a_timeout_that_brokers_do_not_allow_names_the_settings(
    broker: BrokerProcess, make_topic: Make
) -> None:
    long = {"transaction.timeout.ms": 1_000_000_000}
    producer = transactional(broker, make_topic(), settings=long)
    with pytest.raises(PenstockError, match=r"lower the setting transaction\.timeout\.ms"):
        producer.transaction().begin()
    with pytest.raises(PenstockError):
        producer.close()
