"""Sending messages from asyncio.

librdkafka cannot wake an event loop, and a thread that waits for delivery reports would fight with
the loop for the interpreter at every single one. So the loop looks for them itself, every
millisecond while messages are on their way: a look costs less than a microsecond.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from penstock.sdk.aio_transaction import AsyncTransaction
from penstock.sdk.errors import PenstockError, TimedOut
from penstock.sdk.outgoing import HeadersGiven
from penstock.sdk.producer import OnDelivery, Producer
from penstock.sdk.routing import Partitioner
from penstock.sdk.semantics import Settings
from penstock.sdk.sending import Delivered, Sending
from penstock.sdk.serializers import Serializer
from penstock.sdk.worker import Worker

LOOK_EVERY_S = 0.001
LOOK_EVERY_S_MAX = 0.004
"""When nothing has come for a while."""


class ProducerOptions(TypedDict, total=False):
    delivery: str
    tune: str
    serializer: Serializer[Any]
    key_serializer: Serializer[Any]
    transactional_id: str | None
    message_ids: bool
    partitioner: Partitioner | None
    timeout: float
    settings: Settings | None


class Extras(TypedDict, total=False):
    """What a message may have besides key and value."""

    headers: HeadersGiven | None
    tags: Mapping[str, str] | None
    timestamp: datetime | int | None
    partition: int | None


class AsyncProducer:
    """The same words as Producer. It belongs to the event loop in which it is first used."""

    def __init__(self, bootstrap: str, **options: Unpack[ProducerOptions]) -> None:
        self.producer = Producer(bootstrap, **options)
        self.producer.waits_for_room = False
        self.worker = Worker("penstock-producer")
        self._look: asyncio.TimerHandle | None = None
        self._pause_s = LOOK_EVERY_S
        self._thread = 0

    async def send(
        self, topic: str, value: Any, key: Any = None, **extras: Unpack[Extras]
    ) -> Delivered:
        """Returns when the message has arrived; raises DeliveryFailed if it has not."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Delivered] = loop.create_future()

        def settle(sending: Sending) -> None:
            if threading.get_ident() != self._thread:
                loop.call_soon_threadsafe(_settle, arrived, sending)
            else:
                _settle(arrived, sending)

        await self.enqueue(topic, value, key, on_delivery=settle, **extras)
        return await arrived

    async def enqueue(
        self,
        topic: str,
        value: Any,
        key: Any = None,
        *,
        on_delivery: OnDelivery | None = None,
        **extras: Unpack[Extras],
    ) -> Sending:
        """Returns when the message was taken, for which there must be room. If it fails, a later
        call raises that, unless `on_delivery` or somebody else has asked its Sending for it."""
        if self.producer.needs_attention:
            await self.worker.run(self.producer.attend)
        if topic not in self.producer.router.counts:
            await self.worker.run(self.producer.router.meet, topic, self.producer.timeout)
        deadline = 0.0
        while True:
            try:
                sending = self.producer.send(topic, value, key, on_delivery=on_delivery, **extras)
                break
            except BufferError:
                deadline = await self._room(deadline)
        self._look_soon()
        return sending

    async def flush(self, timeout: float | None = None) -> None:
        limit_s = self.producer.timeout if timeout is None else timeout
        deadline = time.monotonic() + limit_s
        while self.producer.hurry() and time.monotonic() < deadline:
            await asyncio.sleep(LOOK_EVERY_S)
        self.producer.flush(0)

    async def close(self, timeout: float | None = None) -> None:
        try:
            if not self.producer.is_closed:
                await self.flush(timeout)
        finally:
            if self._look:
                self._look.cancel()
            await self.worker.run(self.producer.close, 0)
            self.worker.end()

    def transaction(self) -> AsyncTransaction:
        """`async with producer.transaction() as txn:` commits at the end, or aborts."""
        return AsyncTransaction(self.producer.transaction(), self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self.close()
        except PenstockError as late:
            if error is None:
                raise
            error.add_note(f"when the producer was closed: {late}")

    async def _room(self, deadline: float) -> float:
        """Waits a moment for the queue to become shorter; until when there is time for that."""
        now, limit_s = time.monotonic(), self.producer.timeout
        if deadline and now > deadline:
            raise TimedOut(
                f"{len(self.producer)} messages wait to be sent, and none has gone in {limit_s} s: "
                "this one was not sent; look whether the brokers are up"
            )
        self._look_soon()
        await asyncio.sleep(LOOK_EVERY_S)
        return deadline or now + limit_s

    def _look_soon(self) -> None:
        self._pause_s = LOOK_EVERY_S
        if self._look is None:
            self._thread = threading.get_ident()
            loop = asyncio.get_running_loop()
            self._look = loop.call_later(LOOK_EVERY_S, self._look_now, loop)

    def _look_now(self, loop: asyncio.AbstractEventLoop) -> None:
        self._look = None
        served = self.producer.poll(0)
        if len(self.producer):
            self._pause_s = LOOK_EVERY_S if served else min(2 * self._pause_s, LOOK_EVERY_S_MAX)
            self._look = loop.call_later(self._pause_s, self._look_now, loop)


def _settle(arrived: asyncio.Future[Delivered], sending: Sending) -> None:
    """In the loop's thread. Who was cancelled does not look, so that a failure is raised later."""
    if arrived.done():
        return
    failure = sending.exception()
    if failure:
        arrived.set_exception(failure)
    else:
        arrived.set_result(sending.result())
