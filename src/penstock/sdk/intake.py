"""From librdkafka into the buffer, many messages at once, as one at a time costs twice as much."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaException

from penstock.sdk.buffer import Buffer, Offsets, first_offsets
from penstock.sdk.errors import Misconfigured
from penstock.sdk.message import TopicPartition
from penstock.sdk.semantics import Delivery
from penstock.sdk.starting import Start, beginnings
from penstock.sdk.translation import translated

SLICE_S = 0.25
"""One wait inside librdkafka, during which no signal is heard."""
TAKE_MAX = 10_000
"""Messages at once; librdkafka knows a limit, too."""
FEW = 50
"""So many messages are looked at one by one; of more, librdkafka is asked where they end."""


class Intake:
    def __init__(
        self, rdkafka: Any, buffer: Buffer, delivery: Delivery, start: Start, timeout_s: float
    ) -> None:
        self.rdkafka = rdkafka
        self.buffer = buffer
        self._delivery = delivery
        self._start = start
        self._timeout_s = timeout_s
        self.is_adrift = False
        """librdkafka may have given something that is not in the buffer."""
        self.firsts: Offsets = {}
        """The first that was read of each partition since it is ours; for exactly-once, which may
        have to go back there."""
        self._ours: list[Any] | None = None
        """As librdkafka has them, for which asking costs more than for where they are."""
        self._left: set[TopicPartition] = set()
        """What has gone in the calls of librdkafka whose messages are not in the buffer yet."""

    def take(self, limit: int, timeout_s: float) -> bool:
        """False if nothing came in that time. librdkafka calls back about the group meanwhile; if
        that raises, or a signal does, what it was about to return is lost, and read again."""
        if self.is_adrift:
            self.go_back()
        self.is_adrift = True
        found = self._found(min(limit, TAKE_MAX), timeout_s)
        kept = self._still_ours(found)
        if self._delivery is Delivery.EXACTLY_ONCE:
            self.firsts = {**first_offsets(kept), **self.firsts}
        self.buffer.add(kept, self._ends(kept))
        self.is_adrift = len(kept) < len(found) and not self._left.isdisjoint(self.assignment())
        return bool(kept)

    def _found(self, limit: int, timeout_s: float) -> Sequence[Any]:
        """Waits till the first comes; then with it what else is there."""
        self._left.clear()
        found = self.rdkafka.consume(limit, 0)
        deadline = time.monotonic() + timeout_s
        while not found:
            left_s = deadline - time.monotonic()
            self._left.clear()
            first = self.rdkafka.poll(min(max(left_s, 0), SLICE_S))
            if first is not None:
                return [first, *self.rdkafka.consume(limit - 1, 0)] if limit > 1 else [first]
            if left_s <= SLICE_S:
                break
        return list(found)

    def _still_ours(self, found: Sequence[Any]) -> Sequence[Any]:
        """Of a partition that goes while librdkafka collects messages, it may return what it had
        collected before: another member is to read that. If it is ours again, we go back to it."""
        if not self._left:
            return found
        return [raw for raw in found if (raw.topic(), raw.partition()) not in self._left]

    def _ends(self, found: Sequence[Any]) -> Offsets:
        if len(found) > FEW and not self._left:
            return self._positions()
        return {
            TopicPartition(raw.topic(), raw.partition()): raw.offset() + 1
            for raw in found
            if raw.error() is None
        }

    def _positions(self) -> Offsets:
        """Where librdkafka goes on: behind what it has returned."""
        if self._ours is None:
            self._ours = self.rdkafka.assignment()
        return {
            TopicPartition(each.topic, each.partition): each.offset
            for each in self.rdkafka.position(self._ours)
            if each.offset >= 0
        }

    # Elsewhere.

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(each.topic, each.partition) for each in self.rdkafka.assignment()]

    def go_back(self) -> None:
        """To the first that nobody was handed; where nobody was handed any, to the beginning."""
        self.is_adrift = True
        self.buffer.forget()
        known, given = self.buffer.ends, self._positions()
        lost = [place for place in given if place not in known]
        wanted = {**known, **self.beginnings(lost)}
        for place in self.assignment():
            if place in wanted:
                self._move(place, wanted[place])
        self.is_adrift = False

    def beginnings(self, places: Sequence[TopicPartition]) -> Offsets:
        """Where the group goes on in these: what it has committed, or its start."""
        if not places:
            return {}
        try:
            return beginnings(self.rdkafka, places, self._start, self._timeout_s)
        except KafkaException as failure:
            raise translated("committed offsets", failure) from None

    def reread(self, wanted: Offsets) -> None:
        """Goes to these places; what was handed out counts no more."""
        self.buffer.drop(wanted)
        for place, offset in wanted.items():
            self._move(place, offset)

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.check_ours([place])
        self.reread({place: offset})
        if self.buffer.reader.window:
            self.buffer.reader.window.forget([place])

    def pause(self, places: Sequence[TopicPartition]) -> None:
        """What was not handed out is read again afterwards."""
        self.buffer.forget(places)
        for place in places:
            if place in self.buffer.ends:
                self._move(place, self.buffer.ends[place])
        self.rdkafka.pause([confluent_kafka.TopicPartition(*each) for each in places])

    def check_ours(self, places: Iterable[TopicPartition]) -> None:
        ours = self.assignment()
        for place in places:
            if place not in ours:
                words = ", ".join(map(str, ours)) or "none yet: poll() joins the group"
                raise Misconfigured(f"{place} is not this consumer's; its partitions are {words}")

    def regroup(self) -> None:
        """The group has decided something."""
        self._ours = None

    def leave(self, places: Iterable[TopicPartition]) -> None:
        """These are ours no more."""
        gone = set(places)
        self._left |= gone
        self.firsts = {place: at for place, at in self.firsts.items() if place not in gone}
        self.buffer.drop(gone)
        if self.buffer.reader.window:
            self.buffer.reader.window.forget(gone)

    def _move(self, place: TopicPartition, offset: int) -> None:
        try:
            self.rdkafka.seek(confluent_kafka.TopicPartition(*place, offset))
        except KafkaException as failure:
            raise translated(f"seek in {place}", failure) from None
        if offset >= 0:
            self.buffer.add((), {place: offset})
