"""A message on its way."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec
from confluent_kafka import KafkaError

from penstock.sdk.errors import DeliveryFailed, TimedOut
from penstock.sdk.translation import told

POLL_S_MAX = 0.1
"""Another thread may be the one that hears of it."""


class Delivered(NamedTuple):
    """Where it is. The offset is -1 where the broker does not tell it (at-most-once)."""

    topic: str
    partition: int
    offset: int


class Owner(Protocol):
    """What a message on its way needs of its producer."""

    def poll(self, timeout: float) -> int: ...

    def note_failure(self, sending: Sending) -> None: ...


class Sending(msgspec.Struct, gc=False, eq=False):
    """What `send` returns; librdkafka calls it when the message has arrived, or failed."""

    _owner: Owner
    _on_delivery: Callable[[Sending], None] | None = None
    _message: Any = None
    _error: KafkaError | None = None
    is_seen: bool = False
    """Whether its outcome was asked for."""

    def __call__(self, error: KafkaError | None, message: Any) -> None:
        self._message = message
        if error is not None or self._on_delivery is not None:
            self._tell(error)

    def _tell(self, error: KafkaError | None) -> None:
        """Whoever is to hear of it: most messages arrive, and nobody asks."""
        self._error = error
        if self._on_delivery is not None:
            self._call_back(self._on_delivery)
        if error is not None and not self.is_seen:
            self._owner.note_failure(self)

    def _call_back(self, on_delivery: Callable[[Sending], None]) -> None:
        """An exception would come out of whichever call serves reports, and hold up those of other
        messages. A callback that has failed has not dealt with a failure."""
        try:
            on_delivery(self)
        except Exception:
            self.is_seen = False
            logging.getLogger("penstock.sdk").exception("on_delivery has failed")

    @property
    def error(self) -> KafkaError | None:
        """What librdkafka says of it; None if it has arrived, or is on its way."""
        return self._error

    @property
    def is_done(self) -> bool:
        return self._message is not None

    def result(self, timeout: float | None = None) -> Delivered:
        """Waits until it has arrived; raises DeliveryFailed if it has not. Without a timeout that
        takes as long as librdkafka tries, which is the setting message.timeout.ms."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._message is None:
            left_s = POLL_S_MAX if deadline is None else deadline - time.monotonic()
            if left_s <= 0:
                raise TimedOut(f"no broker has acknowledged the message in {timeout} s")
            self._owner.poll(min(left_s, POLL_S_MAX))
        failure = self.exception()
        if failure:
            raise failure
        offset = self._message.offset()
        return Delivered(
            self._message.topic(),
            self._message.partition(),
            -1 if offset is None or offset < 0 else offset,
        )

    def exception(self) -> DeliveryFailed | None:
        """Why it failed; None if it has arrived, or is not done yet."""
        if self._message is not None:
            self.is_seen = True
        return self.failure()

    def failure(self, count: int = 1) -> DeliveryFailed | None:
        """The same, without a look at it being noted."""
        error, message = self._error, self._message
        if error is None:
            return None
        topic, key = message.topic(), message.key()
        others = f" (and {count - 1} more)" if count > 1 else ""
        about = f"the message with key {key!r} to topic {topic}{others} was not delivered"
        return DeliveryFailed(told(about, error), error.name(), topic=topic, key=key, count=count)
