"""Read, process, write in one transaction, from asyncio."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from penstock.sdk.errors import PenstockError, TransactionAborted
from penstock.sdk.exactly_once import ABORTS_MAX, not_entered

if TYPE_CHECKING:
    from penstock.sdk.aio_consumer import AsyncConsumer
    from penstock.sdk.aio_producer import AsyncProducer
    from penstock.sdk.message import Message

V = TypeVar("V")


class AsyncBatch(Generic[V]):
    """Messages to be worked on inside `async with batch:`; as `exactly_once.Batch`."""

    def __init__(
        self, consumer: AsyncConsumer[V], producer: AsyncProducer, messages: list[Message[V]]
    ) -> None:
        self.transaction = producer.transaction()
        self.was_entered = False
        self.aborted: TransactionAborted | None = None
        self._consumer = consumer
        self._messages = messages

    def __iter__(self) -> Iterator[Message[V]]:
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    async def __aenter__(self) -> Self:
        self.was_entered = True
        await self.transaction.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        try:
            if error is None:
                await self.transaction.send_offsets(self._consumer)
                await self.transaction.commit()
                return False
        except TransactionAborted as late:
            error = late
        try:
            await self.transaction.abort()
            await self._consumer.rewind()
        except PenstockError as late:
            error.add_note(f"when the transaction was aborted: {late}")
            raise error from None
        if isinstance(error, TransactionAborted):
            self.aborted = error
            return True
        return False


async def batches_in_transactions(
    consumer: AsyncConsumer[V], producer: AsyncProducer, max_messages: int, max_seconds: float
) -> AsyncIterator[AsyncBatch[V]]:
    aborts, heard = 0, time.monotonic()
    while True:
        messages = await consumer.gather(max_messages, max_seconds)
        if not messages:
            idle_s = consumer.consumer.idle_timeout
            if idle_s is not None and time.monotonic() - heard >= idle_s:
                return
            continue
        batch = AsyncBatch(consumer, producer, messages)
        yield batch
        heard = time.monotonic()
        if not batch.was_entered:
            raise not_entered()
        aborts = aborts + 1 if batch.aborted else 0
        if batch.aborted and aborts > ABORTS_MAX:
            raise batch.aborted
