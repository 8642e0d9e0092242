"""Jobs for workers: each is given to one of them, and is gone when it is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.sdk.arguments import check_size
from penstock.sdk.checks import check_handler, check_seconds, check_whole
from penstock.sdk.errors import Empty, Misconfigured, PenstockError
from penstock.sdk.job import Job
from penstock.sdk.outgoing import HeadersGiven
from penstock.sdk.producer import Producer
from penstock.sdk.queue_desk import Desk, Start, as_our_own, delay_ms_of, translated
from penstock.sdk.queue_settings import make_queue
from penstock.sdk.queue_work import Crew
from penstock.sdk.semantics import Settings
from penstock.sdk.sending import Delivered, Sending
from penstock.sdk.serializers import Serde, text
from penstock.sdk.waiting import Delay
from penstock.sharing.acknowledging import Answer

V = TypeVar("V")


class QueueOptions(TypedDict, total=False):
    """What a queue may be told besides where it is, and how values are made into bytes."""

    group: str | None
    key_serializer: Serde[Any]
    prefetch: int | None
    max_processing: float | None
    start: Start
    idle_timeout: float | None
    timeout: float
    settings: Settings | None


class Queue(Generic[V]):
    """Threads may share it. Putting and getting are connected when they are first done."""

    @overload
    def __init__(
        self: Queue[str], bootstrap: str, topic: str, **options: Unpack[QueueOptions]
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
        group: str | None = None,
        serializer: Serde[Any] = text,
        key_serializer: Serde[Any] = text,
        prefetch: int | None = None,
        max_processing: float | None = None,
        start: Start = "earliest",
        idle_timeout: float | None = None,
        timeout: float = 30.0,
        settings: Settings | None = None,
    ) -> None:
        """`group` is the topic's name, unless several groups are each to do all of it."""
        self.desk = Desk(
            bootstrap,
            topic,
            group,
            serializer,
            key_serializer,
            prefetch=prefetch,
            max_processing=max_processing,
            start=start,
            timeout=timeout,
        )
        if idle_timeout is not None:
            check_seconds("idle_timeout", idle_timeout)
        self.topic, self.group, self.timeout = topic, self.desk.group, timeout
        self.idle_timeout = idle_timeout
        self._making = threading.Lock()
        self._producer: Producer[V] | None = None
        self._make_producer: Callable[[], Producer[V]] = lambda: Producer(
            bootstrap,
            serializer=serializer,
            key_serializer=key_serializer,
            tune="latency",
            timeout=timeout,
            settings=settings,
        )

    @staticmethod
    def ensure(
        bootstrap: str,
        topic: str,
        *,
        group: str | None = None,
        partitions: int | None = None,
        replicas: int | None = None,
        lock: float | None = None,
        max_deliveries: int | None = None,
        dead_letters: bool | str = False,
        delete_on_ack: bool | None = None,
        delays: bool | None = None,
        timeout: float = 30.0,
    ) -> None:
        """Makes what is not there yet of a queue, and sets what is given: how long a job is locked
        (`lock`, seconds), how often it is given out, and where it goes when that was too often
        (`dead_letters`: dlq.TOPIC, or a name). What is not given stays as it is."""
        with WireClient(bootstrap, "penstock-queue", timeout) as client, as_our_own():
            make_queue(
                client,
                topic,
                group or topic,
                partitions=partitions,
                replicas=replicas,
                lock=lock,
                max_deliveries=max_deliveries,
                dead_letters=dead_letters,
                delete_on_ack=delete_on_ack,
                delays=delays,
            )

    # -- putting

    def put(
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
        sending = self.put_nowait(
            value,
            key,
            headers=headers,
            tags=tags,
            delay=delay,
            deliver_at=deliver_at,
            repeat=repeat,
        )
        return sending.result(self.timeout if timeout is None else timeout)

    def put_nowait(
        self,
        value: V,
        key: Any = None,
        *,
        headers: HeadersGiven | None = None,
        tags: Mapping[str, str] | None = None,
        delay: Delay | None = None,
        deliver_at: datetime | None = None,
        repeat: str | None = None,
    ) -> Sending:
        """Takes it, as `Producer.send` does: what fails is raised by a later call, if nobody asks
        the Sending."""
        return self.producer.send(
            self.topic,
            value,
            key,
            headers=headers,
            tags=tags,
            delay=delay,
            deliver_at=deliver_at,
            repeat=repeat,
        )

    def put_many(self, values: Iterable[V], timeout: float | None = None) -> list[Delivered]:
        """Returns when all replicas have all of them."""
        sent = [self.put_nowait(value) for value in values]
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        return [each.result(max(0.0, deadline - time.monotonic())) for each in sent]

    @property
    def producer(self) -> Producer[V]:
        self.desk.check_open()
        with self._making:
            if self._producer is None:
                self._producer = self._make_producer()
            return self._producer

    # -- getting

    def get(self, timeout: float | None = None) -> Job[V]:
        """The next job; waits for it for ever, or for so many seconds, and raises Empty then."""
        return self.get_many(1, timeout)[0]

    def get_many(self, most: int, timeout: float | None = None) -> list[Job[V]]:
        """What there is, but one at least: it is waited for as `get` does."""
        check_size(most)
        if timeout is not None:
            check_seconds("timeout", timeout)
        self.desk.raise_failures()
        if self.desk.is_stopped:
            raise Empty("the queue was stopped")
        with as_our_own():
            found = self.desk.member().wait(most, timeout)
        if not found:
            raise Empty(f"no job has come from topic {self.topic} in {timeout} s")
        return self.desk.read_all(Job, found, self)

    def __iter__(self) -> Iterator[Job[V]]:
        """One after the other, until `stop`, or until none has come for `idle_timeout` seconds."""
        while True:
            try:
                job = self.get(self.idle_timeout)
            except Empty:
                return
            yield job

    def work(
        self, handler: Callable[[Job[V]], object], *, concurrency: int = 8, backoff: float = 1.0
    ) -> int:
        """Calls the handler with each job, in so many threads, until `stop`; how many there were.

        A job is acknowledged when the handler has returned. If it has raised Reject, the job is
        rejected; with any other exception it comes again, after `backoff` seconds the first time,
        and twice as many each further time.
        """
        check_handler(handler)
        check_whole("concurrency", concurrency, 1, 10_000)
        check_seconds("backoff", backoff)
        return Crew(self, handler, concurrency, backoff).run()

    def stop(self) -> None:
        """No more jobs are given out: `work` returns when those are done that were begun, waiting
        and iteration end. A signal handler may call it."""
        self.desk.stop()

    # -- what has become of a job

    def ack(self, job: Job[V], *, wait: bool = True) -> None:
        self._say(job, Answer.ACCEPT, 0, wait)

    def nack(self, job: Job[V], *, delay: float = 0.0, wait: bool = True) -> None:
        self._say(job, Answer.RELEASE, delay_ms_of(delay), wait)

    def reject(self, job: Job[V], *, wait: bool = True) -> None:
        self._say(job, Answer.REJECT, 0, wait)

    def renew(self, job: Job[V]) -> None:
        self._say(job, Answer.RENEW, 0, wait=True)

    def flush(self, timeout: float | None = None) -> None:
        """Returns when all that was put and acknowledged without waiting is stored; raises what was
        not."""
        limit_s = self.timeout if timeout is None else timeout
        check_seconds("timeout", limit_s)
        if self._producer is not None:
            self._producer.flush(limit_s)
        self.desk.flush(limit_s)

    def _say(self, job: Job[V], answer: Answer, delay_ms: int, wait: bool) -> None:
        self.desk.raise_failures()
        if not isinstance(job, Job):
            raise Misconfigured(f"{job!r} is no job: give one that `get` has returned")
        if not wait:
            self.desk.say(job.held, answer, delay_ms, None)
            return
        told: Future[ClientError | None] = Future()
        self.desk.say(job.held, answer, delay_ms, told.set_result)
        try:
            failure = told.result(self.timeout)
        except Late:
            raise self.desk.unanswered(job.held) from None
        if failure is not None:
            raise translated(failure, self.desk.place_of(job.held))

    # -- the end

    def close(self, timeout: float | None = None) -> None:
        """Stores what was put and acknowledged; jobs in hand go to others."""
        if self.desk.is_closed:
            return
        limit_s = self.timeout if timeout is None else timeout
        check_seconds("timeout", limit_s)
        try:
            if self._producer is not None:
                self._producer.close(limit_s)
        finally:
            self.desk.close(limit_s)
        self.desk.raise_failures()

    def __del__(self) -> None:
        if "desk" in self.__dict__ and not self.desk.is_closed:
            self.desk.abandon()

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
            error.add_note(f"when the queue was closed: {late}")
