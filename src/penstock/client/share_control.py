"""The slow side of a member: heartbeats, who leads what, and connections to them.

All of it may wait for a broker that hangs, so it has a thread of its own: what is fetched and said
does not wait with it.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from penstock.client.cluster import WireClient, pauses
from penstock.client.connection import Address, Connection
from penstock.client.errors import ClientError, refused
from penstock.client.metadata import Topic
from penstock.client.share_held import Place
from penstock.client.share_membership import Membership
from penstock.errors import ErrorCode

log = logging.getLogger(__name__)

ASK_S_MAX = 6.0
DIAL_S_MAX = 3.0
LEAVE_S_MAX = 5.0
LOOK_EVERY_S = 0.2
"""At who leads what, if it keeps proving wrong."""
MISSING_S_MAX = 30.0
"""A topic that is gone for so long was deleted."""


class Placement(NamedTuple):
    """What to fetch, and where."""

    addresses: dict[int, Address]
    places: dict[int, set[Place]]


Chore = Callable[[], None]


class Control:
    def __init__(
        self,
        client: WireClient,
        membership: Membership,
        topic: str,
        on_placement: Callable[[Placement], None],
        on_failure: Callable[[ClientError], None],
    ) -> None:
        self._client = client
        self._membership = membership
        self._topic = topic
        self._on_placement = on_placement
        self._on_failure = on_failure
        self._chores: queue.SimpleQueue[Chore | None] = queue.SimpleQueue()
        self._waits: Iterator[float] = pauses()
        self._beat_due_s = 0.0
        self._look_due_s: float | None = 0.0
        self._looked_s = 0.0
        self._missing_since_s: float | None = None
        self._has_failed = False
        self.thread = threading.Thread(target=self._run, name="penstock-share-group", daemon=True)

    # -- asked for by other threads

    def look_again(self) -> None:
        """Somebody else may lead what we fetch."""
        self._chores.put(self._want_look)

    def dial(self, address: Address, then: Callable[[Connection | ClientError], None]) -> None:
        self._chores.put(lambda: then(self._dialled(address)))

    def end(self) -> None:
        """Leaves the group."""
        self._chores.put(None)

    # -- in the thread

    def _run(self) -> None:
        while True:
            try:
                if not self._goes_on():
                    break
            except Exception as error:
                log.exception("a member of a share group has failed")
                self._fail(ClientError(ErrorCode.UNKNOWN_SERVER_ERROR, f"it has failed: {error!r}"))
        self._leave()

    def _goes_on(self) -> bool:
        try:
            chore = self._chores.get(timeout=self._left_s())
        except queue.Empty:
            pass
        else:
            if chore is None:
                return False
            chore()
        if not self._has_failed:
            self._attend()
        return True

    def _left_s(self) -> float | None:
        if self._has_failed:
            return None
        due_s = min(self._beat_due_s, self._look_due_s or self._beat_due_s)
        return max(0.0, due_s - time.monotonic())

    def _attend(self) -> None:
        now = time.monotonic()
        try:
            if now >= self._beat_due_s:
                self._beat()
            if self._look_due_s is not None and now >= self._look_due_s:
                self._look()
        except ClientError as error:
            self._trouble(error)

    def _trouble(self, error: ClientError) -> None:
        if not error.is_retriable and error.code is not ErrorCode.UNKNOWN_SERVER_ERROR:
            self._fail(error)
            return
        log.info("share group: %s", error.said)
        self._client.forget()
        self._beat_due_s = time.monotonic() + next(self._waits)
        self._want_look()

    def _fail(self, error: ClientError) -> None:
        self._has_failed = True
        self._on_failure(error)

    def _beat(self) -> None:
        if self._membership.beat(time.monotonic() + ASK_S_MAX):
            self._want_look()
        self._waits = pauses()
        self._beat_due_s = time.monotonic() + self._membership.interval_s

    def _want_look(self) -> None:
        self._look_due_s = max(time.monotonic(), self._looked_s + LOOK_EVERY_S)

    def _look(self) -> None:
        self._look_due_s, self._looked_s = None, time.monotonic()
        told = self._client.metadata([self._topic], deadline=time.monotonic() + ASK_S_MAX)
        topic = told.topics.get(self._topic)
        if topic is None:
            self._missed()
            return
        self._missing_since_s = None
        places = _by_leader(topic, self._membership.assigned)
        if sum(map(len, places.values())) < len(self._membership.assigned):
            self._want_look()
        self._on_placement(Placement(told.brokers, places))

    def _missed(self) -> None:
        now = time.monotonic()
        self._missing_since_s = self._missing_since_s or now
        self._want_look()
        if now - self._missing_since_s > MISSING_S_MAX:
            self._fail(no_such_topic(self._topic))

    def _dialled(self, address: Address) -> Connection | ClientError:
        try:
            return self._client.dial(address, time.monotonic() + DIAL_S_MAX)
        except ClientError as error:
            return error

    def _leave(self) -> None:
        try:
            self._membership.leave(time.monotonic() + LEAVE_S_MAX)
        except ClientError as error:
            log.info("leaving the share group: %s", error.said)
        self._client.close()


def no_such_topic(name: str) -> ClientError:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refused(f"topic {name}", code, "there is no such topic")


def _by_leader(topic: Topic, assigned: frozenset[Place]) -> dict[int, set[Place]]:
    """Without those that nobody leads now."""
    found: dict[int, set[Place]] = {}
    for topic_id, index in assigned:
        partition = topic.partitions.get(index)
        if topic_id == topic.topic_id and partition is not None and partition.leader >= 0:
            found.setdefault(partition.leader, set()).add((topic_id, index))
    return found
