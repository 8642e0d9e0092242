"""Reading messages from asyncio: what blocks is done by one thread, many messages at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, overload

from penstock.sdk.aio_exactly_once import AsyncBatch, batches_in_transactions
from penstock.sdk.aio_producer import AsyncProducer
from penstock.sdk.consumer import TAKE, Consumer, Options, Topics
from penstock.sdk.errors import Misconfigured, NotDeserializable, PenstockError
from penstock.sdk.message import Message, TopicPartition
from penstock.sdk.processing import Failing, bury, check, pause_s, sender_of
from penstock.sdk.semantics import Delivery
from penstock.sdk.serializers import Deserializer, text
from penstock.sdk.worker import Worker

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
        self._ready = self.consumer.intake.ready
        self._commits = self.consumer.commits

    async def __aiter__(self) -> AsyncIterator[Message[V]]:
        while await self._refill(self.consumer.idle_timeout):
            while self._ready:
                self._commits.in_hand = message = self._ready.popleft()
                yield message
                self._commits.in_hand = None
                if time.monotonic() > self.consumer.breath_due:
                    await self._worker.run(self.consumer.stay_alive)

    async def poll(self, timeout: float = 1.0) -> Message[V] | None:
        self._commits.in_hand = None
        if not await self._refill(timeout):
            return None
        self._commits.in_hand = message = self._ready.popleft()
        return message

    async def batches(
        self, max_messages: int = TAKE, timeout: float = 0.0
    ) -> AsyncIterator[list[Message[V]]]:
        while await self._refill(self.consumer.idle_timeout):
            yield await self.gather(max_messages, timeout)
            self._commits.in_hand = None

    async def gather(self, max_messages: int, timeout: float) -> list[Message[V]]:
        return await self._worker.run(self.consumer.gather, max_messages, timeout)

    async def process(
        self, handler: Callable[[Message[V]], Awaitable[object]], **options: Unpack[Failing]
    ) -> int:
        """Awaits the handler for one message after the other; how many it was."""
        check(self.consumer.delivery)
        target, group, count = options.get("dead_letters"), self.consumer.group, 0
        with sender_of(self.consumer, target, options.get("producer")) as sender:
            messages = aiter(self)
            while True:
                attempts = 0
                try:
                    message = await anext(messages, None)
                    if message is None:
                        return count
                    raw, attempts = message.raw, options.get("retries", 3) + 1
                    failure = await self._attempts(handler, message, options)
                except NotDeserializable as error:
                    messages, raw, failure = aiter(self), error.raw, error
                if failure is not None:
                    if sender is None or target is None:
                        raise failure
                    await self._worker.run(bury, sender, target, raw, group, attempts, failure)
                count += 1

    def transactions(
        self, producer: AsyncProducer, *, max_messages: int = 750, max_seconds: float = 1.0
    ) -> AsyncIterator[AsyncBatch[V]]:
        """`async for batch in consumer.transactions(producer):`, and in it `async with batch:`."""
        if self.consumer.delivery is not Delivery.EXACTLY_ONCE:
            raise Misconfigured('transactions need AsyncConsumer(..., delivery="exactly-once")')
        return batches_in_transactions(self, producer, max_messages, max_seconds)

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
        await self._worker.run(self.consumer.close)
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
            self._commits.in_hand = None
        try:
            await self.close()
        except PenstockError as late:
            if error is None:
                raise
            error.add_note(f"when the consumer was closed: {late}")

    async def _refill(self, timeout_s: float | None) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._ready:
            left_s = SLICE_S if deadline is None else deadline - time.monotonic()
            if await self._worker.run(self.consumer.refill, min(max(left_s, 0), SLICE_S)):
                return True
            if left_s <= SLICE_S and deadline is not None:
                return False
        return True

    async def _attempts(
        self,
        handler: Callable[[Message[V]], Awaitable[object]],
        message: Message[V],
        options: Failing,
    ) -> Exception | None:
        failure: Exception | None = None
        for attempt in range(options.get("retries", 3) + 1):
            if failure is not None:
                await asyncio.sleep(pause_s(options.get("backoff", 0.1), attempt))
                await self._worker.run(self.consumer.stay_alive)
            try:
                await handler(message)
                return None
            except Exception as error:
                failure = error
        return failure
