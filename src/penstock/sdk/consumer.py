"""Reading messages as a member of a group."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

import confluent_kafka

from penstock.sdk.commits import Commits
from penstock.sdk.connecting import consumer_settings, created, reach
from penstock.sdk.deduplication import Window
from penstock.sdk.errors import Misconfigured, PenstockError
from penstock.sdk.exactly_once import Batch, batches_in_transactions
from penstock.sdk.intake import Intake
from penstock.sdk.membership import Hook, Membership
from penstock.sdk.message import Message, TopicPartition
from penstock.sdk.processing import Failing, process
from penstock.sdk.producer import Producer
from penstock.sdk.semantics import COMMIT_INTERVAL_S, Delivery, Protocol, Settings, Tune, chosen
from penstock.sdk.serializers import Deserializer, text
from penstock.sdk.starting import EARLIEST, Start

V = TypeVar("V")

TAKE = 500
"""Messages that librdkafka is asked for at once."""
BREATH_S = 1.0
"""However long messages take: so often librdkafka hears that we are alive."""
FAST, SLOW = 16, 1
"""Messages that are handed out between two looks at the clock, which costs as much as handing out
one of them."""
FAST_S = 0.05
Topics = str | Sequence[str] | re.Pattern[str]


class Options(TypedDict, total=False):
    """What a consumer may be told besides where, what and for whom."""

    delivery: str
    tune: str
    key_deserializer: Deserializer[Any]
    start: Start
    protocol: str
    deduplicate: int
    idle_timeout: float | None
    on_assign: Hook | None
    on_revoke: Hook | None
    on_lost: Hook | None
    timeout: float
    settings: Settings | None


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
        delivery: str = Delivery.AT_LEAST_ONCE,
        tune: str = Tune.THROUGHPUT,
        start: Start = EARLIEST,
        protocol: str = Protocol.CONSUMER,
        deduplicate: int = 0,
        idle_timeout: float | None = None,
        on_assign: Hook | None = None,
        on_revoke: Hook | None = None,
        on_lost: Hook | None = None,
        timeout: float = 30.0,
        settings: Settings | None = None,
    ) -> None:
        self.delivery = chosen(Delivery, "delivery", delivery)
        self.bootstrap, self.group, self.timeout = bootstrap, group, timeout
        self.settings: Settings = settings or {}
        self._topics = topic_names(topics)
        self._idle_timeout = idle_timeout
        kind = chosen(Protocol, "protocol", protocol)
        tuned = chosen(Tune, "tune", tune)
        made = consumer_settings(bootstrap, group, self.delivery, tuned, kind, start, self.settings)
        self._rdkafka: Any = created(confluent_kafka.Consumer, made)
        window = Window(deduplicate) if deduplicate else None
        self.intake = Intake(self._rdkafka, deserializer, key_deserializer, window)
        self.commits = Commits(self.intake, self.delivery, COMMIT_INTERVAL_S[tuned])
        self._membership = Membership(
            self.intake, self.commits, start, made, (on_assign, on_revoke, on_lost)
        )
        self.breath_due = 0.0
        self._failure: PenstockError | None = None
        """To be raised by the next call, because there was something to hand out first."""
        self._has_begun = False
        self._is_closed = False

    # Reading.

    def __iter__(self) -> Iterator[Message[V]]:
        """One after the other, for ever, or until none has come for `idle_timeout` seconds."""
        ready, commits, pace = self.intake.ready, self.commits, SLOW
        popleft, clock = ready.popleft, time.monotonic
        while self.refill(self._idle_timeout):
            now = clock()
            while ready:
                began = now
                for _ in repeat(None, pace):
                    commits.in_hand = message = popleft()
                    yield message
                    if not ready:
                        break
                commits.in_hand = None
                now = clock()
                pace = FAST if now - began < FAST_S else SLOW
                if now > self.breath_due:
                    self.stay_alive()

    def poll(self, timeout: float = 1.0) -> Message[V] | None:
        """The next message, or None if none comes in that time."""
        self.commits.in_hand = None
        if not self.refill(timeout):
            return None
        if time.monotonic() > self.breath_due:
            self.stay_alive()
        if not self.intake.ready:
            return None
        self.commits.in_hand = message = self.intake.ready.popleft()
        return message

    def batches(self, max_messages: int = TAKE, timeout: float = 0.0) -> Iterator[list[Message[V]]]:
        """Lists of at most so many, never empty: what there is, or what comes in so many seconds
        after the first."""
        while self.refill(self._idle_timeout, max_messages):
            yield self.gather(max_messages, timeout)
            self.commits.in_hand = None

    def gather(self, max_messages: int, timeout: float) -> list[Message[V]]:
        """So many, or as many as come in that time. What was handed out before is processed."""
        found: list[Message[V]] = []
        self.commits.in_hand = found
        deadline = time.monotonic() + timeout
        while len(found) < max_messages:
            changes = self._membership.changes
            try:
                left_s = max(deadline - time.monotonic(), 0)
                if not self.refill(left_s, max_messages - len(found)):
                    break
            except PenstockError as error:
                if not found:
                    raise
                self._failure = error
                break
            if self._membership.changes != changes:
                ours = set(self.assignment)
                found[:] = [each for each in found if each.place in ours]
            found += self.take_out(max_messages - len(found))
        return found

    def take_out(self, limit: int) -> list[Message[V]]:
        ready = self.intake.ready
        if len(ready) > limit:
            return [ready.popleft() for _ in range(limit)]
        batch = list(ready)
        ready.clear()
        return batch

    def process(self, handler: Callable[[Message[V]], object], **options: Unpack[Failing]) -> int:
        """Calls the handler with each message, for as long as iteration goes on; how many it was.

        One whose handler keeps failing goes to the topic `dead_letters`, and the next has its turn.
        """
        return process(self, handler, **options)

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
        return batches_in_transactions(self, producer, max_messages, max_seconds)

    @property
    def idle_timeout(self) -> float | None:
        return self._idle_timeout

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
        return self.intake.places()

    def group_metadata(self) -> Any:
        """For a transaction: who we are in the group, by which the broker knows a zombie."""
        return self._rdkafka.consumer_group_metadata()

    # Where to read.

    @property
    def assignment(self) -> list[TopicPartition]:
        return self.intake.assignment()

    def seek(self, topic: str, partition: int, offset: int) -> None:
        """The next message of that partition is the one at that offset, or the next after it."""
        self._begin()
        self.intake.seek(TopicPartition(topic, partition), offset)

    def rewind(self) -> None:
        """Back to what is committed, in every partition; what was handed out since comes again."""
        self.commits.rewind(self.timeout)

    def pause(self, *places: TopicPartition) -> None:
        """No more messages of these, or of any partition that is ours, until `resume`."""
        chosen_places = list(places) or self.assignment
        first = self.intake.forget(chosen_places)
        for place, offset in first.items():
            self.intake.seek(place, offset)
        self._rdkafka.pause([confluent_kafka.TopicPartition(*each) for each in chosen_places])

    def resume(self, *places: TopicPartition) -> None:
        chosen_places = list(places) or self.assignment
        self._rdkafka.resume([confluent_kafka.TopicPartition(*each) for each in chosen_places])

    # The beginning and the end.

    def close(self) -> None:
        """Leaves the group. All that was handed out counts as processed but for the last message,
        or batch: who is sure of that, too, calls `commit` before."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._has_begun:
                self.commits.commit_processed()
        finally:
            self._rdkafka.close()

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
            self.commits.in_hand = None
        try:
            self.close()
        except PenstockError as late:
            if error is None:
                raise
            error.add_note(f"when the consumer was closed: {late}")

    def _begin(self) -> None:
        """Joins the group, once it is known that brokers and topics are there."""
        if self._is_closed:
            raise PenstockError("the consumer is closed: make another")
        if self._has_begun:
            return
        for name in self._topics:
            topic = None if name.startswith("^") else name
            reach(self._rdkafka, self.bootstrap, topic, self.timeout)
        self._membership.join(self._topics)
        self._has_begun = True

    def refill(self, timeout_s: float | None, limit: int = TAKE) -> bool:
        """Whether there is a message to hand out; waits for one for so long, or for ever. What was
        handed out before counts as processed."""
        if self.intake.ready:
            return True
        if self._failure:
            failure, self._failure = self._failure, None
            raise failure
        self._begin()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.intake.ready:
            self.commits.commit_due()
            left_s = BREATH_S if deadline is None else deadline - time.monotonic()
            if self.intake.take(limit, min(max(left_s, 0), BREATH_S)):
                self.commits.before_handing_out()
                self.intake.read()
            elif left_s <= BREATH_S and deadline is not None:
                return False
        self.breath_due = time.monotonic() + BREATH_S
        return True

    def stay_alive(self) -> None:
        """In the middle of the buffer, because messages take long: to be alive for the group, to
        hear what it has decided, and to commit. One more message at most is taken by it."""
        self.commits.commit_due()
        if self.intake.take_one():
            self.commits.before_handing_out()
            self.intake.read()
        self.breath_due = time.monotonic() + BREATH_S


def topic_names(topics: Topics) -> list[str]:
    """As librdkafka takes them: a pattern begins with a circumflex."""
    if isinstance(topics, re.Pattern):
        return [topics.pattern if topics.pattern.startswith("^") else f"^.*({topics.pattern})"]
    names = [topics] if isinstance(topics, str) else list(topics)
    if not names or not all(names):
        raise Misconfigured("no topic is named: give a name, several, or a pattern")
    return names
