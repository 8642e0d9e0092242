"""Queues on clusters that lose brokers: what was put is done, and what is done stays done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from tests.lanes import cases

from penstock import Queue
from penstock.sdk import Job, LockLost, PenstockError, TimedOut
from penstock.testing import Cluster

WAIT_S = 100.0
PARTITIONS = 3
AHEAD_MAX = 200
"""Jobs that may wait: more would only have to be worked off in the end."""


class Ledger:
    """What was put, what was done, and what came again though it was done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.put: set[str] = set()
        self.done: set[str] = set()
        self.again: list[str] = []
        self.unsure: set[str] = set()
        """Nobody can say whether these were stored as done: they may come again."""
        self.refusals: list[str] = []
        self.errors: list[BaseException] = []

    def note_put(self, value: str) -> None:
        with self._lock:
            self.put.add(value)

    def work(self, job: Job[str]) -> None:
        with self._lock:
            if job.value in self.done:
                self.again.append(f"{job!r}")
        try:
            job.ack()
        except (LockLost, TimedOut) as error:
            with self._lock:
                self.refusals.append(f"{job!r}: {error}")
                if getattr(error, "may_be_stored", True):
                    self.unsure.add(job.value)
        else:
            with self._lock:
                self.done.add(job.value)


class Load:
    """One that puts, and some that work, until they are told to stop."""

    def __init__(self, bootstrap: str, topic: str, workers: int) -> None:
        self.ledger = Ledger()
        self._is_over = threading.Event()
        self._source: Queue[str] = Queue(bootstrap, topic)
        self._queues: list[Queue[str]] = [Queue(bootstrap, topic) for _ in range(workers)]
        self._threads = [threading.Thread(target=self._run, args=(self._put,))]
        self._threads += [
            threading.Thread(target=self._run, args=(lambda queue=each: self._work(queue),))
            for each in self._queues
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:
            self.ledger.errors.append(error)

    def _put(self) -> None:
        number = 0
        while not self._is_over.is_set():
            if len(self.ledger.put) - len(self.ledger.done) > AHEAD_MAX:
                time.sleep(0.01)
                continue
            values = [str(number + each) for each in range(20)]
            number += len(values)
            sent = [(value, self._source.put_nowait(value)) for value in values]
            for value, sending in sent:
                try:
                    sending.result(WAIT_S)
                except PenstockError:
                    continue
                self.ledger.note_put(value)

    def _work(self, queue: Queue[str]) -> None:
        for job in queue:
            self.ledger.work(job)

    def wait_for(self, count: int) -> None:
        """So many more are done."""
        target = len(self.ledger.done) + count
        deadline = time.monotonic() + WAIT_S
        while len(self.ledger.done) < target:
            assert not self.ledger.errors, self.ledger.errors
            assert time.monotonic() < deadline, f"{len(self.ledger.done)} of {target} are done"
            time.sleep(0.02)

    def finish(self) -> Ledger:
        """Everything that was put is done, or this takes too long."""
        ledger = self.ledger
        self._is_over.set()
        self._threads[0].join(WAIT_S)
        deadline = time.monotonic() + WAIT_S
        while not ledger.put - ledger.done <= ledger.unsure and time.monotonic() < deadline:
            time.sleep(0.02)
        for queue in self._queues:
            queue.stop()
        for thread in self._threads:
            thread.join(WAIT_S)
        for queue in [self._source, *self._queues]:
            queue.close()
        return self.ledger


def check(ledger: Ledger, bootstrap: str, topic: str) -> None:
    assert not ledger.errors
    assert not ledger.again
    with Queue(bootstrap, topic, idle_timeout=3.0) as queue:
        for job in queue:
            ledger.work(job)
    assert not ledger.again
    missing = ledger.put - ledger.done - ledger.unsure
    assert not missing, "\n".join(ledger.refusals)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", cases(["kill", "stop", "pause"], ["kill"]))
def test_brokers_that_go_take_no_job_with_them_and_bring_none_back(
    penstock_cluster: Callable[..., Cluster], way: str
) -> None:
    cluster = penstock_cluster(3)
    Queue.ensure(cluster.bootstrap, "jobs", partitions=PARTITIONS, replicas=3)
    load = Load(cluster.bootstrap, "jobs", workers=3)
    load.wait_for(200)
    for partition in range(2):
        leader = cluster.leader_of("jobs", partition)
        getattr(leader, way)()
        load.wait_for(100)
        leader.mend()
        load.wait_for(100)
    check(load.finish(), cluster.bootstrap, "jobs")


def test_what_comes_from_more_leaders_than_it_was_asked_of_is_given_back_and_does_not_count(
    penstock_cluster: Callable[..., Cluster],
) -> None:
    cluster = penstock_cluster(3)
    Queue.ensure(cluster.bootstrap, "jobs", partitions=6, replicas=1)
    with Queue(cluster.bootstrap, "jobs") as queue:
        queue.put_many([str(number) for number in range(60)])
        slow, member = queue.get(WAIT_S), queue.desk.member()
        deadline = time.monotonic() + WAIT_S
        while member.held_count > 1:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        others = [queue.get(WAIT_S) for _ in range(59)]
        assert {each.delivery_count for each in others} == {1}
        assert {slow.value, *(each.value for each in others)} == {str(n) for n in range(60)}
        for each in [slow, *others]:
            each.ack()


def test_a_worker_with_a_slow_job_keeps_nothing_from_others(
    penstock_cluster: Callable[..., Cluster],
) -> None:
    cluster = penstock_cluster(3)
    Queue.ensure(cluster.bootstrap, "jobs", partitions=6, replicas=1)
    with Queue(cluster.bootstrap, "jobs") as slow, Queue(cluster.bootstrap, "jobs") as quick:
        quick.put_many([str(number) for number in range(60)])
        job = slow.get(WAIT_S)
        others = [quick.get(WAIT_S) for _ in range(59)]
        assert {each.delivery_count for each in others} == {1}
        assert {job.value, *(each.value for each in others)} == {str(n) for n in range(60)}
        for each in [job, *others]:
            each.ack()
