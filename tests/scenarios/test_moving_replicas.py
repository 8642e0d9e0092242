"""Replicas move between broker processes while a producer writes: nothing acknowledged is lost.

`SECONDS` in the environment makes the stretches between the steps longer.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from tests.broker_process import BrokerProcess

from penstock.client import admin, replicas
from penstock.client.cluster import WireClient

TOPIC, PARTITIONS, KEYS = "orders", 6, 24
CHANGES_OF_LEADERS = 30
STRETCH_S = float(os.environ.get("SECONDS", "0.3"))
WAIT_S = 60
VALUE = b"%012d" + b"x" * 1000


class Brokers:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.brokers: dict[int, BrokerProcess] = {}

    def start(self, *node_ids: int) -> None:
        store = f"sqlite:{self._folder / 'metadata.sqlite'}"
        for node_id in node_ids:
            if node_id not in self.brokers:
                self.brokers[node_id] = BrokerProcess(
                    self._folder / f"broker-{node_id}",
                    *("--node-id", str(node_id), "--store", store),
                    *("--set", "broker.session.timeout.ms=2000"),
                )
            self.brokers[node_id].start()
        with self.client() as client:
            until(lambda: set(replicas.members(client)[0]) >= set(node_ids))

    @property
    def bootstrap(self) -> str:
        return ",".join(each.address for each in self.brokers.values())

    def client(self) -> WireClient:
        return WireClient(self.bootstrap)

    def held(self, client: WireClient) -> dict[int, tuple[int, ...]]:
        topic = client.retry(lambda deadline: client.metadata([TOPIC], deadline=deadline))
        return {index: each.replicas for index, each in topic.topics[TOPIC].partitions.items()}

    def wait_moved(self, client: WireClient, target: tuple[int, ...]) -> None:
        """A broker that has not heard of the moves yet says that there are none."""
        until(lambda: not replicas.moves(client) and set(self.held(client).values()) == {target})


class Writer:
    """An idempotent producer that writes numbers, and knows which of them were acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "retry.backoff.ms": 50,
            }
        )
        self.acked: list[int] = []
        self.failures: list[KafkaError] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._is_over.is_set():
            for _ in range(50):
                self._send(number)
                number += 1
            self._producer.poll(0)
            time.sleep(0.02)
        self._producer.flush(WAIT_S)

    def _send(self, number: int) -> None:
        """It waits while the producer has no room: on a busy machine brokers may be slower."""
        key, is_taken = b"%d" % (number % KEYS), False
        while not is_taken and not self._is_over.is_set():
            try:
                self._producer.produce(TOPIC, VALUE % number, key, on_delivery=self._done)
                is_taken = True
            except BufferError:
                self._producer.poll(0.1)

    def _done(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(error)
        else:
            self.acked.append(number_of(message))

    def writes_on(self) -> None:
        """Waits for what was begun after this moment, and for the stretch between two steps."""
        count = len(self.acked)
        until(lambda: len(self.acked) > count + 200)
        time.sleep(STRETCH_S)

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()


def number_of(message: Message) -> int:
    value = message.value()
    assert isinstance(value, bytes)
    return int(value[:12])


def until(holds: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < give_up_s
        time.sleep(0.05)


def read_all(bootstrap: str) -> dict[bytes, list[int]]:
    """All numbers, by key, as they come."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "check", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    found: dict[bytes, list[int]] = {}
    ended: set[int | None] = set()
    give_up_s = time.monotonic() + WAIT_S
    while len(ended) < PARTITIONS:
        assert time.monotonic() < give_up_s
        for message in consumer.consume(1000, 0.5):
            if message.error() is not None:
                ended.add(message.partition())
            else:
                key = message.key()
                assert isinstance(key, bytes)
                found.setdefault(key, []).append(number_of(message))
    consumer.close()
    return found


def check(writer: Writer, bootstrap: str) -> None:
    """Every acknowledged number once, and in order for each key."""
    found = read_all(bootstrap)
    assert not writer.failures
    numbers = [number for values in found.values() for number in values]
    assert len(set(numbers)) == len(numbers)
    assert set(writer.acked) <= set(numbers)
    for values in found.values():
        assert values == sorted(values)


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Brokers]:
    made = Brokers(tmp_path)
    yield made
    for each in made.brokers.values():
        each.kill()


def test_a_topic_moves_to_other_brokers_under_load(brokers: Brokers) -> None:
    brokers.start(1, 2, 3, 4)
    with brokers.client() as client:
        admin.create_topic(client, TOPIC, PARTITIONS, 2)
        writer = Writer(brokers.bootstrap)
        writer.writes_on()
        for pair in ((1, 2), (3, 4), (4, 1), (2, 3)):
            replicas.reassign(client, {(TOPIC, index): pair for index in range(PARTITIONS)})
            brokers.wait_moved(client, pair)
            writer.writes_on()
    writer.stop()
    check(writer, brokers.bootstrap)
    for node_id in (1, 4):
        data = brokers.brokers[node_id].data_dir
        until(lambda data=data: not list(data.glob(f"{TOPIC}-*")))  # type: ignore[misc]


def test_brokers_that_die_while_replicas_move_lose_nothing(brokers: Brokers) -> None:
    brokers.start(1, 2, 3, 4)
    with brokers.client() as client:
        admin.create_topic(client, TOPIC, PARTITIONS, 3)
        writer = Writer(brokers.bootstrap)
        writer.writes_on()
        for turn, victim in enumerate((4, 1, 2)):
            target = [(1, 2, 4), (2, 4, 3), (3, 1, 4)][turn]
            replicas.reassign(client, {(TOPIC, index): target for index in range(PARTITIONS)})
            brokers.brokers[victim].kill()
            writer.writes_on()
            brokers.start(victim)
            brokers.wait_moved(client, target)
            writer.writes_on()
    writer.stop()
    check(writer, brokers.bootstrap)


def test_leaders_that_change_again_and_again_double_nothing(brokers: Brokers) -> None:
    """librdkafka sends a new leader at times what comes behind a batch before that batch itself:
    were it told that one is missing, it would begin anew with all that it has not been told of."""
    brokers.start(1, 2, 3)
    places = [(TOPIC, index) for index in range(PARTITIONS)]
    with brokers.client() as client:
        admin.create_topic(client, TOPIC, PARTITIONS, 3)
        writer = Writer(brokers.bootstrap)
        writer.writes_on()
        for turn in range(CHANGES_OF_LEADERS):
            orders = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]
            plan = {place: orders[(place[1] + turn) % 3] for place in places}
            replicas.reassign(client, plan)
            until(lambda: not replicas.moves(client))
            replicas.elect_leaders(client, places)
        writer.writes_on()
    writer.stop()
    check(writer, brokers.bootstrap)


def test_a_move_that_is_cancelled_again_and_again_loses_nothing(brokers: Brokers) -> None:
    brokers.start(1, 2, 3)
    with brokers.client() as client:
        admin.create_topic(client, TOPIC, PARTITIONS, 1)
        before = brokers.held(client)
        writer = Writer(brokers.bootstrap)
        writer.writes_on()
        for turn in range(5):
            others = {
                (TOPIC, index): (held[0] % 3 + 1,) for index, held in brokers.held(client).items()
            }
            replicas.reassign(client, others)
            time.sleep(0.02 * turn)
            replicas.reassign(client, dict.fromkeys(others))
            until(lambda: not replicas.moves(client))
            writer.writes_on()
        assert before.keys() == brokers.held(client).keys()
    writer.stop()
    check(writer, brokers.bootstrap)
