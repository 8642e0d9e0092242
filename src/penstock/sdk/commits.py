"""When what was read counts as read, by what is promised."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from penstock.sdk.aside import Aside
from penstock.sdk.buffer import Offsets
from penstock.sdk.intake import Intake
from penstock.sdk.message import TopicPartition
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
PASSING = frozenset(
    {
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
    }
)
"""Another broker is about to look after the group, or the one that does is slow. librdkafka tries
three times within half a second, and then gives up."""
AGAIN_S = 0.2

Commit = Callable[[list[Any]], list[KafkaError]]
"""Gives what has become of it where it was not done."""

log = logging.getLogger("penstock.sdk")


class Commits:
    """At least once: what was handed out before the message in hand, every few seconds, at the end
    and before a partition goes. At most once: what is about to be handed out; what then was not,
    is given back at the end and before a partition goes. Exactly once: nothing, as offsets go with
    the producer's transaction."""

    def __init__(
        self,
        intake: Intake,
        aside: Aside,
        delivery: Delivery,
        *,
        interval_s: float,
        timeout_s: float,
    ) -> None:
        self._intake = intake
        self._buffer = intake.buffer
        self._aside = aside
        self._delivery = delivery
        self._interval_s = interval_s
        self.timeout_s = timeout_s
        self._due = time.monotonic() + interval_s
        self._asked: Offsets = {}
        self._done: Offsets = {}
        self.is_over = False
        self.is_called_back = False
        """librdkafka is calling: until that is over, it serves no other thread."""

    def commit_due(self) -> None:
        """Now and then, without waiting for the answer; but the next commit waits for it. As
        librdkafka repeats what has failed, an older one might be carried out after a newer."""
        if self._delivery is not Delivery.AT_LEAST_ONCE or self._aside.is_busy:
            return
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + self._interval_s
            self._commit(self._buffer.done(), self._asked, self._commit_unheard)

    def before_handing_out(self) -> None:
        """At most once: who dies after this has lost them, and nobody gets them again."""
        if self._delivery is Delivery.AT_MOST_ONCE and not self._commit_heard(self._buffer.ends):
            self._buffer.forget()
            self._intake.is_adrift = True

    def commit_processed(self, places: Iterable[TopicPartition] | None = None) -> None:
        """What is known to be processed; of some partitions only, because they go. At most once:
        what was handed out, as nobody has been handed the rest."""
        if self._delivery is Delivery.EXACTLY_ONCE or self.is_over:
            return
        is_first = self._delivery is Delivery.AT_LEAST_ONCE
        found = self._buffer.done() if is_first else self._buffer.handed()
        if places is not None:
            found = {place: found[place] for place in places if place in found}
        self._commit_heard(found)

    def commit_all(self) -> None:
        """What was handed out, the message in hand included. At most once: that is done already."""
        self._buffer.move_on()
        is_first = self._delivery is Delivery.AT_LEAST_ONCE
        self._commit_heard(self._buffer.done() if is_first else self._buffer.ends)

    def rewind(self) -> None:
        """What was handed out since the last commit comes again. A partition without a commit goes
        back to the first that was read of it."""
        wanted = self._intake.beginnings(list(self._buffer.ends))
        for place, offset in self._intake.firsts.items():
            if wanted.get(place, 0) < 0:
                wanted[place] = offset
        self._intake.reread(wanted)

    def _commit_heard(self, wanted: Offsets) -> bool:
        return self._commit(wanted, self._done, self._commit_aside)

    def _commit(self, wanted: Offsets, known: Offsets, commit: Commit) -> bool:
        """False if the partitions have gone to another member. Nothing new is not sent again."""
        if wanted.items() <= known.items():
            return True
        places = [confluent_kafka.TopicPartition(*place, at) for place, at in wanted.items()]
        failed = commit(places)
        for error in failed:
            if error.code() not in MOVED:
                raise translated("commit", error)
            log.info("offsets were not committed: %s", error)
        if not failed:
            known.update(wanted)
        return not failed

    def _commit_unheard(self, places: list[Any]) -> list[KafkaError]:
        self._aside.begin(partial(self._failures, places))
        return []

    def _commit_aside(self, places: list[Any]) -> list[KafkaError]:
        call = partial(self._commit_surely, places, time.monotonic() + self.timeout_s)
        if self.is_called_back:
            return call()
        return self._aside.run("the commit", self.timeout_s, call)

    def _commit_surely(self, places: list[Any], deadline: float) -> list[KafkaError]:
        """Again, for as long as there is time, while nobody looks after the group."""
        while True:
            failed = self._failures(places)
            is_passing = any(error.code() in PASSING for error in failed)
            if not is_passing or time.monotonic() + AGAIN_S > deadline:
                return failed
            time.sleep(AGAIN_S)

    def _failures(self, places: list[Any]) -> list[KafkaError]:
        try:
            done = self._intake.rdkafka.commit(offsets=places, asynchronous=False)
        except KafkaException as failure:
            return [failure.args[0]]
        return [each.error for each in done or () if each.error]

    def forget(self, places: Iterable[TopicPartition]) -> None:
        """Others may commit there now."""
        for place in places:
            self._asked.pop(place, None)
            self._done.pop(place, None)
