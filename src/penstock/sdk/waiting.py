"""Messages that are to wait: when they are due, and whether their topic can hold them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException

from penstock.client.scheduling import SETTING, without_delays
from penstock.delays.asking import DELAY_MS_MAX
from penstock.delays.cron import BadCron, parse
from penstock.sdk.checks import check_seconds, check_text
from penstock.sdk.connecting import created
from penstock.sdk.errors import Misconfigured, Unreachable
from penstock.sdk.outgoing import Headers
from penstock.sdk.translation import translated
from penstock.wire.holding import CANCEL, CRON, DELAY, DELIVER_AT

Delay = float | timedelta
"""Seconds, or a timedelta."""

ASK_S_MAX = 10.0
_ours: Any = confluent_kafka.admin  # whose types are not all there
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BY_HAND = frozenset(each.decode() for each in (CANCEL, CRON, DELAY, DELIVER_AT))
_WAYS = (
    *("bootstrap.", "broker.", "client.", "socket."),
    *("security.", "sasl.", "ssl.", "enable.ssl", "oauth_cb"),
)
"""Settings that say how brokers are reached."""


def wait_header(
    delay: Delay | None, deliver_at: datetime | None, repeat: str | None
) -> tuple[str, bytes] | None:
    """What makes a broker hold a message; None if it need not wait."""
    if (delay, deliver_at, repeat).count(None) < 2:
        raise Misconfigured("delay=, deliver_at= and repeat=: give one of them")
    if repeat is not None:
        return CRON.decode(), _cron(repeat)
    if deliver_at is not None:
        return DELIVER_AT.decode(), b"%d" % _due_ms(deliver_at)
    delay_ms = 0 if delay is None else _delay_ms(delay)
    return (DELAY.decode(), b"%d" % delay_ms) if delay_ms else None


def check_alone(headers: Headers, timestamp: datetime | int | None) -> None:
    """Whether nothing else says when."""
    for name, _ in headers:
        if name in _BY_HAND:
            raise Misconfigured(
                f"header {name} and delay=, deliver_at= or repeat=: give one of them"
            )
    if timestamp is not None:
        raise Misconfigured(
            "timestamp= and delay=, deliver_at= or repeat=: a message that waits gets the time at "
            "which it is due for its timestamp; give that with deliver_at="
        )


def _due_ms(deliver_at: datetime) -> int:
    """Never before."""
    if not isinstance(deliver_at, datetime):
        raise Misconfigured(f"deliver_at={deliver_at!r}: give a datetime with a time zone")
    if deliver_at.tzinfo is None:
        raise Misconfigured(
            f"deliver_at={deliver_at!r} has no time zone: give an aware datetime, as in "
            "datetime.now(UTC) + timedelta(hours=1)"
        )
    due_ms = -((_EPOCH - deliver_at) // timedelta(milliseconds=1))
    if due_ms < 0 or due_ms - time.time() * 1000 > DELAY_MS_MAX:
        raise Misconfigured(f"deliver_at={deliver_at!r}: give a time since 1970, and within a year")
    return due_ms


def _cron(repeat: str) -> bytes:
    check_text("repeat", repeat)
    text = repeat.encode(errors="backslashreplace")
    try:
        next_ms = parse(text).next_after(int(time.time() * 1000))
    except BadCron as problem:
        raise Misconfigured(f"repeat={repeat!r}: {problem}") from None
    if next_ms is None:
        raise Misconfigured(f"repeat={repeat!r}: the next year has no such time")
    return text


def _delay_ms(delay: Delay) -> int:
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    check_seconds("delay", seconds)
    if seconds * 1000 > DELAY_MS_MAX:
        raise Misconfigured(f"delay={delay!r} is more than a year: give seconds, or a timedelta")
    return math.ceil(seconds * 1000)


class Delays:
    """Which topics hold messages. The others would deliver them at once, and nobody would know."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._ways = {name: settings[name] for name in settings if name.startswith(_WAYS)}
        self._known: set[str] = set()

    def knows(self, topic: str) -> bool:
        return topic in self._known

    def check(self, topic: str, timeout_s: float) -> None:
        """Asks once for each topic."""
        if self.knows(topic):
            return
        if self._ask(topic, min(timeout_s, ASK_S_MAX)) != "true":
            raise Misconfigured(
                f"{without_delays(topic)}, as `Queue.ensure(..., delays=True)` does. Nothing was "
                "sent"
            )
        self._known.add(topic)

    def forget(self, topic: str) -> None:
        """It may be another one of that name."""
        self._known.discard(topic)

    def _ask(self, topic: str, limit_s: float) -> str | None:
        """librdkafka does, since it knows how to prove who we are."""
        admin = created(_ours.AdminClient, {**self._ways, "log_level": 0})
        resource = _ours.ConfigResource(_ours.ConfigResource.Type.TOPIC, topic)
        try:
            answers = admin.describe_configs([resource], request_timeout=limit_s)
            found = answers[resource].result()
        except KafkaException as failure:
            if failure.args[0].code() == KafkaError._TIMED_OUT:
                raise Unreachable(
                    f"no broker has answered at {self._ways['bootstrap.servers']} in {limit_s:g} s "
                    f"whether topic {topic} has {SETTING}; is one running there? `penstock serve` "
                    "starts one",
                    "_TIMED_OUT",
                ) from None
            raise translated(f"whether topic {topic} has {SETTING}", failure) from None
        return found[SETTING].value if SETTING in found else None
