"""Sending messages from asyncio.

librdkafka cannot wake an event loop, and a thread that waits for delivery reports would fight with
the loop for the interpreter at every single one. So the loop looks for them itself, every
millisecond while messages are on their way: a look costs less than a microsecond.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, Unpack, overload

from penstock.sdk.aio_transaction import AsyncTransaction
from penstock.sdk.checks import check_seconds
from penstock.sdk.errors import Misconfigured, PenstockError, TimedOut
from penstock.sdk.outgoing import HeadersGiven
from penstock.sdk.producer import OnDelivery, Producer, ProducerOptions, V_contra
from penstock.sdk.sending import Delivered, Sending
from penstock.sdk.serializers import Serializer, Text, text
from penstock.sdk.waiting import Delay, wait_header
from penstock.sdk.worker import Worker

LOOK_EVERY_S = 0.001
LOOK_EVERY_S_MAX = 0.004
"""When nothing has come for a while."""


class Extras(TypedDict, total=False):
    """What a message may have besides key and value."""

    headers: HeadersGiven | None
    tags: Mapping[str, str] | None
    timestamp: datetime | int | None
    partition: int | None
    delay: Delay | None
    deliver_at: datetime | None
    repeat: str | None


class AsyncProducer(Generic[V_contra]):
    """The same words as Producer. It belongs to the event loop in which it is first used."""

    @overload
    def __init__(
        self: AsyncProducer[Text], bootstrap: str, **options: Unpack[ProducerOptions]
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
        serializer: Serializer[Any] = text,
        **options: Unpack[ProducerOptions],
    ) -> None:
        self.producer: Producer[V_contra] = Producer(bootstrap, serializer=serializer, **options)
        self.producer.waits_for_room = False
        self.worker = Worker("penstock-producer")
        self._look: asyncio.TimerHandle | None = None
        self._pause_s = LOOK_EVERY_S
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._is_closing = False

    async def send(
        self, topic: str, value: V_contra | None, key: Any = None, **extras: Unpack[Extras]
    ) -> Delivered:
        """Returns when the message has arrived; raises DeliveryFailed if it has not."""
        loop = self._own_loop()
        arrived: asyncio.Future[Delivered] = loop.create_future()

        def settle(sending: Sending) -> None:
            if threading.get_ident() == self._thread:
                _settle(arrived, sending)
            elif not loop.is_closed():  # else nobody waits, and a failure is told of by close
                loop.call_soon_threadsafe(_settle, arrived, sending)

        await self.enqueue(topic, value, key, on_delivery=settle, **extras)
        return await arrived

    async def enqueue(
        self,
        topic: str,
        value: V_contra | None,
        key: Any = None,
        *,
        on_delivery: OnDelivery | None = None,
        **extras: Unpack[Extras],
    ) -> Sending:
        """Returns when the message was taken, for which there must be room. If it fails, a later
        call raises that, unless `on_delivery` or somebody else has asked its Sending for it."""
        self._own_loop()
        if self.producer.needs_attention:
            self.producer.report()
            if self.producer.router.changes:
                await self.worker.run(self.producer.follow)
        if topic not in self.producer.router.counts:
            await self.worker.run(self.producer.router.meet, topic, self.producer.timeout)
        if wait_header(extras.get("delay"), extras.get("deliver_at"), extras.get("repeat")):
            await self._check_delays(topic)
        deadline = 0.0
        while True:
            try:
                sending = self.producer.send(topic, value, key, on_delivery=on_delivery, **extras)
                break
            except BufferError:
                deadline = await self._room(deadline)
        self._look_soon()
        return sending

    async def _check_delays(self, topic: str) -> None:
        delays = self.producer.router.delays
        if not delays.knows(topic):
            await self.worker.run(delays.check, topic, self.producer.timeout)

    async def flush(self, timeout: float | None = None) -> None:
        self._own_loop()
        await self._deliver(self._limit_s(timeout))
        self.producer.flush(0)

    async def close(self, timeout: float | None = None) -> None:
        """Delivers what is on its way; what cannot be is given up, and raised. If it is cancelled,
        that is done by a thread of its own, and what fails is logged."""
        if self._is_closing:
            return
        self._is_closing = True
        limit_s = self._limit_s(timeout)
        try:
            await self._deliver(limit_s)
            await self.worker.run(self.producer.close, 0)
        except asyncio.CancelledError:
            self.worker.start(_close_behind, self.producer, limit_s)
            raise
        finally:
            if self._look:
                self._look.cancel()
            self.worker.end()

    def _limit_s(self, timeout: float | None) -> float:
        if timeout is None:
            return self.producer.timeout
        check_seconds("timeout", timeout)
        return timeout

    async def _deliver(self, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        while self.producer.hurry() and time.monotonic() < deadline:
            await asyncio.sleep(LOOK_EVERY_S)

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

    def _own_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop, self._thread = loop, threading.get_ident()
        if self._loop is not loop:
            raise Misconfigured(
                "this producer belongs to the event loop in which it was first used: make one in "
                "each event loop"
            )
        return loop

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
            loop = asyncio.get_running_loop()
            self._look = loop.call_later(LOOK_EVERY_S, self._look_now, loop)

    def _look_now(self, loop: asyncio.AbstractEventLoop) -> None:
        """Whatever comes of it, the next look is soon: others wait for theirs. What is fatal is
        told by the next call."""
        self._look, served = None, 0
        try:
            with suppress(PenstockError):
                served = self.producer.poll(0)
        finally:
            if len(self.producer):
                self._pause_s = LOOK_EVERY_S if served else min(2 * self._pause_s, LOOK_EVERY_S_MAX)
                self._look = loop.call_later(self._pause_s, self._look_now, loop)


def _close_behind(producer: Producer[Any], limit_s: float) -> None:
    """Nobody waits for it."""
    try:
        producer.close(limit_s)
    except PenstockError as error:
        logging.getLogger("penstock.sdk").error("when the producer was closed: %s", error)


def _settle(arrived: asyncio.Future[Delivered], sending: Sending) -> None:
    """In the loop's thread. Who was cancelled does not look, so that a failure is raised later."""
    if arrived.done():
        return
    failure = sending.exception()
    if failure:
        arrived.set_exception(failure)
    else:
        arrived.set_result(sending.result())
