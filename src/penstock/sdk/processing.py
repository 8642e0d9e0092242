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


def process(
    consumer: Consumer[V],
    handler: Callable[[Message[V]], object],
    *,
    retries: int = 3,
    backoff: float = 0.1,
    dead_letters: str | None = None,
    producer: Producer | None = None,
) -> int:
    check(consumer.delivery)
    count = 0
    with sender_of(consumer, dead_letters, producer) as sender:
        messages = iter(consumer)
        while True:
            try:
                message = next(messages, None)
            except NotDeserializable as error:
                messages = iter(consumer)
                if sender is None or dead_letters is None:
                    raise
                bury(sender, dead_letters, error.raw, consumer.group, 0, error)
                continue
            if message is None:
                return count
            failure = _attempts(consumer, handler, message, retries, backoff)
            if failure is not None:
                if sender is None or dead_letters is None:
                    raise failure
                bury(sender, dead_letters, message.raw, consumer.group, retries + 1, failure)
            count += 1


def _attempts(
    consumer: Consumer[V],
    handler: Callable[[Message[V]], object],
    message: Message[V],
    retries: int,
    backoff: float,
) -> Exception | None:
    """Why the last of them failed."""
    failure: Exception | None = None
    for attempt in range(retries + 1):
        if failure is not None:
            time.sleep(pause_s(backoff, attempt))
            consumer.stay_alive()
        try:
            handler(message)
            return None
        except Exception as error:
            failure = error
    return failure


def pause_s(backoff: float, attempt: int) -> float:
    return float(min(backoff * 2 ** (attempt - 1), BACKOFF_S_MAX))


def check(delivery: Delivery) -> None:
    if delivery is Delivery.EXACTLY_ONCE:
        raise Misconfigured(
            "process() commits by itself; with exactly-once, use `consumer.transactions(producer)`"
        )


@contextmanager
def sender_of(
    consumer: Any, dead_letters: str | None, given: Producer | None
) -> Iterator[Producer | None]:
    """The producer for dead letters: the one that was given, or one of our own."""
    if given or dead_letters is None:
        yield given
        return
    ours = ("security.", "sasl.", "ssl.")
    settings = {name: value for name, value in consumer.settings.items() if name.startswith(ours)}
    with Producer(consumer.bootstrap, tune="latency", settings=settings) as made:
        yield made


def bury(
    sender: Producer, topic: str, raw: Any, group: str, attempts: int, error: Exception
) -> None:
    """Returns when it is there: before that, its original must not count as processed."""
    headers = headers_for(raw, group, attempts, error)
    sender.send_bytes(topic, raw.value(), raw.key(), headers).result()
