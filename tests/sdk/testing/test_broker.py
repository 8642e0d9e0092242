"""Brokers for tests: what tests do with them, and to them."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from itertools import count
from typing import Any

import confluent_kafka
import pytest
from tests.group_stage import wait_until
from tests.raw_client import RawClient, framed

from penstock import Admin
from penstock.sdk.errors import BrokerRefused, Misconfigured, PenstockError
from penstock.testing import Broker, running_broker

_numbers = count(1)

either_way = pytest.mark.parametrize(
    "penstock_fresh_broker",
    [
        pytest.param(None, marks=pytest.mark.penstock(in_process=False), id="process"),
        pytest.param(None, marks=pytest.mark.penstock(in_process=True), id="thread"),
    ],
    indirect=True,
)


def send(bootstrap: str, topic: str, value: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    producer.produce(topic, value)
    assert producer.flush(30) == 0


def read(bootstrap: str, topic: str) -> str:
    """The first record, by a group that nobody else uses."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"readers-{next(_numbers)}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    message: Any = wait_until(lambda: consumer.poll(0.1), f"a record of {topic}")
    consumer.close()
    value: bytes = message.value()
    return value.decode()


@pytest.fixture
def broker(penstock_fresh_broker: Broker) -> Iterator[Broker]:
    yield penstock_fresh_broker
    assert "Traceback" not in penstock_fresh_broker.logs


@either_way
def test_what_was_sent_is_read_also_after_a_restart(broker: Broker) -> None:
    topic, port = broker.topic(), broker.port
    send(broker.bootstrap, topic, "before")
    assert read(broker.bootstrap, topic) == "before"
    broker.restart()
    assert broker.port == port
    assert read(broker.bootstrap, topic) == "before"


@either_way
def test_a_broker_that_is_paused_answers_nobody_until_it_is_resumed(broker: Broker) -> None:
    broker.pause()
    with Admin(broker.bootstrap, timeout_s=0.2) as admin:
        with pytest.raises(PenstockError, match="answer"):
            admin.topics.list()
        assert broker.is_running
        broker.resume()
    with Admin(broker.bootstrap) as admin:
        assert admin.topics.list() == ()


@either_way
def test_a_broker_that_is_stopped_is_not_there(broker: Broker) -> None:
    broker.stop()
    assert not broker.is_running
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", broker.port))
    with pytest.raises(Misconfigured, match=r"restart\(\) it first"):
        broker.pause()
    broker.restart()
    assert broker.is_running


@either_way
@pytest.mark.parametrize("is_shared", [False, True])
def test_nobody_takes_the_port_of_a_broker_that_is_down(broker: Broker, is_shared: bool) -> None:
    with socket.create_connection(("127.0.0.1", broker.port)):
        broker.stop()
    with socket.socket() as taker:
        taker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, is_shared)
        with pytest.raises(OSError, match="in use"):
            taker.bind(("127.0.0.1", broker.port))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", broker.port))
    broker.restart()
    assert broker.admin.topics.list() == ()


@either_way
def test_a_broker_may_be_restarted_while_it_is_paused(broker: Broker) -> None:
    topic = broker.topic()
    broker.pause()
    broker.restart()
    assert [each.name for each in broker.admin.topics.list()] == [topic]


def test_what_was_acknowledged_is_there_after_a_kill(broker: Broker) -> None:
    topic = broker.topic()
    send(broker.bootstrap, topic, "kept")
    broker.kill()
    assert not broker.is_running
    broker.restart()
    assert read(broker.bootstrap, topic) == "kept"


@pytest.mark.penstock(in_process=True)
def test_a_broker_in_the_process_of_the_tests_is_not_killed(penstock_fresh_broker: Broker) -> None:
    with pytest.raises(Misconfigured, match="run it as a process of its own"):
        penstock_fresh_broker.kill()
    assert penstock_fresh_broker.is_running


@pytest.mark.penstock(in_process=True)
def test_what_a_broker_in_a_thread_logs_is_kept(penstock_fresh_broker: Broker) -> None:
    logging.getLogger("penstock.node.test").error("not by the broker")
    with RawClient(penstock_fresh_broker.port) as wrong:
        wrong.send(framed(b"no!!"))
        assert wrong.is_closed_by_broker()
    wait_until(lambda: penstock_fresh_broker.logs, "a line in the log")
    assert "not by the broker" not in penstock_fresh_broker.logs


def test_topics_are_new_each_time_and_set_as_asked(penstock_broker: Broker) -> None:
    first, second = (penstock_broker.topic("same", 2, retention_ms=5000) for _ in range(2))
    assert first != second
    assert first.startswith("same-")
    found = penstock_broker.admin.topics.describe(first)
    assert len(found.partitions) == 2
    assert found.configs["retention.ms"].value == "5000"


@pytest.mark.penstock(settings={"num.partitions": 7})
class TestSettings:
    @pytest.mark.penstock(settings={"auto.create.topics.enable": False})
    def test_a_marker_sets_the_broker_up(self, penstock_fresh_broker: Broker) -> None:
        configs = penstock_fresh_broker.admin.brokers.get_configs(1)
        assert configs["num.partitions"].value == "7"
        assert configs["auto.create.topics.enable"].value == "false"


@pytest.mark.parametrize("in_process", [False, True])
def test_a_broker_that_cannot_start_says_why(in_process: bool) -> None:
    with pytest.raises(BrokerRefused, match=r"did not start: .*retention"):
        running_broker({"log.retention.ms": "soon"}, in_process=in_process)
