"""Workers: what becomes of jobs whose handlers return, raise, reject, and are told to stop."""

from __future__ import annotations

import logging
import signal
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Queue
from penstock.sdk import Empty, Job, Json, Misconfigured, Reject

WAIT_S = 30.0

Make = Callable[..., Queue[Any]]


def test_every_job_is_done_once_by_so_many_at_a_time(make: Make) -> None:
    make().put_many([str(number) for number in range(100)])
    queue, seen = make(), Counter[str]()
    together, at_once = threading.Barrier(4), threading.local()

    def handle(job: Job[str]) -> None:
        if not hasattr(at_once, "has_met"):
            together.wait(WAIT_S)  # four jobs are under way at the same time, or this fails
            at_once.has_met = True
        seen[job.value] += 1
        if len(seen) == 100:
            queue.stop()

    assert queue.work(handle, concurrency=4) == 100
    assert set(seen.values()) == {1}
    with pytest.raises(Empty):
        make().get(0.6)


def test_a_job_that_fails_comes_again_and_the_failure_is_logged_with_its_place(
    make: Make, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    queue = make()
    queue.put("shaky")
    counts = []

    def handle(job: Job[str]) -> None:
        counts.append(job.delivery_count)
        if len(counts) < 3:
            raise RuntimeError("no luck")
        queue.stop()

    with caplog.at_level(logging.ERROR, "penstock.sdk"):
        assert queue.work(handle, concurrency=2, backoff=0.01) == 3
    assert counts == [1, 2, 3]
    assert f"job at {name}-0, offset 0 has failed (delivery 1)" in caplog.text
    assert "no luck" in caplog.text


def test_a_job_that_fails_waits_before_it_comes_again(make: Make) -> None:
    queue = make()
    queue.put("shaky")

    def fail(job: Job[str]) -> None:
        queue.stop()
        raise RuntimeError("no luck")

    assert queue.work(fail, concurrency=1, backoff=3600) == 1
    with pytest.raises(Empty):
        make().get(0.6)


def test_a_job_that_is_rejected_does_not_come_again(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    queue = make()
    queue.put_many(["bad", "good"])
    seen = []

    def handle(job: Job[str]) -> None:
        seen.append(job.value)
        if len(seen) == 2:
            queue.stop()
        if job.value == "bad":
            raise Reject("it makes no sense")

    queue.work(handle, concurrency=1)
    assert sorted(seen) == ["bad", "good"]
    assert "was rejected: it makes no sense" in caplog.text
    with pytest.raises(Empty):
        make().get(0.6)


def test_a_handler_may_say_it_itself(make: Make) -> None:
    queue = make()
    queue.put("mine")

    def handle(job: Job[str]) -> None:
        job.ack()
        queue.stop()
        raise RuntimeError("too late to matter")

    assert queue.work(handle) == 1
    with pytest.raises(Empty):
        make().get(0.6)


def test_what_cannot_be_read_is_logged_and_others_are_done(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    make().put_many(["no json", "7"])
    queue, seen = make(serializer=Json(int)), []

    def handle(job: Job[int]) -> None:
        seen.append(job.value)
        if "cannot be deserialized" in caplog.text:
            queue.stop()
        else:
            raise RuntimeError("once more")

    queue.work(handle, concurrency=1, backoff=0.01)
    assert set(seen) == {7}


def test_stop_from_a_signal_lets_jobs_that_were_begun_be_done(make: Make) -> None:
    queue = make()
    queue.put("begun")
    before = signal.signal(signal.SIGUSR1, lambda *_: queue.stop())
    done = []

    def handle(job: Job[str]) -> None:
        signal.raise_signal(signal.SIGUSR1)  # which the main thread serves
        while not queue.desk.is_stopped:
            threading.Event().wait(0.01)
        done.append(job.value)

    try:
        assert queue.work(handle, concurrency=3) == 1
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert done == ["begun"]
    with pytest.raises(Empty):
        make().get(0.6)


def test_what_ends_the_program_ends_all_workers_and_gives_the_job_back(make: Make) -> None:
    queue = make()
    queue.put("fatal")

    def handle(job: Job[str]) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        queue.work(handle, concurrency=2)
    assert make().get(WAIT_S).delivery_count == 2


def test_a_handler_that_nobody_awaits_is_refused_and_its_job_comes_again(make: Make) -> None:
    queue = make()
    queue.put("precious")

    async def handle(_: Job[str]) -> None: ...

    with pytest.raises(Misconfigured, match="AsyncQueue"):
        queue.work(handle, concurrency=2)
    job = make().get(WAIT_S)
    assert (job.value, job.delivery_count) == ("precious", 2)


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"backoff": -1}])
def test_arguments_that_cannot_be_are_said(make: Make, options: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured):
        make().work(print, **options)


@pytest.mark.parametrize("handler", ["handler", None])
def test_what_is_no_handler_is_given_no_job(make: Make, handler: Any) -> None:
    with pytest.raises(Misconfigured, match="handler"):
        make().work(handler)
