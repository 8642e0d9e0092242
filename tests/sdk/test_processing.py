"""Handlers, and dead letters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.sdk.reading import SOON_S

from penstock import Producer
from penstock.sdk import Json, Message, Misconfigured, processing
from penstock.sdk.semantics import DeliveryWord

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
        if message.value == 4:
            consumer.idle_timeout = SOON_S
        if message.value == 2:
            raise ValueError("I do not like it")

    consumer = consumer_of(name, deserializer=Json(int))
    dead = f"{name}.dlq"
    assert consumer.process(handle, retries=2, backoff=0.001, dead_letters=dead) == 5
    assert tried == [0, 1, 2, 2, 2, 3, 4]
    letter = consumer_of(dead).poll(30)
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

    def handle(message: Message[int]) -> None:
        handled.append(message.value)
        if message.value == 3:
            consumer.idle_timeout = SOON_S

    consumer.process(handle, dead_letters=f"{name}.dlq", producer=producer)
    assert handled == [1, 3]
    assert consumer_of(f"{name}.dlq").poll(30).value == "nothing"


def test_a_handler_that_recovers_leaves_no_dead_letter(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    producer.send(name, "v").result(30)
    failures = [OSError("once"), OSError("twice")]

    def handle(_: Message[str]) -> None:
        consumer.idle_timeout = SOON_S
        if failures:
            raise failures.pop()

    consumer = consumer_of(name)
    assert consumer.process(handle, backoff=0.001) == 1


def test_without_a_topic_for_them_the_failure_is_raised_and_the_message_comes_again(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    producer.send(name, "v").result(30)
    with pytest.raises(ZeroDivisionError), consumer_of(name) as consumer:
        consumer.process(lambda message: 1 // 0, retries=0)
    assert consumer_of(name).poll(30).value == "v"


def test_the_producer_that_is_given_is_used(
    producer: Producer, make_topic: Make, consumer_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = make_topic()
    producer.send(name, "v").result(30)
    made: list[Any] = []

    class Noted(Producer):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            made.append(self)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(processing, "Producer", Noted)
    given, consumer = Noted(producer.bootstrap), consumer_of(name)

    def fail(_: Message[str]) -> None:
        consumer.idle_timeout = SOON_S
        raise ZeroDivisionError

    consumer.process(fail, retries=0, dead_letters=f"{name}.dlq", producer=given)
    given.close()
    assert made == [given]


@pytest.mark.parametrize(
    "options",
    [
        {"retries": -1},
        {"retries": "3"},
        {"retries": 1.5},
        {"backoff": -1.0},
        {"backoff": float("nan")},
        {"dead_letters": 3},
        {"producer": "one"},
        {"retry": 3},
    ],
    ids=str,
)
def test_options_that_cannot_be_are_refused(
    make_topic: Make, consumer_of: Make, options: dict[str, Any]
) -> None:
    with pytest.raises(Misconfigured, match=next(iter(options))):
        consumer_of(make_topic()).process(print, **options)


@pytest.mark.parametrize("as_pattern", [False, True])
def test_letters_do_not_go_to_what_is_read(
    as_pattern: bool, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    producer.send(name, "v").result(30)
    consumer = consumer_of(re.compile(f"^{name}") if as_pattern else name)
    letters = f"{name}.dlq" if as_pattern else name
    with pytest.raises(Misconfigured, match="give another topic"):
        consumer.process(lambda message: 1 // 0, retries=0, dead_letters=letters)


@pytest.mark.parametrize("delivery", ["at-most-once", "exactly-once"])
def test_a_producer_that_would_not_tell_whether_a_letter_is_there_is_refused(
    delivery: DeliveryWord, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    consumer, name = consumer_of(make_topic()), "letters" if delivery == "exactly-once" else None
    with (
        Producer(producer.bootstrap, delivery=delivery, transactional_id=name) as given,
        pytest.raises(Misconfigured, match=delivery),
    ):
        consumer.process(print, dead_letters="letters", producer=given)


def test_a_handler_that_nobody_awaits_is_refused_and_its_message_comes_again(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    producer.send(name, "v").result(30)

    async def handle(_: Message[str]) -> None: ...

    with pytest.raises(Misconfigured, match="AsyncConsumer"), consumer_of(name) as consumer:
        consumer.process(handle, dead_letters=f"{name}.dlq")
    assert consumer_of(name).poll(30).value == "v"


def test_what_is_no_handler_buries_nothing(make_topic: Make, consumer_of: Make) -> None:
    nothing: Any = None
    with pytest.raises(Misconfigured, match="handler"):
        consumer_of(make_topic()).process(nothing, dead_letters="letters")
