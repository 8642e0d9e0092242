"""Sending messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from penstock.sdk import unclosed
from penstock.sdk.checks import check_callable, check_method, check_seconds, check_whole
from penstock.sdk.connecting import created, producer_settings, reach
from penstock.sdk.errors import (
    DeliveryFailed,
    Misconfigured,
    NotSerializable,
    PenstockError,
    TimedOut,
    TransactionAborted,
)
from penstock.sdk.message import ID_HEADER
from penstock.sdk.outgoing import (
    NOW,
    Headers,
    HeadersGiven,
    as_headers,
    message_id_source,
    serialized,
    stamp_ms,
)
from penstock.sdk.reports import POLL_EVERY_S, Reports
from penstock.sdk.routing import ANY, Partitioner, Router
from penstock.sdk.semantics import Delivery, DeliveryWord, Settings, Tune, TuneWord, chosen
from penstock.sdk.sending import Sending
from penstock.sdk.serializers import Serializer, Text, text
from penstock.sdk.transaction import Transaction
from penstock.sdk.translation import translated
from penstock.sdk.waiting import Delay, check_alone, wait_header

OnDelivery = Callable[[Sending], None]

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    V_contra = TypeVarWithDefault("V_contra", contravariant=True, default=Any)
else:
    V_contra = TypeVar("V_contra", contravariant=True)


class ProducerOptions(TypedDict, total=False):
    """What a producer may be told besides where, and how values are made into bytes."""

    delivery: DeliveryWord
    tune: TuneWord
    key_serializer: Serializer[Any]
    transactional_id: str | None
    message_ids: bool
    partitioner: Partitioner | None
    timeout: float
    settings: Settings | None


class Producer(Generic[V_contra]):
    """Sends to any topic. Threads may share one, but for transactions.

    Delivery reports are served by whichever call is made next: there is no thread for them.
    """

    is_closed = True
    """Until it is made."""

    @overload
    def __init__(
        self: Producer[Text], bootstrap: str, **options: Unpack[ProducerOptions]
    ) -> None: ...

    @overload
    def __init__(
        self,
        bootstrap: str,
        *,
        serializer: Serializer[V_contra],
        **options: Unpack[ProducerOptions],
    ) -> None: ...

    def __init__(
        self,
        bootstrap: str,
        *,
        delivery: DeliveryWord = Delivery.AT_LEAST_ONCE,
        tune: TuneWord = Tune.THROUGHPUT,
        serializer: Serializer[Any] = text,
        key_serializer: Serializer[Any] = text,
        transactional_id: str | None = None,
        message_ids: bool = False,
        partitioner: Partitioner | None = None,
        timeout: float = 30.0,
        settings: Settings | None = None,
    ) -> None:
        check_method("serializer", serializer, "serialize")
        check_method("key_serializer", key_serializer, "serialize")
        check_callable("partitioner", partitioner)
        check_seconds("timeout", timeout)
        self.delivery = chosen(Delivery, "delivery", delivery)
        self.bootstrap, self.timeout = bootstrap, timeout
        made = producer_settings(bootstrap, self.delivery, tune, transactional_id, settings or {})
        self._rdkafka = created(confluent_kafka.Producer, made)
        self._produce = self._rdkafka.produce
        self._serializer = serializer
        self._key_serializer = key_serializer
        self._takes_text = serializer is text
        self._takes_text_keys = key_serializer is text
        self._ids = message_id_source() if message_ids else None
        self._reports = reports = Reports(self._rdkafka)
        self.router = Router(self._rdkafka, made, partitioner, reports.ask_for_attention)
        self._counts = self.router.counts
        self._counts_if_plain = {} if message_ids else self._counts
        """Empty where every message needs more than its key and value."""
        self.waits_for_room = True
        """Else a full queue is a BufferError: an event loop waits in its own way."""
        self._transaction: Transaction | None = None
        self._is_initialised = False
        self.is_closed = False
        unclosed.watch(self)

    # Sending.

    def send(
        self,
        topic: str,
        value: V_contra | None,
        key: Any = None,
        *,
        headers: HeadersGiven | None = None,
        tags: Mapping[str, str] | None = None,
        timestamp: datetime | int | None = None,
        partition: int | None = None,
        delay: Delay | None = None,
        deliver_at: datetime | None = None,
        repeat: str | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Sending:
        """Takes the message; it is sent with others. What `Sending.result` would tell is raised by
        a later call, if nobody asks. With `delay` or `deliver_at` it is delivered then; with
        `repeat`, as a crontab says it, again and again."""
        reports = self._reports
        if reports.needs_attention:
            self.attend()
        if on_delivery is not None:
            check_callable("on_delivery", on_delivery)
        data: Any = value
        if type(value) is not str or not self._takes_text:
            data = serialized(self._serializer, value, f"value for topic {topic}")
        if type(key) is not str or not self._takes_text_keys:
            key = serialized(self._key_serializer, key, f"key for topic {topic}")
        sending = Sending(reports, on_delivery)
        if (
            headers is None
            and tags is None
            and timestamp is None
            and partition is None
            and delay is None
            and deliver_at is None
            and repeat is None
            and self._counts_if_plain.get(topic) == 0
        ):
            try:
                self._produce(topic, data, key, ANY, sending)
            except (BufferError, KafkaException, UnicodeError):
                self._send_slowly(topic, data, key, sending)
        else:
            given = self._headers(headers, tags)
            if wait := wait_header(delay, deliver_at, repeat):
                check_alone(given, timestamp)
                self.router.delays.check(topic, self.timeout)
                given.append(wait)
            self._send_slowly(topic, data, key, sending, partition, stamp_ms(timestamp), given)
        if monotonic() > reports.poll_due:
            reports.poll(0)
        return sending

    def send_bytes(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Headers | None = None,
    ) -> Sending:
        """As they are, whatever the serializers."""
        if self._reports.needs_attention:
            self.attend()
        sending = Sending(self._reports)
        self._send_slowly(topic, value, key, sending, headers=headers)
        return sending

    def poll(self, timeout: float = 0) -> int:
        """Serves delivery reports, for at most so many seconds; how many. Only who waits for
        callbacks and makes no other call needs it."""
        return self._reports.poll(timeout)

    def hurry(self) -> int:
        """Sends what is gathered without waiting for more; how many messages are on their way."""
        return self._reports.flush(0)

    def flush(self, timeout: float | None = None) -> None:
        """Returns when all messages have arrived; raises DeliveryFailed if one has not."""
        if timeout is not None:
            check_seconds("timeout", timeout)
        left = self._reports.flush(self.timeout if timeout is None else timeout)
        self._raise_failure()
        if left:
            raise TimedOut(
                f"{left} messages are still on their way; look whether the brokers are up, or "
                "allow more time with flush(timeout)"
            )

    def __len__(self) -> int:
        """Messages on their way."""
        return len(self._rdkafka)

    def __bool__(self) -> bool:
        """Also if no message is on its way."""
        return True

    # The end.

    def close(self, timeout: float | None = None) -> None:
        """Delivers what is on its way; what cannot be is given up, and raised."""
        if self.is_closed:
            return
        if timeout is not None:
            check_seconds("timeout", timeout)
        self.is_closed = True
        self._reports.needs_attention = True
        try:
            if self._transaction:
                self._transaction.abort()
        finally:
            try:
                self._reports.finish(self.timeout if timeout is None else timeout)
            finally:
                self.router.close()
        self._raise_failure()

    def __del__(self) -> None:
        if not self.is_closed:
            unclosed.end(self, unclosed.DROPPED_S_MAX)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except PenstockError as late:
            if error is None:
                raise
            error.add_note(f"when the producer was closed: {late}")

    # Transactions.

    def transaction(self) -> Transaction:
        """`with producer.transaction() as txn:` commits at the end, and aborts on an exception."""
        if self.delivery is not Delivery.EXACTLY_ONCE:
            raise Misconfigured(
                'transactions need Producer(..., delivery="exactly-once", transactional_id="...")'
            )
        if self._reports.needs_attention:
            self.attend()
        return Transaction(self, self._rdkafka)

    def begin(self, transaction: Transaction) -> None:
        """For the transaction itself."""
        if self._transaction:
            raise PenstockError("a transaction is open already: one producer has one at a time")
        self.initialise(transaction)
        transaction.steadily("begin", lambda _: self._rdkafka.begin_transaction())
        self._transaction = transaction

    def initialise(self, transaction: Transaction) -> None:
        """For the transaction itself. What one before us has left open under this id is aborted."""
        if self._is_initialised:
            return
        reach(self._rdkafka, self.bootstrap, None, self.timeout)
        transaction.steadily("InitProducerId", self._rdkafka.init_transactions)
        self._is_initialised = True

    def ended(self) -> None:
        """For the transaction itself. What failed in it is told by how it ended."""
        self._transaction = None
        self._reports.forget_failures()
        is_over = self.is_closed or self._reports.final is not None
        self._reports.needs_attention = is_over or bool(self.router.changes)

    def give_up(self, error: PenstockError) -> None:
        """After this nothing can be sent: every call says why."""
        self._reports.give_up(error)

    # What goes wrong.

    @property
    def needs_attention(self) -> bool:
        """Whether `attend` has something to do before the next message."""
        return self._reports.needs_attention

    def attend(self) -> None:
        """Before the next message."""
        self.report()
        self.follow()

    def report(self) -> None:
        """Failures that nobody has looked at. This waits for nothing."""
        if self._reports.final:
            raise self._reports.final
        if self.is_closed:
            raise PenstockError("the producer is closed: make another")
        self._reports.needs_attention = False
        self._raise_failure()

    def follow(self) -> None:
        """Changed partitions."""
        self.router.take_changes(self._reports.flush, self.timeout)

    def _raise_failure(self) -> None:
        failure = self._reports.failure(keep=self._transaction is not None)
        if failure is None:
            return
        if self._reports.final:
            raise self._reports.final
        if self._transaction:
            raise TransactionAborted(f"{failure}; the transaction is aborted", failure.code)
        raise failure

    # One message.

    def _send_slowly(
        self,
        topic: str,
        data: bytes | str | None,
        key: bytes | str | None,
        sending: Sending,
        partition: int | None = None,
        timestamp_ms: int = NOW,
        headers: Headers | None = None,
    ) -> None:
        """All that a message may need. Where librdkafka's queue is full, we wait for room."""
        if not isinstance(topic, str) or not topic:
            raise Misconfigured(f"topic={topic!r} is no topic's name: give its name, as text")
        index = partition
        if index is None:
            index = self.router.choose(topic, key, self.timeout)
        else:
            check_whole("partition", index, 0)
            if topic not in self._counts:
                self.router.meet(topic, self.timeout)
        deadline = monotonic() + self.timeout
        while True:
            try:
                self._produce(topic, data, key, index, sending, None, timestamp_ms, headers)
                return
            except BufferError:
                if not self.waits_for_room:
                    raise
                self._wait_for_room(deadline)
            except UnicodeError as error:
                raise NotSerializable(f"text for topic {topic} is no UTF-8: {error}") from None
            except KafkaException as failure:
                raise self._not_taken(topic, key, failure.args[0]) from None

    def _wait_for_room(self, deadline: float) -> None:
        self._reports.poll(POLL_EVERY_S)
        if monotonic() > deadline:
            raise TimedOut(
                f"{len(self)} messages wait to be sent, and no broker has taken one in "
                f"{self.timeout} s: this one was not sent; look whether the brokers are up"
            )

    def _not_taken(self, topic: str, key: Any, error: KafkaError) -> PenstockError:
        if error.code() == KafkaError._STATE and self.delivery is Delivery.EXACTLY_ONCE:
            return PenstockError(
                "with exactly-once, messages are sent inside `with producer.transaction():`"
            )
        if error.code() == KafkaError._FATAL:
            self._reports.poll()  # which raises why, unless it is known by now
            if self._reports.final:
                return self._reports.final
        about = f"the message with key {key!r} to topic {topic} was not sent"
        plain = translated(about, error)
        if type(plain) is not PenstockError:
            return plain
        data = key.encode() if isinstance(key, str) else key
        return DeliveryFailed(str(plain), error.name(), topic=topic, key=data)

    def _headers(self, headers: HeadersGiven | None, tags: Mapping[str, str] | None) -> Headers:
        made = as_headers(headers) + as_headers(tags)
        if self._ids:
            made.append((ID_HEADER, self._ids()))
        return made
