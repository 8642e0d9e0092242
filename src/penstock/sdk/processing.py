"""A handler for each message, and what becomes of those for which it keeps failing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

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
            handler(message)
            return
        except Exception as error:
            pause_s = attempts.pause_s()
            if pause_s is None:
                graveyard.bury(message.raw, attempts.count, error)
                return
        time.sleep(pause_s)
        consumer.stay_alive()


@contextmanager
def graveyard_of(consumer: Consumer[Any], options: Failing) -> Iterator[Graveyard]:
    """With the producer that was given, or one of our own."""
    topic, given = options.get("dead_letters"), options.get("producer")
    check(consumer.delivery, options)
    if given is not None or topic is None:
        yield Graveyard(consumer.group, given, topic)
        return
    ours = ("security.", "sasl.", "ssl.")
    settings = {name: value for name, value in consumer.settings.items() if name.startswith(ours)}
    with Producer(consumer.bootstrap, tune="latency", settings=settings) as made:
        yield Graveyard(consumer.group, made, topic)


def check(delivery: Delivery, options: Failing) -> None:
    if delivery is Delivery.EXACTLY_ONCE:
        raise Misconfigured(
            "process() commits by itself; with exactly-once, use `consumer.transactions(producer)`"
        )
    if options.get("retries", 0) < 0 or options.get("backoff", 0) < 0:
        raise Misconfigured("retries= and backoff= of process() cannot be below zero")
    if not isinstance(options.get("producer"), Producer | None):
        raise Misconfigured("producer= of process() is to be a penstock.Producer, or left out")
