"""What is promised, as settings: one table for each choice, which the clients and the docs read."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeVar

from penstock.sdk.errors import Misconfigured

Settings = Mapping[str, Any]


class Delivery(StrEnum):
    AT_LEAST_ONCE = "at-least-once"
    AT_MOST_ONCE = "at-most-once"
    EXACTLY_ONCE = "exactly-once"


class Tune(StrEnum):
    THROUGHPUT = "throughput"
    LATENCY = "latency"


class Protocol(StrEnum):
    """How a group shares partitions: decided by the broker (KIP-848), or by its members."""

    CONSUMER = "consumer"
    CLASSIC = "classic"


DeliveryWord = Delivery | Literal["at-least-once", "at-most-once", "exactly-once"]
TuneWord = Tune | Literal["throughput", "latency"]
ProtocolWord = Protocol | Literal["consumer", "classic"]
"""So that a type checker sees a word that is none."""


class Row(NamedTuple):
    """One setting, by librdkafka's name, and by the Java client's where it has it."""

    name: str
    value: Any
    java: str | None = ""
    """Empty: the same name. None: it has none."""


_TOLD = Row("delivery.report.only.error", False, None)
"""Or nobody would hear that a message has arrived."""
PRODUCER: dict[Delivery, tuple[Row, ...]] = {
    Delivery.AT_LEAST_ONCE: (Row("acks", "all"), Row("enable.idempotence", True), _TOLD),
    Delivery.AT_MOST_ONCE: (
        Row("acks", 0),
        Row("retries", 0),
        Row("enable.idempotence", False),
        _TOLD,
    ),
    Delivery.EXACTLY_ONCE: (Row("acks", "all"), Row("enable.idempotence", True), _TOLD),
}
"""`transactional.id` comes with exactly-once."""

_OWN_COMMITS = (Row("enable.auto.commit", False), Row("enable.auto.offset.store", False, None))
CONSUMER: dict[Delivery, tuple[Row, ...]] = {
    Delivery.AT_LEAST_ONCE: _OWN_COMMITS,
    Delivery.AT_MOST_ONCE: _OWN_COMMITS,
    Delivery.EXACTLY_ONCE: (*_OWN_COMMITS, Row("isolation.level", "read_committed")),
}

PRODUCER_TUNE: dict[Tune, tuple[Row, ...]] = {
    Tune.THROUGHPUT: (
        Row("linger.ms", 10),
        Row("batch.size", 1_048_576),
        Row("message.max.bytes", 1_048_588, "max.request.size"),
        Row("compression.type", "lz4"),
        Row("queue.buffering.max.messages", 500_000, None),
    ),
    Tune.LATENCY: (
        Row("linger.ms", 0),
        Row("batch.size", 1_048_576, None),
        Row("message.max.bytes", 1_048_588, None),
        Row("compression.type", "none"),
        Row("socket.nagle.disable", True, None),
    ),
}
"""Batches may be as large as a broker takes that nobody told otherwise. Where librdkafka keeps the
order of a partition, it has one batch under way there, and waits for it before it sends what has
come meanwhile: in smaller ones that takes longer, also where nothing lingers. The Java client has
five under way, and makes room for each as large as it may become.
"""
CONSUMER_TUNE: dict[Tune, tuple[Row, ...]] = {
    Tune.THROUGHPUT: (
        Row("fetch.min.bytes", 65_536),
        Row("fetch.wait.max.ms", 100, "fetch.max.wait.ms"),
        Row("fetch.message.max.bytes", 4_194_304, "max.partition.fetch.bytes"),
        Row("queued.min.messages", 100_000, None),
    ),
    Tune.LATENCY: (
        Row("fetch.min.bytes", 1),
        Row("fetch.wait.max.ms", 500, "fetch.max.wait.ms"),
        Row("queued.min.messages", 10_000, None),
        Row("socket.nagle.disable", True, None),
    ),
}
COMMIT_INTERVAL_S: dict[Tune, float] = {Tune.THROUGHPUT: 5.0, Tune.LATENCY: 1.0}
"""For clients of other languages: auto.commit.interval.ms."""

SHARED: tuple[Row, ...] = (
    Row("client.id", "penstock-python"),
    Row("topic.metadata.refresh.interval.ms", 5_000, "metadata.max.age.ms"),
    Row("reconnect.backoff.max.ms", 2_000),
)
ALWAYS_PRODUCER: tuple[Row, ...] = (*SHARED, Row("partitioner", "murmur2_random", None))
_PATIENT = (Row("message.timeout.ms", 120_000, "delivery.timeout.ms"),)
PATIENCE: dict[Delivery, tuple[Row, ...]] = {
    Delivery.AT_LEAST_ONCE: _PATIENT,
    Delivery.AT_MOST_ONCE: _PATIENT,
    Delivery.EXACTLY_ONCE: (
        Row("message.timeout.ms", 60_000, "delivery.timeout.ms"),
        Row("transaction.timeout.ms", 60_000),
        Row("connections.max.idle.ms", 10_000, None),
    ),
}
"""How long a producer tries; not longer than its transaction may last.

If the broker that looks after the group dies, librdkafka may wait for it for ever when it sends
offsets, in spite of its timeout (librdkafka issues 5456 and 5511). A connection that is closed
because it is idle wakes it.
"""
ALWAYS_CONSUMER: tuple[Row, ...] = (
    *SHARED,
    Row("check.crcs", True),
    Row("retry.backoff.ms", 500, None),
)
"""A commit whose coordinator has gone is sent again after that time. If it takes longer to find the
next one, librdkafka drops what it was about to send, looks for the coordinator again, and so on.
The Java client waits until it has found one.
"""

PARAMETERS = {
    "bootstrap.servers": "the first argument",
    "metadata.broker.list": "the first argument",
    "group.id": "group=",
    "group.protocol": "protocol=",
    "auto.offset.reset": "start=",
    "transactional.id": "transactional_id=",
    "partitioner": "partitioner=",
    "on_commit": "commit(), which raises",
    "on_delivery": "send(on_delivery=...)",
}
"""Settings that have a word of their own, so that there is one way to say it."""

_ALIASES = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "queue.buffering.max.ms": "linger.ms",
    "delivery.timeout.ms": "message.timeout.ms",
    "compression.codec": "compression.type",
}

E = TypeVar("E", bound=StrEnum)


def chosen(kind: type[E], word: str, given: str) -> E:
    """One of few words, checked at once."""
    try:
        return kind(given)
    except ValueError:
        words = ", ".join(f'"{each}"' for each in kind)
        raise Misconfigured(f"{word}={given!r} is not known: give one of {words}") from None


def merged(
    promise: str, rows: tuple[Row, ...], changeable: tuple[Row, ...], given: Settings
) -> dict[str, Any]:
    """What is given wins over what can be changed, and may not contradict what was promised."""
    made = {each.name: each.value for each in changeable}
    made["logger"] = logging.getLogger("penstock.sdk")
    promised = {each.name: each.value for each in rows}
    for said, value in given.items():
        name = _ALIASES.get(said, said)
        if name in PARAMETERS:
            raise Misconfigured(f"settings has {said!r}: give that as {PARAMETERS[name]}")
        if name in promised and _plain(value) != _plain(promised[name]):
            raise Misconfigured(
                f"settings has {said}={value!r}, but {promise} needs "
                f"{name}={_plain(promised[name])}: leave one of them out"
            )
        made[name] = value
    return made | promised


def _plain(value: Any) -> str:
    """As librdkafka reads it, so that what means the same looks the same."""
    words = str(value).lower()
    return "all" if words == "-1" else words
