"""Read, process, write: a batch of messages, and what is sent because of it, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from penstock.sdk.errors import Misconfigured, PenstockError, TransactionAborted

if TYPE_CHECKING:
    from penstock.sdk.consumer import Consumer
    from penstock.sdk.message import Message
    from penstock.sdk.producer import Producer

V = TypeVar("V")

ABORTS_MAX = 10
"""In a row. What makes every attempt fail does not go away by the next."""


class Batch(Sequence["Message[V]"], Generic[V]):
    """Messages to be worked on inside `with batch:`.

    At its end, offsets and what was sent are committed together. On an exception all of it is
    aborted, and the consumer goes back to what is committed. Where the cluster has aborted it (the
    group has changed, a broker has died), that is not raised: the messages come again.
    """

    def __init__(
        self, consumer: Consumer[V], producer: Producer, messages: list[Message[V]]
    ) -> None:
        self.transaction = producer.transaction()
        self.was_entered = False
        self.aborted: TransactionAborted | None = None
        self._consumer = consumer
        self._messages = messages

    @overload
    def __getitem__(self, index: int) -> Message[V]: ...

    @overload
    def __getitem__(self, index: slice) -> list[Message[V]]: ...

    def __getitem__(self, index: Any) -> Any:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __enter__(self) -> Self:
        self.was_entered = True
        self.transaction.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        try:
            if error is None:
                self.transaction.send_offsets(self._consumer)
                self.transaction.commit()
                return False
        except TransactionAborted as late:
            error = late
        try:
            self.transaction.abort()
            self._consumer.rewind()
        except PenstockError as late:
            error.add_note(f"when the transaction was aborted: {late}")
            raise error from None
        if isinstance(error, TransactionAborted):
            self.aborted = error
            return True
        return False


def not_entered() -> Misconfigured:
    return Misconfigured(
        "a batch of transactions() was not worked on inside `with batch:`: nothing of it would be "
        "committed"
    )


def batches_in_transactions(
    consumer: Consumer[V], producer: Producer, max_messages: int, max_seconds: float
) -> Iterator[Batch[V]]:
    aborts, heard = 0, time.monotonic()
    while True:
        messages = consumer.gather(max_messages, max_seconds)
        if not messages:
            idle_s = consumer.idle_timeout
            if idle_s is not None and time.monotonic() - heard >= idle_s:
                return
            continue
        batch = Batch(consumer, producer, messages)
        yield batch
        heard = time.monotonic()
        if not batch.was_entered:
            raise not_entered()
        aborts = aborts + 1 if batch.aborted else 0
        if batch.aborted and aborts > ABORTS_MAX:
            raise batch.aborted
