"""What queues of both kinds have in common: their member of the share group, made when the first
job is asked for, and what is said of jobs."""

from __future__ import annotations

import logging
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from penstock.client import share_held
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.share_held import Held, OnDone
from penstock.client.share_member import PREFETCH, ShareMember
from penstock.errors import ErrorCode
from penstock.sdk import admin_errors
from penstock.sdk.checks import (
    check_addresses,
    check_method,
    check_seconds,
    check_text,
    check_whole,
)
from penstock.sdk.errors import (
    BrokerRefused,
    LockLost,
    Misconfigured,
    NotDeserializable,
    PenstockError,
    TimedOut,
)
from penstock.sdk.job import Facts, Owner
from penstock.sdk.queue_settings import set_as_expected
from penstock.sdk.serializers import Serde
from penstock.sharing.acknowledging import DELAY_MS_MAX, Answer

log = logging.getLogger("penstock.sdk")

Start = Literal["earliest", "latest"]
J = TypeVar("J", bound=Facts[Any])


class Desk:
    def __init__(
        self,
        bootstrap: str,
        topic: str,
        group: str | None,
        serde: Serde[Any],
        key_serde: Serde[Any],
        *,
        prefetch: int | None,
        max_processing: float | None,
        start: Start,
        timeout: float,
    ) -> None:
        check_addresses(bootstrap)
        check_text("topic", topic)
        check_seconds("timeout", timeout)
        if prefetch is not None:
            check_whole("prefetch", prefetch, 0)
        if max_processing is not None:
            check_seconds("max_processing", max_processing)
        for word, given in (("serializer", serde), ("key_serializer", key_serde)):
            check_method(word, given, "serialize")
            check_method(word, given, "deserialize")
        if start not in ("earliest", "latest"):
            raise Misconfigured(f"start={start!r}: give 'earliest' or 'latest'")
        self.bootstrap, self.topic, self.timeout = bootstrap, topic, timeout
        self.group = topic if group is None else group
        if not self.topic or not self.group:
            raise Misconfigured("topic= and group= are names, and not empty")
        self.is_closed = False
        self.is_stopped = False
        self.prefetch = prefetch
        self._read, self._read_key = serde.deserialize, key_serde.deserialize
        self._max_processing = max_processing
        self._start_at = start
        self._making = threading.Lock()
        self._member: ShareMember | None = None
        self._unreadable: deque[NotDeserializable] = deque()

    # -- the member

    def member(self) -> ShareMember:
        """Joins the group, if that was not done yet: this may wait for brokers."""
        if self._member is not None and not self.is_closed:
            return self._member
        with self._making, as_our_own():
            self.check_open()
            if self._member is None:
                self._member = self._joined()
            return self._member

    def _joined(self) -> ShareMember:
        client = WireClient(self.bootstrap, "penstock-queue", self.timeout)
        made = ShareMember(
            client,
            self.group,
            self.topic,
            prefetch=PREFETCH if self.prefetch is None else self.prefetch,
            processing_s_max=self._max_processing,
        )
        try:
            set_as_expected(client, self.group, self._start_at)
            made.start()
        except BaseException:
            made.abandon()
            raise
        if self.is_stopped:
            made.call_off()
        return made

    def member_if_any(self) -> ShareMember | None:
        return None if self.is_closed else self._member

    def prefer_prefetch(self, count: int) -> None:
        """Unless the program has said how many."""
        if self.prefetch is None:
            self.member().shelf.prefetch = count

    # -- jobs

    def read_all(self, kind: type[J], found: list[Held], owner: Owner) -> list[J]:
        """Those that can be read. What cannot is raised: now, if it is all there is, else next."""
        jobs: list[J] = []
        for held in found:
            try:
                jobs.append(self._made(kind, held, owner))
            except NotDeserializable as error:
                self._unreadable.append(error)
        if not jobs:
            self.raise_failures()
        return jobs

    def _made(self, kind: type[J], held: Held, owner: Owner) -> J:
        """What cannot be read is given back: another worker may be able to, and if none is, it goes
        the way of all that is delivered too often."""
        record = held.record
        try:
            value = None if record.value is None else self._read(record.value)
            key = None if record.key is None else self._read_key(record.key)
        except Exception as error:
            self.say(held, Answer.RELEASE, 0, _quietly(self.topic, held))
            raise NotDeserializable(
                f"the message at {self.topic}-{held.place[1]}, offset {record.offset}, cannot be "
                f"deserialized: {error}; it was given back, and is given up after as many "
                "deliveries as the group allows",
                topic=self.topic,
                partition=held.place[1],
                offset=record.offset,
                data=record.value or b"",
                raw=record,
            ) from error
        made = kind(value, key, held, owner)
        held.keeper = weakref.ref(made)
        return made

    def say(self, held: Held, answer: Answer, delay_ms: int, on_done: OnDone | None) -> None:
        with as_our_own(self.place_of(held)):
            self.member().settle(held, answer, delay_ms, on_done)

    def place_of(self, held: Held) -> str:
        return f"job at {self.topic}-{held.place[1]}, offset {held.record.offset}"

    def raise_failures(self) -> None:
        """Of what could not be read, or was acknowledged without waiting."""
        if self._unreadable:
            raise self._unreadable.popleft()
        if self._member is None or not (found := self._member.failures()):
            return
        others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise translated(found[0], f"a job that was acknowledged{others}")

    def flush(self, limit_s: float) -> None:
        """What was acknowledged without waiting is stored; raises what was not."""
        member = self.member_if_any()
        with as_our_own():
            is_done = member is None or member.flush(limit_s)
        self.raise_failures()
        if not is_done:
            raise TimedOut(f"acknowledgements are not stored after {limit_s} s; they may still be")

    def unanswered(self, held: Held) -> TimedOut:
        return TimedOut(
            f"{self.place_of(held)}: no broker has answered in {self.timeout} s; it may still be "
            "stored"
        )

    # -- the end

    def stop(self) -> None:
        self.is_stopped = True
        if self._member is not None:
            self._member.call_off()

    def check_open(self) -> None:
        if self.is_closed:
            raise PenstockError("the queue is closed: make another")

    def close(self, timeout_s: float) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        if self._member is not None:
            self._member.close(timeout_s)

    def abandon(self) -> None:
        """Nobody has it any more: threads end, and what is held goes to others."""
        self.is_closed = True
        if self._member is not None:
            self._member.abandon()


def delay_ms_of(delay: float) -> int:
    check_seconds("delay", delay)
    if delay * 1000 > DELAY_MS_MAX:
        raise Misconfigured(f"delay={delay!r} is more than a day: give seconds, up to 86400")
    return round(delay * 1000)


@contextmanager
def as_our_own(about: str = "") -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        raise translated(error, about) from error


def translated(error: ClientError, about: str = "") -> PenstockError:
    if isinstance(error, share_held.LockLost):
        words = f"{about}: {error.said}; it comes again, or has come to another worker"
        return LockLost(words, may_be_stored=error.may_be_stored)
    if error.code is ErrorCode.UNSUPPORTED_VERSION:
        return BrokerRefused(
            f"{error.said}: queues need share groups, which Penstock has, and Kafka from 4.1 on "
            "where share.version=1 is set",
            error.code.name,
        )
    if about and error.code is ErrorCode.INVALID_REQUEST:
        return Misconfigured(f"{about}: {error.said}")
    return admin_errors.translated(error)


def _quietly(topic: str, held: Held) -> OnDone:
    def done(error: ClientError | None) -> None:
        if error is not None:
            log.info("%s-%d, offset %d: %s", topic, held.place[1], held.record.offset, error.said)

    return done
