"""Workers of a queue: threads, each of which does one job after the other."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.client.errors import ClientError
from penstock.client.share_held import OnDone
from penstock.sdk.checks import check_outcome
from penstock.sdk.errors import Empty, NotDeserializable, PenstockError
from penstock.sdk.job import Facts, Job, Reject
from penstock.sharing.acknowledging import Answer

if TYPE_CHECKING:
    from penstock.sdk.queue import Queue

V = TypeVar("V")

BACKOFF_S_MAX = 300.0
JOIN_S = 0.2
"""One wait for a thread: signals are served between two."""

log = logging.getLogger("penstock.sdk")


class Crew(Generic[V]):
    def __init__(
        self,
        queue: Queue[V],
        handler: Callable[[Job[V]], object],
        concurrency: int,
        backoff_s: float,
    ) -> None:
        self._queue = queue
        self._handler = handler
        self._backoff_s = backoff_s
        self._concurrency = concurrency
        self._count = 0
        self._counting = threading.Lock()
        self._failure: BaseException | None = None

    def run(self) -> int:
        """Whatever ends it, jobs that were begun are done first."""
        queue = self._queue
        queue.desk.prefer_prefetch(2 * self._concurrency)
        threads = [
            threading.Thread(target=self._work, name=f"penstock-worker-{number}", daemon=True)
            for number in range(1, self._concurrency + 1)
        ]
        for thread in threads:
            thread.start()
        try:
            _join(threads)
        except BaseException:
            queue.stop()
            _join(threads)
            raise
        queue.flush()
        if self._failure is not None:
            raise self._failure
        return self._count

    def _work(self) -> None:
        try:
            while not self._queue.desk.is_stopped:
                self._do_next()
        except Empty:
            pass
        except BaseException as error:
            self._failure = self._failure or error
            self._queue.stop()

    def _do_next(self) -> None:
        try:
            job = self._queue.get(self._queue.idle_timeout)
        except NotDeserializable as error:
            log.error("%s", error)
            return
        answer, delay_ms = Answer.RELEASE, 0
        try:
            answer, delay_ms = self._do(job)
        finally:
            settle(self._queue.desk, job, answer, delay_ms)
        with self._counting:
            self._count += 1

    def _do(self, job: Job[V]) -> tuple[Answer, int]:
        """What to say of it. Only what ends the program is raised."""
        try:
            outcome = self._handler(job)
        except Exception as error:
            return verdict(job, error, self._backoff_s)
        check_outcome(self._handler, outcome)
        return Answer.ACCEPT, 0


def verdict(job: Facts[Any], error: Exception, backoff_s: float) -> tuple[Answer, int]:
    """On a job whose handler has failed."""
    about = f"job at {job.topic}-{job.partition}, offset {job.offset}"
    if isinstance(error, Reject):
        log.error("%s was rejected: %s", about, error)
        return Answer.REJECT, 0
    pause_s = min(backoff_s * 2 ** min(job.delivery_count - 1, 30), BACKOFF_S_MAX)
    log.error(
        "%s has failed (delivery %d), and comes again: %r",
        about,
        job.delivery_count,
        error,
        exc_info=error,
    )
    return Answer.RELEASE, round(pause_s * 1000)


def settle(desk: Any, job: Facts[Any], answer: Answer, delay_ms: int) -> None:
    """Nobody waits for it: what goes wrong is logged, as the job is done all the same."""
    if job.held.phase.name in ("SAID", "DONE"):  # the handler has said it itself
        return
    try:
        desk.say(job.held, answer, delay_ms, _logged(job))
    except PenstockError as error:
        log.warning("%s", error)


def _logged(job: Facts[Any]) -> OnDone:
    def done(error: ClientError | None) -> None:
        if error is not None:
            log.warning(
                "job at %s-%d, offset %d, was done, but that could not be stored, so it comes "
                "again: %s",
                job.topic,
                job.partition,
                job.offset,
                error.said,
            )

    return done


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        while thread.is_alive():
            thread.join(JOIN_S)
