"""Handlers, and dead letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Producer
from penstock.sdk import Json, Message

Make = Callable[..., Any]


def test_a_message_whose_handler_keeps_failing_goes_to_the_dead_letters(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    for number in range(5):
        producer.send(name, str(number), key=f"k{number}", tags={"n": "1"})
    producer.flush()
    tried: list[int] = []

    def handle(message: Message[int]) -> None:
        tried.append(message.value)
        if message.value == 2:
            raise ValueError("I do not like it")

    consumer = consumer_of(name, deserializer=Json(int))
    dead = f"{name}.dlq"
    assert consumer.process(handle, retries=2, backoff=0.001, dead_letters=dead) == 5
    assert tried == [0, 1, 2, 2, 2, 3, 4]
    letter = consumer_of(dead).poll(10)
    assert (letter.key, letter.value) == ("k2", "2")
    assert letter.tags == {
        "n": "1",
        "__dlq.errors.topic": name,
        "__dlq.errors.partition": "0",
        "__dlq.errors.offset": "2",
        "__dlq.errors.group": f"readers-of-{name}",
        "__dlq.errors.delivery.count": "3",
        "__dlq.errors.message": "ValueError: I do not like it",
    }


def test_what_cannot_be_read_is_a_dead_letter_too(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    for value in ("1", "nothing", "3"):
        producer.send(name, value)
    producer.flush()
    handled: list[int] = []
    consumer = consumer_of(name, deserializer=Json(int))
    consumer.process(
        lambda message: handled.append(message.value), dead_letters=f"{name}.dlq", producer=producer
    )
    assert handled == [1, 3]
    assert consumer_of(f"{name}.dlq").poll(10).value == "nothing"


def test_a_handler_that_recovers_leaves_no_dead_letter(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    producer.send(name, "v").result(10)
    failures = [OSError("once"), OSError("twice")]

    def handle(_: Message[str]) -> None:
        if failures:
            raise failures.pop()

    assert consumer_of(name).process(handle, backoff=0.001) == 1


def test_without_a_topic_for_them_the_failure_is_raised_and_the_message_comes_again(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    producer.send(name, "v").result(10)
    with pytest.raises(ZeroDivisionError), consumer_of(name) as consumer:
        consumer.process(lambda message: 1 // 0, retries=0)
    assert consumer_of(name).poll(10).value == "v"
