"""Messages between librdkafka and whoever asks for them: a buffer, and the places that it is at.

librdkafka is asked for many messages at once, as one at a time costs twice as much. What it has
given and nobody has been handed yet lies here; it belongs to us only as long as its partition does.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from penstock.sdk.deduplication import Window
from penstock.sdk.errors import NotDeserializable
from penstock.sdk.message import Message, TopicPartition
from penstock.sdk.serializers import Deserializer
from penstock.sdk.translation import translated

SLICE_S = 0.25
"""One wait inside librdkafka, during which no signal is heard."""
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


class Intake:
    def __init__(
        self,
        rdkafka: Any,
        deserializer: Deserializer[Any],
        key_deserializer: Deserializer[Any],
        window: Window | None,
    ) -> None:
        self.rdkafka = rdkafka
        self.ready: deque[Message[Any]] = deque()
        """To be handed out."""
        self._unread: Sequence[Any] = ()
        """As librdkafka gave them: what follows one that could not be read."""
        self._read = deserializer.deserialize
        self._read_key = key_deserializer.deserialize
        self._window = window
        self._sought: dict[TopicPartition, int] = {}

    def __iter__(self) -> Iterator[Any]:
        """Those that nobody has been handed, as librdkafka has them."""
        yield from (each.raw for each in self.ready)
        yield from self._unread

    # In.

    def take(self, limit: int, timeout_s: float) -> bool:
        """From librdkafka; False if nothing came in that time."""
        if self._unread:
            return True
        found = self.rdkafka.consume(limit, 0) or self._wait(limit, timeout_s)
        self._unread = found
        return bool(found)

    def take_one(self) -> bool:
        """Behind the others. librdkafka calls back about the group meanwhile."""
        found = self.rdkafka.consume(1, 0)
        self._unread = [*self._unread, *found]
        return bool(found)

    def read(self) -> None:
        """Makes ready what can be read. One that cannot is raised, and is then behind us."""
        read, read_key = self._read, self._read_key
        raws, self._unread = self._unread, ()
        try:
            made = [
                Message(
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
            self._read_singly(raws)
        else:
            self._add(made)

    def _wait(self, limit: int, timeout_s: float) -> list[Any]:
        """Till the first comes; then with it what else is there."""
        deadline = time.monotonic() + timeout_s
        while True:
            left_s = deadline - time.monotonic()
            first = self.rdkafka.poll(min(max(left_s, 0), SLICE_S))
            if first is not None:
                return [first, *self.rdkafka.consume(limit - 1, 0)] if limit > 1 else [first]
            if left_s <= SLICE_S:
                return []

    def _read_singly(self, raws: Sequence[Any]) -> None:
        for index, raw in enumerate(raws):
            try:
                one = self._read_one(raw)
            except Exception:
                if not self.ready:
                    self._unread = raws[index + 1 :]
                    raise
                self._unread = raws[index:]
                return
            if one is not None:
                self._add([one])

    def _read_one(self, raw: Any) -> Message[Any] | None:
        error = raw.error()
        if error is None:
            return Message(
                self._deserialized(self._read, raw, raw.value(), "value"),
                self._deserialized(self._read_key, raw, raw.key(), "key"),
                raw,
            )
        if error.code() in PASSING:
            log.debug("%s", error)
            return None
        raise translated("consuming" if raw.topic() is None else f"topic {raw.topic()}", error)

    def _deserialized(
        self, read: Callable[[bytes], Any], raw: Any, data: bytes | None, what: str
    ) -> Any:
        if data is None:
            return None
        try:
            return read(data)
        except Exception as error:
            topic, partition, offset = raw.topic(), raw.partition(), raw.offset()
            raise NotDeserializable(
                f"the {what} at {topic}-{partition} offset {offset} cannot be read ({error}): go "
                "on with the next message, or give the deserializer that it was written for",
                topic=topic,
                partition=partition,
                offset=offset,
                data=data,
                raw=raw,
            ) from error

    def _add(self, made: list[Message[Any]]) -> None:
        if self._window:
            made = [each for each in made if self._window.is_new(each.raw)]
        self.ready.extend(made)

    # Where we are.

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(each.topic, each.partition) for each in self.rdkafka.assignment()]

    def places(self, unfinished: Iterable[Any] = ()) -> list[Any]:
        """The next offset of each partition that is ours: that of the first message which is not
        done, being one of `unfinished` or not handed out."""
        first: dict[TopicPartition, int] = {}
        for raw in (*unfinished, *self):
            if raw.error() is None:
                place = TopicPartition(raw.topic(), raw.partition())
                first.setdefault(place, raw.offset())
        found = []
        for each in self.rdkafka.position(self.rdkafka.assignment()):
            place = TopicPartition(each.topic, each.partition)
            offset = first.get(place, each.offset if each.offset >= 0 else self._sought.get(place))
            if offset is not None:
                found.append(confluent_kafka.TopicPartition(*place, offset))
        return found

    def forget(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """What is not handed out of these; where the first of each was."""
        gone, first = set(places), dict[TopicPartition, int]()
        for raw in self:
            place = TopicPartition(raw.topic(), raw.partition())
            if place in gone:
                first.setdefault(place, raw.offset())
        kept = [each for each in self.ready if each.place not in gone]
        self.ready.clear()
        self.ready.extend(kept)
        self._unread = [
            raw for raw in self._unread if TopicPartition(raw.topic(), raw.partition()) not in gone
        ]
        return first

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.forget([place])
        if self._window:
            self._window.forget([place])
        try:
            self.rdkafka.seek(confluent_kafka.TopicPartition(*place, offset))
        except KafkaException as failure:
            raise translated(f"seek in {place}", failure) from None
        self._sought[place] = offset

    def leave(self, places: Iterable[TopicPartition]) -> None:
        """These are ours no more."""
        gone = list(places)
        self.forget(gone)
        if self._window:
            self._window.forget(gone)
        for place in gone:
            self._sought.pop(place, None)
