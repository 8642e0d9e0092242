"""Reading messages as a member of a group."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, overload

import confluent_kafka

from penstock.sdk.arguments import (
    Options,
    Topics,
    check_options,
    check_size,
    is_named,
    topic_names,
)
from penstock.sdk.aside import Aside
from penstock.sdk.breath import Breath
from penstock.sdk.buffer import Buffer
from penstock.sdk.checks import INT64_MAX, check_seconds, check_whole
from penstock.sdk.commits import Commits
from penstock.sdk.connecting import consumer_settings, created, reach
from penstock.sdk.deduplication import Window
from penstock.sdk.errors import Misconfigured, PenstockError
from penstock.sdk.exactly_once import Batch, Batches, batches_in_transactions
from penstock.sdk.intake import Intake
from penstock.sdk.membership import Hook, Membership
from penstock.sdk.message import Message, TopicPartition, kind_of
from penstock.sdk.narrowed import Narrowed, predicate_of
from penstock.sdk.processing import Failing, process
from penstock.sdk.producer import Producer
from penstock.sdk.reading import Reader
from penstock.sdk.semantics import (
    COMMIT_INTERVAL_S,
    Delivery,
    DeliveryWord,
    Protocol,
    ProtocolWord,
    Settings,
    Tune,
    TuneWord,
    chosen,
)
from penstock.sdk.serializers import Deserializer, text
from penstock.sdk.starting import EARLIEST, Start

V = TypeVar("V")

TAKE = 500
"""Messages that librdkafka is asked for at once."""
WAIT_S = 1.0
"""One wait for messages; then it is looked what else is to be done."""
LEAVE_S_MIN = 1.0
"""To leave the group, however long the commit before it took."""


class Consumer(Generic[V]):
    """One thread at a time may use it."""

    @overload
    def __init__(
        self: Consumer[str],
        bootstrap: str,
        topics: Topics,
        *,
        group: str,
        **options: Unpack[Options],
    ) -> None: ...

    @overload
    def __init__(
        self,
        bootstrap: str,
        topics: Topics,
        *,
        group: str,
        deserializer: Deserializer[V],
        **options: Unpack[Options],
    ) -> None: ...

    def __init__(
        self,
        bootstrap: str,
        topics: Topics,
        *,
        group: str,
        deserializer: Deserializer[Any] = text,
        key_deserializer: Deserializer[Any] = text,
        delivery: DeliveryWord = Delivery.AT_LEAST_ONCE,
        tune: TuneWord = Tune.THROUGHPUT,
        start: Start = EARLIEST,
        protocol: ProtocolWord = Protocol.CONSUMER,
        deduplicate: int = 0,
        idle_timeout: float | None = None,
        on_assign: Hook | None = None,
        on_revoke: Hook | None = None,
        on_lost: Hook | None = None,
        timeout: float = 30.0,
        where: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.delivery = chosen(Delivery, "delivery", delivery)
        self.bootstrap, self.group, self.timeout = bootstrap, group, timeout
        self.settings: Settings = settings or {}
        self.idle_timeout = idle_timeout
        self._topics = topic_names(topics)
        self._narrowed = Narrowed(self._topics, predicate_of(where, self._topics))
        check_options(
            {"deserializer": deserializer, "key_deserializer": key_deserializer},
            deduplicate,
            {"timeout": timeout, "idle_timeout": idle_timeout},
            {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost},
        )
        kind = chosen(Protocol, "protocol", protocol)
        tuned = chosen(Tune, "tune", tune)
        hooks = (on_assign, on_revoke, on_lost)
        made = consumer_settings(bootstrap, group, self.delivery, tuned, kind, start, self.settings)
        self._rdkafka: Any = created(confluent_kafka.Consumer, made)
        window = Window(deduplicate) if deduplicate else None
        kind_of_message = kind_of(self._narrowed.sources)
        self.buffer = Buffer(Reader(deserializer, key_deserializer, window, kind_of_message))
        self.intake = Intake(self._rdkafka, self.buffer, self.delivery, start, timeout)
        self._aside = Aside()
        self.commits = Commits(
            self.intake,
            self._aside,
            self.delivery,
            interval_s=COMMIT_INTERVAL_S[tuned],
            timeout_s=timeout,
        )
        self._membership = Membership(self.intake, self.commits, start, made, hooks)
        self.batch: Batch[V] | None = None
        """The last that was handed out with a transaction."""
        self._must_rewind = False
        self._is_called_off = False
        self.breath = Breath()
        self._has_begun = False
        self._is_closing = False
        self._is_closed = False

    # Reading.

    def __iter__(self) -> Iterator[Message[V]]:
        """One after the other, for ever, or until none has come for `idle_timeout` seconds."""
        buffer, breath = self.buffer, self.breath
        while self.refill(self.idle_timeout):
            for message in buffer.rest:
                yield message
                if breath.is_due:
                    buffer.move_on()
                    self.stay_alive()

    def poll(self, timeout: float = 1.0) -> Message[V] | None:
        """The next message, or None if none comes in that time."""
        if self.refill(timeout):
            for message in self.buffer.rest:
                return message
        return None

    def batches(self, max_messages: int = TAKE, timeout: float = 0.0) -> Iterator[list[Message[V]]]:
        """Lists of at most so many, never empty: what there is, or what comes in so many seconds
        after the first."""
        check_size(max_messages)
        while self.fill(self.idle_timeout, max_messages):
            self.fill_up(max_messages, timeout)
            if batch := self.cut(max_messages):
                yield batch

    def gather(self, max_messages: int, timeout: float) -> list[Message[V]]:
        """So many, or as many as come in that time. What was handed out before is processed."""
        self.fill_up(max_messages, timeout)
        return self.cut(max_messages)

    def process(self, handler: Callable[[Message[V]], object], **options: Unpack[Failing]) -> int:
        """Calls the handler with each message, for as long as iteration goes on; how many it was.

        One whose handler keeps failing goes to the topic `dead_letters`, and the next has its turn.
        """
        return process(self, handler, options)

    def transactions(
        self, producer: Producer, *, max_messages: int = 750, max_seconds: float = 1.0
    ) -> Iterator[Batch[V]]:
        """Reading, and what is sent because of it, exactly once::

        for batch in consumer.transactions(producer):
            with batch:
                for message in batch:
                    producer.send("totals", work(message.value), key=message.key)
        """
        if self.delivery is not Delivery.EXACTLY_ONCE:
            raise Misconfigured('transactions need Consumer(..., delivery="exactly-once")')
        check_size(max_messages)
        check_seconds("max_seconds", max_seconds)
        if not isinstance(producer, Producer):
            raise Misconfigured(f"transactions() was given {producer!r}: give a penstock.Producer")
        return batches_in_transactions(Batches(self, producer, max_messages, max_seconds))

    # What counts as read.

    def commit(self) -> None:
        """All that was handed out counts as processed, the last one too. Returns when it is so."""
        if self.delivery is Delivery.EXACTLY_ONCE:
            raise Misconfigured(
                "with exactly-once, offsets are committed in the producer's transaction: "
                "`txn.send_offsets(consumer)`, or `consumer.transactions(producer)`"
            )
        self._begin()
        self.commits.commit_all()

    def places_in_hand(self) -> list[Any]:
        """For a transaction: where to go on once all that was handed out is done."""
        handed = self.buffer.handed()
        return [confluent_kafka.TopicPartition(*place, offset) for place, offset in handed.items()]

    def group_metadata(self) -> Any:
        """For a transaction: who we are in the group, by which the broker knows a zombie."""
        return self._rdkafka.consumer_group_metadata()

    def member_id(self) -> str:
        return str(self._rdkafka.memberid())

    def reads(self, topic: str) -> bool:
        """Whether it is one of those that were asked for."""
        return is_named(topic, self._topics)

    # Where to read.

    @property
    def assignment(self) -> list[TopicPartition]:
        self._check_open()
        return self.intake.assignment()

    def seek(self, topic: str, partition: int, offset: int) -> None:
        """The next message of that partition is the one at that offset, or the next after it."""
        check_whole("offset", offset, 0, INT64_MAX)
        self._begin()
        self.intake.seek(TopicPartition(self._narrowed.view_of(topic), partition), offset)

    def rewind(self) -> None:
        """Back to what is committed, in every partition; what was handed out since comes again."""
        self._check_open()
        self.commits.rewind()
        self._must_rewind = False

    def rewind_later(self) -> None:
        """By the next call that reads: a transaction with what was handed out has failed."""
        self._must_rewind = True

    def pause(self, *places: TopicPartition) -> None:
        """No more messages of these, or of any partition that is ours, until `resume`."""
        self.intake.pause(self._chosen(places))

    def resume(self, *places: TopicPartition) -> None:
        chosen_places = self._chosen(places)
        self._rdkafka.resume([confluent_kafka.TopicPartition(*each) for each in chosen_places])

    def _chosen(self, places: tuple[TopicPartition, ...]) -> list[TopicPartition]:
        self._check_open()
        self.intake.check_ours(places)
        return list(places) or self.assignment

    # The beginning and the end.

    def close(self) -> None:
        """Leaves the group. All that was handed out counts as processed but for the last message,
        or batch: who is sure of that, too, calls `commit` before."""
        if self._is_closing:
            return
        self._is_closing = True
        self.breath.end()
        deadline = time.monotonic() + self.timeout
        try:
            if self._has_begun:
                self.commits.commit_processed()
        finally:
            self.commits.is_over = True
            self._leave(max(deadline - time.monotonic(), LEAVE_S_MIN))

    def _leave(self, limit_s: float) -> None:
        try:
            self._aside.run("leaving the group", limit_s, self._rdkafka.close)
        finally:
            self._is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Without an exception, the last message counts as processed, too."""
        if error is None:
            self.buffer.move_on()
        try:
            self.close()
        except PenstockError as late:
            if error is None:
                raise
            error.add_note(f"when the consumer was closed: {late}")

    def _check_open(self) -> None:
        if self._is_closed:
            raise PenstockError("the consumer is closed: make another")

    def _begin(self) -> None:
        """Joins the group, once it is known that brokers and topics are there."""
        self._check_open()
        if self._has_begun:
            return
        for name in self._topics:
            topic = None if name.startswith("^") else name
            reach(self._rdkafka, self.bootstrap, topic, self.timeout)
        self._membership.join(self._narrowed.open(self.bootstrap, self.timeout))
        self.breath.begin()
        self._has_begun = True

    # Into the buffer: all that waits. Who is interrupted has lost nothing.

    def refill(self, timeout_s: float | None) -> bool:
        """Whether there is a message to hand out. Raises if the next cannot be read."""
        found = self.fill(timeout_s)
        self.buffer.check()
        return found

    def fill(self, timeout_s: float | None, limit: int = TAKE) -> bool:
        """Whether there is something to hand out; waits for it for so long, or for ever. What was
        handed out before counts as processed."""
        buffer, self._is_called_off = self.buffer, False
        if self.batch is not None or self._must_rewind:
            self._settle()
        buffer.move_on()
        self._begin()
        if self.breath.is_due and len(buffer):
            self.stay_alive()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not len(buffer) and not buffer.is_stuck and not self._is_called_off:
            left_s = WAIT_S if deadline is None else deadline - time.monotonic()
            if not self._fetch(limit, left_s) and left_s <= WAIT_S and deadline is not None:
                return False
        return not self._is_called_off

    def call_off(self) -> None:
        """Nobody waits any more for what another thread fills here."""
        self._is_called_off = True

    def fill_up(self, limit: int, timeout_s: float) -> None:
        """Until there are so many, for as long as that time."""
        check_size(limit)
        deadline = time.monotonic() + timeout_s
        is_waiting = self.fill(timeout_s, limit)
        while is_waiting and len(self.buffer) < limit and not self.buffer.is_stuck:
            left_s = deadline - time.monotonic()
            if not self._fetch(limit - len(self.buffer), left_s) and left_s <= WAIT_S:
                return
            is_waiting = not self._is_called_off

    def cut(self, limit: int) -> list[Message[V]]:
        """Hands out what is there."""
        self.buffer.check()
        return self.buffer.cut(limit)

    def _fetch(self, limit: int, timeout_s: float) -> bool:
        """Whether something came. One wait is short, as librdkafka must hear of us."""
        self.commits.commit_due()
        wait_s = min(max(timeout_s, 0), WAIT_S)
        if not self.buffer.has_unread:
            self.intake.take(limit, wait_s)
            self.breath.is_due = False
        if not self.buffer.has_unread:
            return False
        self.commits.before_handing_out()
        self.buffer.read()
        return True

    def stay_alive(self) -> None:
        """In the middle of the buffer, because messages take long: to be alive for the group, to
        hear what it has decided, and to commit. One more message at most is taken by it."""
        self.commits.commit_due()
        self.intake.take(1, 0)
        self.breath.is_due = False

    def has_next(self) -> bool:
        """Whether there is something to hand out at once, and nothing to be done before."""
        is_free = self.batch is None and not self._must_rewind and not self._is_closing
        if not is_free or self.breath.is_due:
            return False
        self.buffer.move_on()
        return len(self.buffer) > 0

    def _settle(self) -> None:
        """What a transaction has left behind, before anything is read."""
        if self.batch is not None:
            self.batch.settle()
            self.batch = None
        if self._must_rewind:
            self.rewind()
