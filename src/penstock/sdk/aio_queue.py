"""Queues from asyncio: jobs come from the member's own thread, which wakes the loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from inspect import isawaitable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, overload

from penstock.client.errors import ClientError
from penstock.client.share_held import Held
from penstock.client.share_member import ShareMember
from penstock.sdk.aio_producer import AsyncProducer
from penstock.sdk.arguments import check_size
from penstock.sdk.checks import check_handler, check_seconds, check_whole
from penstock.sdk.errors import Empty, Misconfigured, NotDeserializable, PenstockError, TimedOut
from penstock.sdk.job import AsyncJob
from penstock.sdk.outgoing import HeadersGiven
from penstock.sdk.queue import Queue, QueueOptions
from penstock.sdk.queue_desk import as_our_own, delay_ms_of, translated
from penstock.sdk.queue_work import settle, verdict
from penstock.sdk.sending import Delivered
from penstock.sdk.serializers import Serde, text
from penstock.sdk.waiting import Delay
from penstock.sharing.acknowledging import Answer

V = TypeVar("V")

log = logging.getLogger("penstock.sdk")


class AsyncQueue(Generic[V]):
    """The same words as Queue. It belongs to the event loop in which it is first used."""

    @overload
    def __init__(
        self: AsyncQueue[str], bootstrap: str, topic: str, **options: Unpack[QueueOptions]
    ) -> None: ...

    @overload
    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        serializer: Serde[V],
        **options: Unpack[QueueOptions],
    ) -> None: ...

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        serializer: Serde[Any] = text,
        **options: Unpack[QueueOptions],
    ) -> None:
        self._queue: Queue[V] = Queue(bootstrap, topic, serializer=serializer, **options)
        self.desk = self._queue.desk
        self.topic, self.group = topic, self._queue.group
        self.timeout, self.idle_timeout = self._queue.timeout, self._queue.idle_timeout
        self._producer: AsyncProducer[V] | None = None
        self._make_producer: Callable[[], AsyncProducer[V]] = lambda: AsyncProducer(
            bootstrap,
            serializer=serializer,
            key_serializer=options.get("key_serializer", text),
            tune="latency",
            timeout=self.timeout,
            settings=options.get("settings"),
        )

    ensure = staticmethod(Queue.ensure)
    """Done before the event loop runs, or in a thread: it waits."""

    # -- putting

    async def put(
        self,
        value: V,
        key: Any = None,
        *,
        headers: HeadersGiven | None = None,
        tags: Mapping[str, str] | None = None,
        delay: Delay | None = None,
        deliver_at: datetime | None = None,
        repeat: str | None = None,
        timeout: float | None = None,
    ) -> Delivered:
        """Returns when all replicas have it; raises DeliveryFailed if they have not. With `delay`
        or `deliver_at` nobody is given it before; with `repeat` it is a new job each time."""
        sending = self._sender().send(
            self.topic,
            value,
            key,
            headers=headers,
            tags=tags,
            delay=delay,
            deliver_at=deliver_at,
            repeat=repeat,
        )
        limit_s = self.timeout if timeout is None else timeout
        try:
            return await asyncio.wait_for(sending, limit_s)
        except TimeoutError:
            raise TimedOut(f"no broker has acknowledged the message in {limit_s} s") from None

    async def put_many(self, values: Iterable[V], timeout: float | None = None) -> list[Delivered]:
        return list(await asyncio.gather(*(self.put(each, timeout=timeout) for each in values)))

    def _sender(self) -> AsyncProducer[V]:
        self.desk.check_open()
        if self._producer is None:
            self._producer = self._make_producer()
        return self._producer

    # -- getting

    async def get(self, timeout: float | None = None) -> AsyncJob[V]:
        return (await self.get_many(1, timeout))[0]

    async def get_many(self, most: int, timeout: float | None = None) -> list[AsyncJob[V]]:
        check_size(most)
        if timeout is not None:
            check_seconds("timeout", timeout)
        self.desk.raise_failures()
        if self.desk.is_stopped:
            raise Empty("the queue was stopped")
        member = self.desk.member_if_any()
        if member is None:
            member = await asyncio.to_thread(self.desk.member)
        with as_our_own():
            found = await self._wait(member, most, timeout)
        if not found:
            raise Empty(f"no job has come from topic {self.topic} in {timeout} s")
        return self.desk.read_all(AsyncJob, found, self)

    async def _wait(self, member: ShareMember, most: int, timeout_s: float | None) -> list[Held]:
        """As the member does it, but for who waits."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not (found := member.take(most)):
            if member.is_called_off:
                return []
            woken = asyncio.Event()
            ticket = member.listen(most, lambda woken=woken: _wake(loop, woken))  # type: ignore[misc]
            try:
                left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
                await asyncio.wait_for(woken.wait(), left_s)
            except TimeoutError:
                return member.take(most)
            finally:
                member.withdraw(ticket)
        return found

    async def __aiter__(self) -> AsyncIterator[AsyncJob[V]]:
        while True:
            try:
                job = await self.get(self.idle_timeout)
            except Empty:
                return
            yield job

    async def work(
        self,
        handler: Callable[[AsyncJob[V]], Awaitable[object]],
        *,
        concurrency: int = 8,
        backoff: float = 1.0,
    ) -> int:
        """As `Queue.work`, in so many tasks. Who is cancelled gives back what is being done."""
        check_handler(handler)
        check_whole("concurrency", concurrency, 1, 10_000)
        check_seconds("backoff", backoff)
        await asyncio.to_thread(self.desk.prefer_prefetch, 2 * concurrency)
        try:
            async with asyncio.TaskGroup() as tasks:
                counts = [
                    tasks.create_task(self._work(handler, backoff)) for _ in range(concurrency)
                ]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        await self.flush()
        return sum(each.result() for each in counts)

    async def _work(
        self, handler: Callable[[AsyncJob[V]], Awaitable[object]], backoff_s: float
    ) -> int:
        count = 0
        while not self.desk.is_stopped:
            try:
                job = await self.get(self.idle_timeout)
            except Empty:
                break
            except NotDeserializable as error:
                log.error("%s", error)
                continue
            await self._do(handler, job, backoff_s)
            count += 1
        return count

    async def _do(
        self,
        handler: Callable[[AsyncJob[V]], Awaitable[object]],
        job: AsyncJob[V],
        backoff_s: float,
    ) -> None:
        answer, delay_ms = Answer.RELEASE, 0
        try:
            outcome: object = handler(job)
            if not isawaitable(outcome):
                raise Misconfigured(
                    f"the handler {handler!r} is no coroutine function: use `async def`"
                )
            await outcome
            answer = Answer.ACCEPT
        except Misconfigured:
            raise
        except Exception as error:
            answer, delay_ms = verdict(job, error, backoff_s)
        finally:
            settle(self.desk, job, answer, delay_ms)

    def stop(self) -> None:
        """As `Queue.stop`."""
        self.desk.stop()

    # -- what has become of a job

    async def ack(self, job: AsyncJob[V], *, wait: bool = True) -> None:
        await self._say(job, Answer.ACCEPT, 0, wait)

    async def nack(self, job: AsyncJob[V], *, delay: float = 0.0, wait: bool = True) -> None:
        await self._say(job, Answer.RELEASE, delay_ms_of(delay), wait)

    async def reject(self, job: AsyncJob[V], *, wait: bool = True) -> None:
        await self._say(job, Answer.REJECT, 0, wait)

    async def renew(self, job: AsyncJob[V]) -> None:
        await self._say(job, Answer.RENEW, 0, wait=True)

    async def flush(self, timeout: float | None = None) -> None:
        limit_s = self.timeout if timeout is None else timeout
        check_seconds("timeout", limit_s)
        if self._producer is not None:
            await self._producer.flush(limit_s)
        await asyncio.to_thread(self.desk.flush, limit_s)

    async def _say(self, job: AsyncJob[V], answer: Answer, delay_ms: int, wait: bool) -> None:
        self.desk.raise_failures()
        if not isinstance(job, AsyncJob):
            raise Misconfigured(f"{job!r} is no job: give one that `get` has returned")
        if not wait:
            self.desk.say(job.held, answer, delay_ms, None)
            return
        loop = asyncio.get_running_loop()
        told: asyncio.Future[ClientError | None] = loop.create_future()

        def done(error: ClientError | None) -> None:
            _call_soon(loop, _settle, told, error)

        self.desk.say(job.held, answer, delay_ms, done)
        try:
            failure = await asyncio.wait_for(told, self.timeout)
        except TimeoutError:
            raise self.desk.unanswered(job.held) from None
        if failure is not None:
            raise translated(failure, self.desk.place_of(job.held))

    # -- the end

    async def close(self, timeout: float | None = None) -> None:
        """Who is cancelled meanwhile leaves it to threads."""
        limit_s = self.timeout if timeout is None else timeout
        check_seconds("timeout", limit_s)
        if self.desk.is_closed:
            return
        try:
            if self._producer is not None:
                await self._producer.close(limit_s)
        finally:
            await asyncio.shield(asyncio.to_thread(self.desk.close, limit_s))
        self.desk.raise_failures()

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
            error.add_note(f"when the queue was closed: {late}")


def _settle(told: asyncio.Future[ClientError | None], error: ClientError | None) -> None:
    if not told.done():
        told.set_result(error)


def _wake(loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
    _call_soon(loop, woken.set)


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *given: Any) -> None:
    """A loop that was closed has nobody left who waits."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call, *given)
