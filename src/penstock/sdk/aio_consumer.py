"""Reading messages from asyncio: what blocks is done by one thread, many messages at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from inspect import isawaitable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, overload

from penstock.sdk.aio_exactly_once import AsyncBatch, batches_in_transactions
from penstock.sdk.aio_producer import AsyncProducer
from penstock.sdk.arguments import Options, Topics, check_size
from penstock.sdk.checks import check_handler, check_seconds
from penstock.sdk.consumer import TAKE, Consumer
from penstock.sdk.errors import Misconfigured, NotDeserializable, PenstockError
from penstock.sdk.exactly_once import Batches
from penstock.sdk.message import Message, TopicPartition
from penstock.sdk.processing import Attempts, Failing, Graveyard, graveyard_of
from penstock.sdk.semantics import Delivery
from penstock.sdk.serializers import Deserializer, text
from penstock.sdk.worker import Worker

T = TypeVar("T")
V = TypeVar("V")

SLICE_S = 0.25
"""One wait of the thread. Who is cancelled leaves it behind for that long."""


class AsyncConsumer(Generic[V]):
    """The same words as Consumer. Hooks are called in the consumer's own thread."""

    @overload
    def __init__(
        self: AsyncConsumer[str],
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
        **options: Unpack[Options],
    ) -> None:
        self.consumer: Consumer[V] = Consumer(
            bootstrap, topics, group=group, deserializer=deserializer, **options
        )
        self._worker = Worker("penstock-consumer")
        self._buffer = self.consumer.buffer
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[Message[V]]:
        buffer, consumer = self._buffer, self.consumer
        while await self._refill(consumer.idle_timeout):
            for message in buffer.rest:
                yield message
                if consumer.breath.is_due:
                    buffer.move_on()
                    await self._worker.run(consumer.stay_alive)

    async def poll(self, timeout: float = 1.0) -> Message[V] | None:
        if await self._refill(timeout):
            for message in self._buffer.rest:
                return message
        return None

    async def batches(
        self, max_messages: int = TAKE, timeout: float = 0.0
    ) -> AsyncIterator[list[Message[V]]]:
        check_size(max_messages)
        while await self._fill(self.consumer.idle_timeout, max_messages):
            if batch := await self.gather(max_messages, timeout):
                yield batch

    async def gather(self, max_messages: int, timeout: float) -> list[Message[V]]:
        await self._reading(self.consumer.fill_up, max_messages, timeout)
        return self.consumer.cut(max_messages)

    async def process(
        self, handler: Callable[[Message[V]], Awaitable[object]], **options: Unpack[Failing]
    ) -> int:
        """Awaits the handler for one message after the other; how many it was."""
        check_handler(handler)
        count = 0
        with graveyard_of(self.consumer, options) as graveyard:
            messages = aiter(self)
            while True:
                try:
                    message = await anext(messages, None)
                except NotDeserializable as error:
                    messages = aiter(self)
                    await self._worker.run(graveyard.bury, error.raw, 0, error)
                else:
                    if message is None:
                        return count
                    await self._handle(handler, message, Attempts(options), graveyard)
                count += 1

    async def _handle(
        self,
        handler: Callable[[Message[V]], Awaitable[object]],
        message: Message[V],
        attempts: Attempts,
        graveyard: Graveyard,
    ) -> None:
        while True:
            try:
                outcome: object = handler(message)
                if isawaitable(outcome):
                    await outcome
                    return
                break
            except Exception as error:
                pause_s, failure = attempts.pause_s(), error
            if pause_s is None:
                await self._worker.run(graveyard.bury, message.raw, attempts.count, failure)
                return
            await asyncio.sleep(pause_s)
            await self._worker.run(self.consumer.stay_alive)
        raise Misconfigured(f"the handler {handler!r} is no coroutine function: use `async def`")

    def transactions(
        self, producer: AsyncProducer, *, max_messages: int = 750, max_seconds: float = 1.0
    ) -> AsyncIterator[AsyncBatch[V]]:
        """`async for batch in consumer.transactions(producer):`, and in it `async with batch:`."""
        if self.consumer.delivery is not Delivery.EXACTLY_ONCE:
            raise Misconfigured('transactions need AsyncConsumer(..., delivery="exactly-once")')
        check_size(max_messages)
        check_seconds("max_seconds", max_seconds)
        if not isinstance(producer, AsyncProducer):
            raise Misconfigured(
                f"transactions() was given {producer!r}: give a penstock.AsyncProducer"
            )
        batches = Batches(self.consumer, producer.producer, max_messages, max_seconds)
        return batches_in_transactions(batches, self._worker)

    async def commit(self) -> None:
        await self._worker.run(self.consumer.commit)

    async def rewind(self) -> None:
        await self._worker.run(self.consumer.rewind)

    async def seek(self, topic: str, partition: int, offset: int) -> None:
        await self._worker.run(self.consumer.seek, topic, partition, offset)

    async def pause(self, *places: TopicPartition) -> None:
        await self._worker.run(self.consumer.pause, *places)

    async def resume(self, *places: TopicPartition) -> None:
        await self._worker.run(self.consumer.resume, *places)

    async def assignment(self) -> list[TopicPartition]:
        return await self._worker.run(lambda: self.consumer.assignment)

    async def close(self) -> None:
        """Who is cancelled meanwhile leaves it to the thread."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            await asyncio.shield(self._worker.run(self.consumer.close))
        finally:
            self._worker.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._buffer.move_on()
        try:
            await self.close()
        except PenstockError as late:
            if error is None:
                raise
            error.add_note(f"when the consumer was closed: {late}")

    async def _refill(self, timeout_s: float | None) -> bool:
        found = await self._fill(timeout_s)
        self._buffer.check()
        return found

    async def _fill(self, timeout_s: float | None, limit: int = TAKE) -> bool:
        """As the consumer does it; in the thread only if that may take a while."""
        if not self._worker.is_busy and self.consumer.has_next():
            return True
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = SLICE_S if deadline is None else deadline - time.monotonic()
            if await self._reading(self.consumer.fill, min(max(left_s, 0), SLICE_S), limit):
                return True
            if left_s <= SLICE_S and deadline is not None:
                return False

    async def _reading(self, call: Callable[..., T], *arguments: object) -> T:
        try:
            return await self._worker.run(call, *arguments)
        except asyncio.CancelledError:
            self.consumer.call_off()
            raise
