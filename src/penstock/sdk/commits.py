"""When what was read counts as read, by what is promised."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from penstock.sdk.intake import Intake
from penstock.sdk.message import Message, TopicPartition
from penstock.sdk.semantics import Delivery
from penstock.sdk.translation import translated

MOVED = frozenset(
    {
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.FENCED_MEMBER_EPOCH,
        KafkaError.STALE_MEMBER_EPOCH,
        KafkaError._ASSIGNMENT_LOST,
        KafkaError._NO_OFFSET,
    }
)
"""The partition is another member's by now, which reads on from what was committed before."""

log = logging.getLogger("penstock.sdk")


class Commits:
    """At least once: what was handed out before the message in hand, every few seconds, at the end
    and before a partition goes. At most once: what is about to be handed out. Exactly once:
    nothing, as offsets go with the producer's transaction."""

    def __init__(self, intake: Intake, delivery: Delivery, interval_s: float) -> None:
        self.in_hand: Message[Any] | list[Message[Any]] | None = None
        """Handed out, and not known to be processed."""
        self._intake = intake
        self._delivery = delivery
        self._interval_s = interval_s
        self._due = time.monotonic() + interval_s
        self._asked: dict[TopicPartition, int] = {}
        self._done: dict[TopicPartition, int] = {}

    def unfinished(self) -> Iterable[Any]:
        if self.in_hand is None:
            return ()
        hand = self.in_hand if isinstance(self.in_hand, list) else [self.in_hand]
        return [each.raw for each in hand]

    def commit_due(self) -> None:
        """Now and then, without waiting for the answer."""
        if self._delivery is Delivery.AT_LEAST_ONCE and time.monotonic() >= self._due:
            self._due = time.monotonic() + self._interval_s
            self._commit(self._intake.places(self.unfinished()), wait=False)

    def before_handing_out(self) -> None:
        """At most once: who dies after this has lost them, and nobody gets them again."""
        if self._delivery is not Delivery.AT_MOST_ONCE:
            return
        if not self._commit(self._taken(), wait=True):
            self._intake.forget(self._places_of(self._intake))

    def commit_processed(self, places: Iterable[TopicPartition] | None = None) -> None:
        """What is known to be processed; of some partitions only, because they go."""
        if self._delivery is not Delivery.AT_LEAST_ONCE:
            return
        found = self._intake.places(self.unfinished())
        if places is not None:
            gone = set(places)
            found = [each for each in found if (each.topic, each.partition) in gone]
        self._commit(found, wait=True)

    def commit_all(self) -> None:
        """What was handed out, the message in hand included."""
        self.in_hand = None
        self._commit(self._intake.places(), wait=True)

    def rewind(self, limit_s: float) -> None:
        """What was handed out since the last commit comes again. A partition without a commit goes
        back to the first that we were handed of it."""
        first = self._first_in_hand()
        self.in_hand = None
        try:
            ours = self._intake.rdkafka.assignment()
            committed = self._intake.rdkafka.committed(ours, timeout=limit_s)
        except KafkaException as failure:
            raise translated("committed offsets", failure) from None
        for each in committed:
            place = TopicPartition(each.topic, each.partition)
            offset = each.offset if each.offset >= 0 else first.get(place)
            if offset is not None:
                self._intake.seek(place, offset)

    def _first_in_hand(self) -> dict[TopicPartition, int]:
        first: dict[TopicPartition, int] = {}
        for raw in (*self.unfinished(), *self._intake):
            first.setdefault(TopicPartition(raw.topic(), raw.partition()), raw.offset())
        return first

    def _taken(self) -> list[Any]:
        """Past all that librdkafka has given."""
        return [
            confluent_kafka.TopicPartition(each.topic, each.partition, each.offset)
            for each in self._intake.rdkafka.position(self._intake.rdkafka.assignment())
            if each.offset >= 0
        ]

    def _places_of(self, raws: Iterable[Any]) -> set[TopicPartition]:
        return {TopicPartition(raw.topic(), raw.partition()) for raw in raws if not raw.error()}

    def _commit(self, places: list[Any], *, wait: bool) -> bool:
        """False if the partitions have gone to another member. Nothing new is not sent again."""
        wanted = {TopicPartition(each.topic, each.partition): each.offset for each in places}
        known = self._done if wait else self._asked
        if wanted.items() <= known.items():
            return True
        try:
            done = self._intake.rdkafka.commit(offsets=places, asynchronous=not wait)
            failed = [each.error for each in done or () if each.error]
        except KafkaException as failure:
            failed = [failure.args[0]]
        for error in failed:
            if error.code() not in MOVED:
                raise translated("commit", error)
            log.info("offsets were not committed: %s", error)
        if not failed:
            known.update(wanted)
        return not failed

    def forget(self, places: Iterable[TopicPartition]) -> None:
        """Others may commit there now."""
        for place in places:
            self._asked.pop(place, None)
            self._done.pop(place, None)
