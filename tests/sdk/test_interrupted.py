"""Exceptions out of librdkafka's calls: Ctrl-C, and hooks that raise. Nothing is lost by them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.sdk import interrupted_reader

from penstock import Consumer, Producer
from penstock.sdk import TopicPartition

Make = Callable[..., Any]
WAIT_S = 30.0


def fill(producer: Producer, topic: str, first: int, last: int) -> list[str]:
    values = [str(number) for number in range(first, last)]
    for value in values:
        producer.send(topic, value)
    producer.flush()
    return values


@pytest.fixture
def reader(broker: BrokerProcess) -> Iterator[Make]:
    """Starts readers in processes of their own."""
    started: list[Any] = []

    def start(topic: str, way: str) -> Any:
        words = (broker.address, topic, f"readers-of-{topic}", way)
        path = interrupted_reader.__file__
        started.append(
            subprocess.Popen([sys.executable, path, *words], stdout=subprocess.PIPE, text=True)
        )
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


@pytest.mark.parametrize("way", ["iteration", "poll", "batches", "process", "exit"])
def test_what_comes_just_as_ctrl_c_is_pressed_is_not_lost(
    producer: Producer, make_topic: Make, consumer_of: Make, reader: Make, way: str
) -> None:
    """The reader waits inside librdkafka, which hears no signal, and then returns a message."""
    name = make_topic()
    sent, seen = fill(producer, name, 0, 1), list[str]()
    process = reader(name, way)
    while sent[0] not in seen:
        seen.append(process.stdout.readline().strip())
    process.send_signal(signal.SIGINT)
    sent += fill(producer, name, 1, 2)
    seen += process.communicate(timeout=WAIT_S)[0].split()
    assert process.returncode == 0
    heir = consumer_of(name)
    while sent[1] not in seen:
        seen.append(heir.poll(WAIT_S).value)
    assert set(seen) == set(sent)


class Interrupted:
    """librdkafka, with somebody who presses Ctrl-C whenever it has returned messages."""

    def __init__(self, rdkafka: Any, times: int) -> None:
        self._rdkafka = rdkafka
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rdkafka, name)

    def consume(self, limit: int, timeout_s: float) -> Any:
        return self._interrupt(self._rdkafka.consume(limit, timeout_s))

    def poll(self, timeout_s: float) -> Any:
        return self._interrupt(self._rdkafka.poll(timeout_s))

    def _interrupt(self, found: Any) -> Any:
        if found and self._times:
            self._times -= 1
            signal.raise_signal(signal.SIGINT)
        return found


def read_on(consumer: Consumer[Any], step: Callable[[], list[str]], count: int) -> list[str]:
    """As a program does that catches Ctrl-C and goes on."""
    found: list[str] = []
    interrupts = 0
    while len(found) < count:
        try:
            more = step()
        except KeyboardInterrupt:
            interrupts += 1
            continue
        assert more
        found += more
    assert interrupts
    return found


@pytest.mark.parametrize("way", ["poll", "batches", "iteration"])
@pytest.mark.parametrize("start", ["at once", "later"])
def test_who_goes_on_after_ctrl_c_gets_everything_once_and_in_order(
    producer: Producer, make_topic: Make, consumer_of: Make, way: str, start: str
) -> None:
    name = make_topic(2)
    sent = fill(producer, name, 0, 100)
    consumer = consumer_of(name, delivery="exactly-once")
    seen = [consumer.poll(WAIT_S).value] if start == "later" else []
    sent += fill(producer, name, 100, 200)
    consumer.intake.rdkafka = Interrupted(consumer.intake.rdkafka, 3)
    steps: dict[str, Callable[[], list[str]]] = {
        "poll": lambda: [consumer.poll(WAIT_S).value],
        "batches": lambda: [each.value for each in next(consumer.batches(30))],
        "iteration": lambda: [next(iter(consumer)).value],
    }
    seen += read_on(consumer, steps[way], 200 - len(seen))
    assert sorted(seen, key=int) == sent


def test_ctrl_c_before_anything_was_handed_out_commits_nothing(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    sent = fill(producer, name, 0, 20)
    consumer = consumer_of(name)
    consumer.intake.rdkafka = Interrupted(consumer.intake.rdkafka, 1)
    with pytest.raises(KeyboardInterrupt), consumer:
        consumer.poll(WAIT_S)
    heir = consumer_of(name)
    assert [heir.poll(WAIT_S).value for _ in sent] == sent


def test_a_hook_that_raises_loses_nothing(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic(2)
    for number in range(400):
        producer.send(name, str(number), partition=number % 2)
    producer.flush()

    def fail(_: list[TopicPartition]) -> None:
        raise OSError("the hook is wrong")

    first, second = consumer_of(name, on_revoke=fail), consumer_of(name)
    found = [first.poll(WAIT_S).value for _ in range(20)]

    def share() -> None:
        with first:
            while True:
                found.extend(each.value for each in (first.poll(0.1), second.poll(0.1)) if each)

    with pytest.raises(OSError, match="wrong"):
        share()
    while len(set(found)) < 400:
        found.append(second.poll(WAIT_S).value)
