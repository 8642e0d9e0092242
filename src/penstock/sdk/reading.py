"""From what librdkafka gives to messages with keys and values."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import KafkaError

from penstock.sdk.deduplication import Window
from penstock.sdk.errors import NotDeserializable, PenstockError
from penstock.sdk.message import Message
from penstock.sdk.serializers import Deserializer
from penstock.sdk.translation import translated

PASSING = frozenset(
    {
        KafkaError._PARTITION_EOF,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._MAX_POLL_EXCEEDED,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.FENCED_MEMBER_EPOCH,
        KafkaError.STALE_MEMBER_EPOCH,
    }
)
"""librdkafka goes on by itself after these; the log tells of them."""

log = logging.getLogger("penstock.sdk")


class Reader:
    def __init__(
        self,
        deserializer: Deserializer[Any],
        key_deserializer: Deserializer[Any],
        window: Window | None,
        kind: type[Message[Any]] = Message,
    ) -> None:
        self._kind = kind
        self._read = deserializer.deserialize
        self._read_key = key_deserializer.deserialize
        self.window = window

    def messages(self, raws: Sequence[Any]) -> tuple[list[Message[Any]], int]:
        """Those before the first that cannot be read; how many they stand for."""
        read, read_key, kind = self._read, self._read_key, self._kind
        try:
            made = [
                kind(
                    None if (data := raw.value()) is None else read(data),
                    None if (data := raw.key()) is None else read_key(data),
                    raw,
                )
                for raw in raws
                if raw.error() is None
            ]
        except Exception:
            made = []
        if len(made) != len(raws):
            return self._singly(raws)
        return self._new_ones(made), len(raws)

    def _singly(self, raws: Sequence[Any]) -> tuple[list[Message[Any]], int]:
        made: list[Message[Any]] = []
        for count, raw in enumerate(raws):
            try:
                made += self._one(raw)
            except Exception:
                return self._new_ones(made), count
        return self._new_ones(made), len(raws)

    def _new_ones(self, made: list[Message[Any]]) -> list[Message[Any]]:
        window = self.window
        return [each for each in made if window.is_new(each.raw)] if window else made

    def failure(self, raw: Any) -> Exception | None:
        """Why it cannot be read."""
        try:
            self._one(raw)
        except Exception as error:
            return error
        return None

    def _one(self, raw: Any) -> list[Message[Any]]:
        error = raw.error()
        if error is None:
            value = _deserialized(self._read, raw, raw.value(), "value")
            return [self._kind(value, _deserialized(self._read_key, raw, raw.key(), "key"), raw)]
        if error.code() in PASSING:
            log.debug("%s", error)
            return []
        raise _told(raw, error)


def _told(raw: Any, error: KafkaError) -> PenstockError:
    return translated("consuming" if raw.topic() is None else f"topic {raw.topic()}", error)


def _deserialized(read: Callable[[bytes], Any], raw: Any, data: bytes | None, what: str) -> Any:
    if data is None:
        return None
    try:
        return read(data)
    except Exception as error:
        topic, partition, offset = raw.topic(), raw.partition(), raw.offset()
        raise NotDeserializable(
            f"the {what} at {topic}-{partition} offset {offset} cannot be read ({error}): go on "
            "with the next message, or give the deserializer that it was written for",
            topic=topic,
            partition=partition,
            offset=offset,
            data=data,
            raw=raw,
        ) from error
