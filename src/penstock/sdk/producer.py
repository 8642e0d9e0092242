"""Sending messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

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
from penstock.sdk.routing import ANY, Partitioner, Router
from penstock.sdk.semantics import Delivery, Settings, Tune, chosen
from penstock.sdk.sending import Sending
from penstock.sdk.serializers import Serializer, text
from penstock.sdk.transaction import Transaction
from penstock.sdk.translation import translated

POLL_EVERY_S = 0.005

OnDelivery = Callable[[Sending], None]


class Producer:
    """Sends to any topic. Threads may share one, but for transactions.

    Delivery reports are served by whichever call is made next: there is no thread for them.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        delivery: str = Delivery.AT_LEAST_ONCE,
        tune: str = Tune.THROUGHPUT,
        serializer: Serializer[Any] = text,
        key_serializer: Serializer[Any] = text,
        transactional_id: str | None = None,
        message_ids: bool = False,
        partitioner: Partitioner | None = None,
        timeout: float = 30.0,
        settings: Settings | None = None,
    ) -> None:
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
        self.router = Router(self._rdkafka, made, partitioner, self._ask_for_attention)
        self._counts = self.router.counts
        self._failed: list[Sending] = []
        self._final: PenstockError | None = None
        self.needs_attention = False
        """Something is to be done before the next message: so that `send` asks one question."""
        self.is_closed = False
        self.waits_for_room = True
        """Else a full queue is a BufferError: an event loop waits in its own way."""
        self._poll_due = 0.0
        self._transaction: Transaction | None = None
        self._is_initialised = False

    # Sending.

    def send(
        self,
        topic: str,
        value: Any,
        key: Any = None,
        *,
        headers: HeadersGiven | None = None,
        tags: Mapping[str, str] | None = None,
        timestamp: datetime | int | None = None,
        partition: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Sending:
        """Takes the message; it is sent with others. What `Sending.result` would tell is raised by
        a later call, if nobody asks."""
        if self.needs_attention:
            self.attend()
        data = value if self._takes_text and type(value) is str else self._bytes(topic, value)
        name = key if self._takes_text_keys and type(key) is str else self._key_bytes(topic, key)
        sending = Sending(self, on_delivery)
        is_plain = headers is None and tags is None and timestamp is None and partition is None
        if is_plain and self._ids is None and self._counts.get(topic) == 0:
            try:
                self._produce(topic, data, name, ANY, sending)
            except (BufferError, KafkaException, UnicodeError):
                self._send_slowly(topic, data, name, sending)
        else:
            given = self._headers(headers, tags)
            self._send_slowly(topic, data, name, sending, partition, stamp_ms(timestamp), given)
        if time.monotonic() > self._poll_due:
            self.poll(0)
        return sending

    def send_bytes(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Headers | None = None,
    ) -> Sending:
        """As they are, whatever the serializers."""
        if self.needs_attention:
            self.attend()
        sending = Sending(self)
        self._send_slowly(topic, value, key, sending, headers=headers)
        return sending

    def poll(self, timeout: float = 0) -> int:
        """Serves delivery reports, for at most so many seconds; how many. Only who waits for
        callbacks and makes no other call needs it."""
        served = self._rdkafka.poll(timeout)
        self._poll_due = time.monotonic() + POLL_EVERY_S
        return int(served)

    def hurry(self) -> int:
        """Sends what is gathered without waiting for more; how many messages are on their way."""
        return int(self._rdkafka.flush(0))

    def flush(self, timeout: float | None = None) -> None:
        """Returns when all messages have arrived; raises DeliveryFailed if one has not."""
        left = self._rdkafka.flush(self.timeout if timeout is None else timeout)
        if self._failed:
            self._raise_failure()
        if left:
            raise TimedOut(
                f"{left} messages are still on their way; look whether the brokers are up, or "
                "allow more time with flush(timeout)"
            )

    def __len__(self) -> int:
        """Messages on their way."""
        return len(self._rdkafka)

    # The end.

    def close(self, timeout: float | None = None) -> None:
        """Delivers what is on its way; what cannot be is given up, and raised."""
        if self.is_closed:
            return
        self.is_closed = True
        self.needs_attention = True
        try:
            if self._transaction:
                self._transaction.abort()
            self.flush(timeout)
        finally:
            if len(self._rdkafka):
                self._rdkafka.purge()
                self._rdkafka.flush(1)
            self.router.close()

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
        if self.needs_attention:
            self.attend()
        return Transaction(self, self._rdkafka)

    def begin(self, transaction: Transaction) -> None:
        """For the transaction itself."""
        if self._transaction:
            raise PenstockError("a transaction is open already: one producer has one at a time")
        if not self._is_initialised:
            reach(self._rdkafka, self.bootstrap, None, self.timeout)
            transaction.steadily("InitProducerId", self._rdkafka.init_transactions)
            self._is_initialised = True
        transaction.steadily("begin", lambda _: self._rdkafka.begin_transaction())
        self._transaction = transaction

    def ended(self) -> None:
        """For the transaction itself. What failed in it is told by how it ended."""
        self._transaction = None
        self._failed.clear()
        self.needs_attention = self.is_closed or bool(self._final or self.router.changes)

    def give_up(self, error: PenstockError) -> None:
        """After this nothing can be sent: every call says why."""
        self._final = error
        self.needs_attention = True

    # What goes wrong.

    def note_failure(self, sending: Sending) -> None:
        if self._final:  # which says it all
            return
        self._failed.append(sending)
        self.needs_attention = True

    def _ask_for_attention(self) -> None:
        self.needs_attention = True

    def attend(self) -> None:
        """Before the next message: failures that nobody has looked at, and changed partitions."""
        if self.is_closed:
            raise PenstockError("the producer is closed: make another")
        if self._final:
            raise self._final
        self.needs_attention = False
        if self._failed:
            self._raise_failure()
        self.router.take_changes(lambda: self._rdkafka.flush(self.timeout), self.timeout)

    def _raise_failure(self) -> None:
        """The first that nobody has looked at meanwhile; all are told of by it."""
        unseen = [each for each in self._failed if not each.is_seen]
        self._failed.clear()
        failure = unseen[0].failure(len(unseen)) if unseen else None
        if failure is None:
            return
        if self._transaction:
            self._failed.extend(unseen)
            self.needs_attention = True
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
        index = partition
        if index is None:
            index = self.router.choose(topic, key, self.timeout)
        elif topic not in self._counts:
            self.router.meet(topic, self.timeout)
        deadline = time.monotonic() + self.timeout
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
        self.poll(POLL_EVERY_S)
        if time.monotonic() > deadline:
            raise TimedOut(
                f"{len(self)} messages wait to be sent, and no broker has taken one in "
                f"{self.timeout} s: this one was not sent; look whether the brokers are up"
            )

    def _not_taken(self, topic: str, key: Any, error: KafkaError) -> PenstockError:
        if error.code() == KafkaError._STATE and self.delivery is Delivery.EXACTLY_ONCE:
            return PenstockError(
                "with exactly-once, messages are sent inside `with producer.transaction():`"
            )
        about = f"the message with key {key!r} to topic {topic} was not sent"
        plain = translated(about, error)
        if type(plain) is not PenstockError:
            return plain
        data = key.encode() if isinstance(key, str) else key
        return DeliveryFailed(str(plain), error.name(), topic=topic, key=data)

    def _bytes(self, topic: str, value: Any) -> bytes | None:
        return serialized(self._serializer, value, f"value for topic {topic}")

    def _key_bytes(self, topic: str, key: Any) -> bytes | None:
        return serialized(self._key_serializer, key, f"key for topic {topic}")

    def _headers(self, headers: HeadersGiven | None, tags: Mapping[str, str] | None) -> Headers:
        made = as_headers(headers) + as_headers(tags)
        if self._ids:
            made.append((ID_HEADER, self._ids()))
        return made
