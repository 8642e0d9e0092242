"""Locks: kept for what is being worked on, and ended for what nobody works on any more."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import Queue
from penstock.sdk import Empty, LockLost, Misconfigured
from penstock.testing import Broker, running_broker

WAIT_S = 30.0
LOCK_S = 1.0
SETTINGS = {"group.share.min.record.lock.duration.ms": 1000}


@pytest.fixture(scope="module")
def quick() -> Iterator[Broker]:
    """A broker whose locks may be short."""
    with running_broker(SETTINGS) as broker:
        yield broker


@pytest.fixture
def make(quick: Broker, request: pytest.FixtureRequest) -> Iterator[Callable[..., Queue[Any]]]:
    made: list[Queue[Any]] = []
    name = request.node.name[:100]
    Queue.ensure(quick.bootstrap, name, partitions=1, lock=LOCK_S, max_deliveries=5)

    def queue(**options: Any) -> Queue[Any]:
        made.append(Queue(quick.bootstrap, name, **options))
        return made[-1]

    yield queue
    for each in made:
        each.close()


def wait_for(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.01)


def test_a_job_that_takes_longer_than_its_lock_stays_ours(
    make: Callable[..., Queue[Any]],
) -> None:
    queue, other = make(), make()
    queue.put("long")
    job = queue.get(WAIT_S)
    first_s = job.held.locked_until_s
    wait_for(lambda: job.held.locked_until_s > first_s + 2 * LOCK_S, "three renewals")
    with pytest.raises(Empty):
        other.get(0.1)
    job.ack()


def test_a_job_that_nobody_has_any_more_comes_to_others(make: Callable[..., Queue[Any]]) -> None:
    queue, other = make(), make()
    queue.put("dropped")
    job = queue.get(WAIT_S)
    del job
    gc.collect()
    again = other.get(WAIT_S)
    assert again.delivery_count == 2
    wait_for(lambda: not queue.desk.member().held_count, "nobody remembers it")
    again.ack()


def test_locks_are_renewed_for_so_long_and_then_the_job_is_ours_no_more(
    make: Callable[..., Queue[Any]],
) -> None:
    queue, other = make(max_processing=0.1), make()
    queue.put("endless")
    job = queue.get(WAIT_S)
    again = other.get(WAIT_S)
    assert (again.value, again.delivery_count) == ("endless", 2)
    with pytest.raises(LockLost, match=r"offset 0.*another worker"):
        job.ack()
    again.ack()


def test_one_lock_that_was_lost_does_not_take_others_with_it(
    make: Callable[..., Queue[Any]],
) -> None:
    """They were acknowledged in one request, which a broker refuses as a whole."""
    queue, other = make(max_processing=0.1, prefetch=10), make()
    queue.put("lost")
    lost = queue.get(WAIT_S)
    again = other.get(WAIT_S)
    queue.put_many([str(number) for number in range(5)])
    kept = [queue.get(WAIT_S) for _ in range(5)]
    for job in [*kept[:3], lost, *kept[3:]]:
        job.ack(wait=False)
    with pytest.raises(LockLost) as failed:
        queue.flush(WAIT_S)
    assert "more" not in str(failed.value)
    again.ack()
    with pytest.raises(Empty):
        make().get(3 * LOCK_S)


def test_renewing_a_job_that_was_lost_says_so(make: Callable[..., Queue[Any]]) -> None:
    queue, other = make(max_processing=0.1), make()
    queue.put("lost")
    job = queue.get(WAIT_S)
    again = other.get(WAIT_S)
    with pytest.raises(LockLost):
        job.renew()
    again.ack()


def test_what_was_prefetched_and_not_taken_goes_to_others_and_does_not_count(
    make: Callable[..., Queue[Any]],
) -> None:
    queue = make(prefetch=50)
    queue.put_many([str(number) for number in range(60)])
    jobs = [queue.get(WAIT_S) for _ in range(30)]
    for job in jobs:
        job.ack()
    member = queue.desk.member()
    wait_for(lambda: len(member.shelf), "records that wait")
    other, counts = make(prefetch=0), list[int]()
    while len(counts) < 30:
        job = other.get(WAIT_S)
        counts.append(job.delivery_count)
        job.ack()
    assert set(counts) == {1}


def test_jobs_that_come_again_after_a_moment_disturb_no_others(quick: Broker) -> None:
    """A pause that is over at once is no timer to the broker's loop."""
    Queue.ensure(quick.bootstrap, "moments", partitions=1)
    with Queue(quick.bootstrap, "moments", prefetch=20) as queue:
        queue.put_many([str(number) for number in range(200)])
        seen: list[tuple[str, int]] = []
        while len(seen) < 400:
            job = queue.get(WAIT_S)
            seen.append((job.value, job.delivery_count))
            if job.delivery_count == 1:
                job.nack(delay=0.001, wait=False)
            else:
                job.ack(wait=False)
        queue.flush(WAIT_S)
    assert sorted(seen) == sorted((str(n), count) for n in range(200) for count in (1, 2))
    assert "Traceback" not in quick.logs


def test_what_was_prefetched_behind_a_slow_job_goes_to_others_and_does_not_count_either(
    make: Callable[..., Queue[Any]],
) -> None:
    """The lock is a longer one than is waited for here: nobody waits for its end."""
    queue = make(prefetch=50)
    Queue.ensure(queue.desk.bootstrap, queue.topic, lock=2 * WAIT_S)
    queue.put_many([str(number) for number in range(60)])
    for _ in range(30):
        queue.get(WAIT_S).ack()
    slow = queue.get(WAIT_S)
    wait_for(lambda: len(queue.desk.member().shelf), "records that wait")
    other, counts = make(prefetch=0), list[int]()
    while len(counts) < 29:
        job = other.get(WAIT_S)
        counts.append(job.delivery_count)
        job.ack()
    assert set(counts) == {1}
    slow.ack()


def test_a_delay_that_brokers_do_not_take_is_refused_before_anything_is_said(
    make: Callable[..., Queue[Any]],
) -> None:
    queue = make()
    queue.put("one")
    job = queue.get(WAIT_S)
    with pytest.raises(Misconfigured, match="more than a day"):
        job.nack(delay=86_401)
    job.ack()


def test_it_takes_none_with_it_either_where_the_queue_is_closed_at_once(
    make: Callable[..., Queue[Any]],
) -> None:
    queue, other = make(max_processing=0.1, prefetch=10), make()
    queue.put("lost")
    lost = queue.get(WAIT_S)
    again = other.get(WAIT_S)
    queue.put_many([str(number) for number in range(5)])
    kept = [queue.get(WAIT_S) for _ in range(5)]
    for job in [*kept[:3], lost, *kept[3:]]:
        job.ack(wait=False)
    with pytest.raises(LockLost) as failed:
        queue.close(WAIT_S)
    assert "more" not in str(failed.value)
    again.ack()
    with pytest.raises(Empty):
        make().get(3 * LOCK_S)
