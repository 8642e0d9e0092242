"""Delayed messages with a running broker and real clients: in time, once, and in order."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import aiokafka
import pytest
from tests.broker_process import BrokerProcess
from tests.group_process import WAIT_S
from tests.group_stage import wait_until
from tests.scenarios.delaying import (
    AFTER,
    AT,
    CANCEL,
    ID,
    Reader,
    Sent,
    create,
    listed,
    now_ms,
    producer_of,
    rdkafka,
    send,
)

from penstock import Admin

SOON_MS, LATER_MS = 700, 3_600_000


@pytest.fixture
def reader() -> Iterator[Callable[..., Reader]]:
    made: list[Reader] = []

    def make(broker: BrokerProcess, topic: str, **settings: Any) -> Reader:
        made.append(Reader(broker.address, topic, **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def delays(broker: BrokerProcess, topic: str) -> str:
    create(broker.address, topic)
    return topic


def sent(broker: BrokerProcess, topic: str, *described: Any, **settings: Any) -> Sent:
    """(value, headers) or (value, headers, key), all acknowledged or refused."""
    producer, found = producer_of(broker.address, **settings), Sent()
    for value, headers, *key in described:
        send(producer, found, topic, value, headers, *key)
    assert producer.flush(WAIT_S) == 0
    return found


def kcat(broker: BrokerProcess, *options: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["kcat", "-b", broker.address, "-X", "fetch.wait.max.ms=10", *options],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def test_kcat_sends_lists_and_cancels_delayed_messages(broker: BrokerProcess, delays: str) -> None:
    to = ("-P", "-t", delays, "-p", "0")
    assert kcat(broker, *to, "-H", f"{AFTER}={LATER_MS}", stdin="later\n").returncode == 0
    assert kcat(broker, *to, "-H", f"{AFTER}=1", "-H", "tier=gold", stdin="soon\n").returncode == 0
    assert kcat(broker, *to, stdin="now\n").returncode == 0

    def read(topic: str) -> list[dict[str, Any]]:
        printed = kcat(broker, "-C", "-t", topic, "-e", "-q", "-J").stdout
        return [json.loads(line) for line in printed.splitlines()]

    wait_until(lambda: len(read(delays)) == 2, "the delivery")
    found = {each["payload"]: each for each in read(delays)}
    assert found.keys() == {"now", "soon"}
    assert found["soon"]["headers"] == ["tier", "gold", ID, "1"]
    (held,) = read(delays + ".scheduled")
    assert (held["payload"], held["offset"]) == ("later", 0)
    assert kcat(broker, *to, "-H", f"{CANCEL}=0", stdin="-\n").returncode == 0
    assert read(delays + ".scheduled") == []
    again = kcat(broker, *to, "-H", f"{CANCEL}=0", stdin="-\n")
    assert again.returncode == 1
    assert "failed to validate record" in again.stderr


def test_messages_come_not_before_their_time_and_in_the_order_of_it(
    broker: BrokerProcess, delays: str, reader: Callable[..., Reader]
) -> None:
    due = now_ms() + SOON_MS
    found = sent(
        broker,
        delays,
        ("third", {AT: str(due + 300)}, "a"),
        ("first", {AT: str(due)}, "a"),
        ("second", {AT: str(due)}, "a"),
        ("fourth", {AT: str(due + 600)}, "a"),
        ("past", {AT: "1"}, "a"),
    )
    watcher = reader(broker, delays)
    watcher.until(lambda: len(watcher.found) == 5, "all deliveries")
    assert watcher.values == ["past", "first", "second", "third", "fourth"]
    for each in watcher.found:
        assert int(each.headers[ID]) == found.offsets[each.value]
        assert each.key == "a"
        assert each.seen_ms >= each.time_ms
    assert [each.time_ms for each in watcher.found] == [1, due, due, due + 300, due + 600]
    assert listed(broker.address, delays) == []


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_many_are_delivered_once_each_whatever_they_are_compressed_with(
    broker: BrokerProcess, delays: str, reader: Callable[..., Reader], codec: str
) -> None:
    due = now_ms() + SOON_MS
    described = [
        (str(n), {AT: str(due + n % 50)} if n % 3 else {}, f"k{n % 5}") for n in range(2000)
    ]
    found = sent(
        broker,
        delays,
        *described,
        **{"compression.type": codec, "linger.ms": 20, "enable.idempotence": True},
    )
    assert len(found.offsets) == 2000
    watcher = reader(broker, delays)
    watcher.until(lambda: len(watcher.found) == 2000, "all deliveries")
    watcher.to_end()
    assert sorted(map(int, watcher.values)) == list(range(2000))
    late = [int(value) for value in watcher.values if int(value) % 3]
    assert late == sorted(late, key=lambda n: (n % 50, n))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_transaction_that_aborts_schedules_nothing(
    broker: BrokerProcess, delays: str, reader: Callable[..., Reader], isolation: str
) -> None:
    producer, found = producer_of(broker.address, **{"transactional.id": delays}), Sent()
    producer.init_transactions(WAIT_S)
    for name, end in (
        ("aborted", producer.abort_transaction),
        ("committed", producer.commit_transaction),
    ):
        producer.begin_transaction()
        for number in range(3):
            send(producer, found, delays, f"{name}-{number}", {AFTER: "100"})
        producer.flush(WAIT_S)
        end(WAIT_S)
    assert len(found.offsets) == 6
    watcher = reader(broker, delays, **{"isolation.level": isolation})
    watcher.until(lambda: len(watcher.found) == 3, "what was committed")
    watcher.to_end()
    assert watcher.values == ["committed-0", "committed-1", "committed-2"]


def test_a_message_is_due_at_once_when_its_transaction_commits_late(
    broker: BrokerProcess, delays: str, reader: Callable[..., Reader]
) -> None:
    producer, found = producer_of(broker.address, **{"transactional.id": delays}), Sent()
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    send(producer, found, delays, "within", {AFTER: "1"})
    producer.flush(WAIT_S)
    sent(broker, delays, ("without", {AFTER: "1"}))
    watcher = reader(broker, delays, **{"isolation.level": "read_uncommitted"})
    watcher.until(lambda: watcher.values == ["without"], "the one without a transaction")
    producer.commit_transaction(WAIT_S)
    watcher.until(lambda: watcher.values == ["without", "within"], "the other one")


def test_cancelled_messages_never_come(
    broker: BrokerProcess, delays: str, reader: Callable[..., Reader]
) -> None:
    due = now_ms() + 2 * SOON_MS
    found = sent(broker, delays, *((str(n), {AT: str(due)}) for n in range(10)))
    cancels = [(f"cancel {n}", {CANCEL: str(found.offsets[str(n)])}) for n in range(0, 10, 2)]
    assert sent(broker, delays, *cancels).refused == {}
    watcher = reader(broker, delays)
    watcher.until(lambda: len(watcher.found) == 5, "the others")
    watcher.to_end()
    assert watcher.values == ["1", "3", "5", "7", "9"]
    refused = sent(broker, delays, ("again", {CANCEL: str(found.offsets["1"])})).refused
    assert refused == {"again": rdkafka.KafkaError.INVALID_RECORD}


@pytest.mark.parametrize(
    "headers",
    [
        {AFTER: "soon"},
        {AFTER: "-5"},
        {AT: ""},
        {AT: str(10**17)},
        {AFTER: "1", AT: "1"},
        {CANCEL: "first"},
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_kept_of_it(
    broker: BrokerProcess, delays: str, reader: Callable[..., Reader], headers: dict[str, str]
) -> None:
    assert sent(broker, delays, ("wrong", headers)).refused == {
        "wrong": rdkafka.KafkaError.INVALID_RECORD
    }
    assert listed(broker.address, delays) == []
    assert reader(broker, delays).to_end() == []


@pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill])
def test_what_fell_due_while_the_broker_was_away_comes_at_once_and_in_order(
    own_broker: BrokerProcess, reader: Callable[..., Reader], end: Callable[[BrokerProcess], Any]
) -> None:
    create(own_broker.address, "orders")
    due = now_ms() + SOON_MS
    sent(own_broker, "orders", *((str(n), {AT: str(due - n)}) for n in range(300)))
    later = sent(own_broker, "orders", ("later", {AFTER: str(LATER_MS)})).offsets
    end(own_broker)
    wait_until(lambda: now_ms() > due, "the time")
    own_broker.start()
    watcher = reader(own_broker, "orders")
    watcher.until(lambda: len(watcher.found) >= 300, "all deliveries")
    watcher.to_end()
    assert list(map(int, watcher.values)) == sorted(map(int, watcher.values), reverse=True)
    assert len(watcher.found) == 300
    assert listed(own_broker.address, "orders") == ["later"]
    cancel = sent(own_broker, "orders", ("-", {CANCEL: str(later["later"])}))
    assert cancel.refused == {}
    assert listed(own_broker.address, "orders") == []


def test_a_delay_counts_from_the_append_where_the_broker_sets_the_time(
    broker: BrokerProcess, topic: str, reader: Callable[..., Reader]
) -> None:
    create(broker.address, topic, message_timestamp_type="LogAppendTime")
    began = now_ms()
    sent(broker, topic, ("later", {AFTER: str(SOON_MS)}), ("past", {AT: "1"}))
    watcher = reader(broker, topic)
    watcher.until(lambda: len(watcher.found) == 2, "both deliveries")
    assert watcher.values == ["past", "later"]
    assert watcher.found[1].time_ms >= began + SOON_MS


async def test_aiokafka_sends_and_reads_delayed_messages(
    broker: BrokerProcess, delays: str
) -> None:
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=broker.address, acks="all")
    consumer = aiokafka.AIOKafkaConsumer(
        delays, bootstrap_servers=broker.address, auto_offset_reset="earliest"
    )
    await producer.start()
    await consumer.start()
    try:
        for number in range(3):
            headers = [(AFTER, b"%d" % (1500 - 500 * number)), ("n", b"%d" % number)]
            await producer.send_and_wait(delays, b"%d" % number, headers=headers)
        async with asyncio.timeout(WAIT_S):
            found = [await consumer.getone() for _ in range(3)]
    finally:
        await consumer.stop()
        await producer.stop()
    assert [each.value for each in found] == [b"2", b"1", b"0"]
    assert found[0].headers == (("n", b"2"), (ID, b"2"))


@pytest.fixture
def own_broker(tmp_path: Any) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path / "data").start()
    yield broker
    assert broker.stop() == 0
    assert "Traceback" not in broker.log


def test_the_lag_of_a_group_is_what_it_could_read(broker: BrokerProcess, delays: str) -> None:
    later = {AFTER: str(LATER_MS)}
    sent(broker, delays, ("one", {}), *((str(number), later) for number in range(50)), ("two", {}))
    sent(broker, delays, *((str(number), later) for number in range(50)))
    place = rdkafka.TopicPartition(delays, 0)
    settings = {"bootstrap.servers": broker.address, "group.id": f"of-{delays}"}
    consumer = rdkafka.Consumer({**settings, "enable.auto.commit": False})
    with Admin(broker.address) as admin:
        for offset, behind in ((0, 2), (1, 1), (52, 0), (102, 0)):
            place.offset = offset
            consumer.commit(offsets=[place], asynchronous=False)
            assert admin.groups.lag(f"of-{delays}").messages == behind
        assert admin.groups.lag(f"of-{delays}").seconds == 0
    consumer.close()
