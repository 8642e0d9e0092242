"""A handler for each message, and what becomes of those for which it keeps failing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from penstock.sdk.checks import check_handler, check_outcome, check_seconds, check_text, check_whole
from penstock.sdk.dead_letters import headers_for
from penstock.sdk.errors import Misconfigured, NotDeserializable
from penstock.sdk.producer import Producer
from penstock.sdk.semantics import Delivery

if TYPE_CHECKING:
    from penstock.sdk.consumer import Consumer
    from penstock.sdk.message import Message

V = TypeVar("V")

BACKOFF_S_MAX = 30.0


class Failing(TypedDict, total=False):
    """What to do about failing handlers."""

    retries: int
    """After the first attempt."""
    backoff: float
    """Seconds before the first of them; twice as long before each further one."""
    dead_letters: str | None
    producer: Producer | None


class Attempts:
    """At one message."""

    def __init__(self, options: Failing) -> None:
        self._max = options.get("retries", 3) + 1
        self._backoff_s = options.get("backoff", 0.1)
        self.count = 0

    def pause_s(self) -> float | None:
        """One has failed. How long to wait before the next; None if that was the last."""
        self.count += 1
        if self.count >= self._max:
            return None
        return float(min(self._backoff_s * 2 ** (self.count - 1), BACKOFF_S_MAX))


class Graveyard:
    """Where messages go that cannot be processed. Without a topic for them, the cause is raised."""

    def __init__(self, group: str, sender: Producer | None, topic: str | None) -> None:
        self._group = group
        self._sender = sender
        self._topic = topic

    def bury(self, raw: Any, attempts: int, error: Exception) -> None:
        """Returns when it is there: before that, its original must not count as processed."""
        if self._sender is None or self._topic is None:
            raise error
        headers = headers_for(raw, self._group, attempts, error)
        self._sender.send_bytes(self._topic, raw.value(), raw.key(), headers).result()


def process(
    consumer: Consumer[V], handler: Callable[[Message[V]], object], options: Failing
) -> int:
    check_handler(handler)
    count = 0
    with graveyard_of(consumer, options) as graveyard:
        messages = iter(consumer)
        while True:
            try:
                message = next(messages, None)
            except NotDeserializable as error:
                messages = iter(consumer)
                graveyard.bury(error.raw, 0, error)
            else:
                if message is None:
                    return count
                _handle(consumer, handler, message, Attempts(options), graveyard)
            count += 1


def _handle(
    consumer: Consumer[V],
    handler: Callable[[Message[V]], object],
    message: Message[V],
    attempts: Attempts,
    graveyard: Graveyard,
) -> None:
    while True:
        try:
            outcome = handler(message)
            break
        except Exception as error:
            pause_s = attempts.pause_s()
            if pause_s is None:
                graveyard.bury(message.raw, attempts.count, error)
                return
        time.sleep(pause_s)
        consumer.stay_alive()
    check_outcome(handler, outcome)


@contextmanager
def graveyard_of(consumer: Consumer[Any], options: Failing) -> Iterator[Graveyard]:
    """With the producer that was given, or one of our own."""
    topic, given = options.get("dead_letters"), options.get("producer")
    check(consumer, options)
    if given is not None or topic is None:
        yield Graveyard(consumer.group, given, topic)
        return
    ours = ("security.", "sasl.", "ssl.")
    settings = {name: value for name, value in consumer.settings.items() if name.startswith(ours)}
    with Producer(consumer.bootstrap, tune="latency", settings=settings) as made:
        yield Graveyard(consumer.group, made, topic)


def check(consumer: Consumer[Any], options: Failing) -> None:
    if consumer.delivery is Delivery.EXACTLY_ONCE:
        raise Misconfigured(
            "process() commits by itself; with exactly-once, use `consumer.transactions(producer)`"
        )
    for word in options:
        if word not in Failing.__annotations__:
            words = ", ".join(Failing.__annotations__)
            raise Misconfigured(f"process() has no {word}=: give {words}")
    check_whole("retries", options.get("retries", 0), 0)
    check_seconds("backoff", options.get("backoff", 0))
    _check_topic(consumer, options.get("dead_letters"))
    _check_producer(options.get("producer"))


def _check_topic(consumer: Consumer[Any], topic: str | None) -> None:
    if topic is None:
        return
    check_text("dead_letters", topic)
    if consumer.reads(topic):
        raise Misconfigured(
            f"dead_letters={topic!r} is what this consumer reads: each letter would come back, and "
            "be buried again, for ever; give another topic"
        )


def _check_producer(given: object) -> None:
    """A letter has to be there before its original counts as processed."""
    if given is None:
        return
    if not isinstance(given, Producer):
        raise Misconfigured("producer= of process() is to be a penstock.Producer, or left out")
    if given.delivery is not Delivery.AT_LEAST_ONCE:
        raise Misconfigured(
            f'producer= of process() has delivery="{given.delivery}": letters are sent one by one, '
            'and waited for; give one with delivery="at-least-once", or leave it out'
        )
