"""Jobs: put, given to one worker, and gone when they are done."""

from __future__ import annotations

import queue as standard
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Queue
from penstock.sdk import (
    Empty,
    Job,
    Json,
    LockLost,
    Misconfigured,
    NotDeserializable,
    PenstockError,
    TopicNotFound,
    Unreachable,
)
from penstock.testing import Broker

WAIT_S = 30.0
SHORT_S = 0.6
"""To find that nothing comes: longer than a fetch waits."""

Make = Callable[..., Queue[Any]]


def test_what_was_put_before_the_first_worker_came_is_given_out(make: Make) -> None:
    place = make().put("a book", key="anna", tags={"region": "eu"})
    job = make().get(WAIT_S)
    assert (job.value, job.key, job.tags) == ("a book", "anna", {"region": "eu"})
    assert (job.topic, job.partition, job.offset) == (place.topic, place.partition, place.offset)
    assert job.delivery_count == 1
    assert job.timestamp is not None
    assert job.headers == [("region", b"eu")]


def test_a_job_that_was_acknowledged_does_not_come_again(make: Make) -> None:
    queue = make()
    queue.put("once")
    queue.get(WAIT_S).ack()
    queue.close()
    with pytest.raises(Empty):
        make().get(SHORT_S)


def test_who_waits_in_vain_gets_what_the_standard_queue_raises(make: Make) -> None:
    with pytest.raises(standard.Empty):
        make().get(0.1)


def test_a_job_that_was_given_back_comes_again_and_counts(make: Make) -> None:
    queue = make()
    queue.put("again")
    for number in (1, 2, 3):
        job = queue.get(WAIT_S)
        assert job.delivery_count == number
        job.nack()
    queue.get(WAIT_S).ack()


def test_a_job_may_have_to_wait_before_it_comes_again(make: Make) -> None:
    queue = make()
    queue.put("first")
    job = queue.get(WAIT_S)
    job.nack(delay=3600)
    queue.put("second")
    assert queue.get(WAIT_S).value == "second"
    with pytest.raises(Empty):
        queue.get(SHORT_S)


def test_a_delay_ends(make: Make) -> None:
    queue = make()
    queue.put("later")
    queue.get(WAIT_S).nack(delay=0.2)
    assert queue.get(WAIT_S).delivery_count == 2


def test_a_job_that_was_rejected_does_not_come_again(make: Make) -> None:
    queue = make()
    queue.put("bad")
    queue.get(WAIT_S).reject()
    queue.put("good")
    assert queue.get(WAIT_S).value == "good"
    with pytest.raises(Empty):
        queue.get(SHORT_S)


def test_the_queue_takes_jobs_as_the_job_itself_does(make: Make) -> None:
    queue = make()
    queue.put_many(["a", "b"])
    first, second = queue.get(WAIT_S), queue.get(WAIT_S)
    queue.ack(first)
    queue.nack(second)
    again = queue.get(WAIT_S)
    assert (again.value, again.delivery_count) == (second.value, 2)
    queue.renew(again)
    queue.reject(again)


def test_a_job_is_acknowledged_once(make: Make) -> None:
    queue = make()
    queue.put("one")
    job = queue.get(WAIT_S)
    job.ack()
    with pytest.raises(Misconfigured, match="acknowledged before"):
        job.nack()


def test_two_workers_share_a_partition_and_no_job_is_lost_or_given_twice(make: Make) -> None:
    wanted = [str(number) for number in range(400)]
    make().put_many(wanted)
    seen: list[tuple[int, str]] = []

    def work(number: int, queue: Queue[str]) -> None:
        for job in queue:
            seen.append((number, job.value))
            job.ack()

    queues = [make(idle_timeout=3.0, prefetch=4) for _ in range(2)]
    threads = [threading.Thread(target=work, args=each) for each in enumerate(queues)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert sorted(value for _, value in seen) == sorted(wanted)
    assert len(Counter(number for number, _ in seen)) == 2


def test_jobs_do_not_wait_for_one_that_takes_long(make: Make) -> None:
    queue = make()
    queue.put_many([str(number) for number in range(20)])
    slow = queue.get(WAIT_S)
    for _ in range(19):
        queue.get(WAIT_S).ack()
    slow.ack()


def test_many_are_taken_and_acknowledged_without_waiting(make: Make) -> None:
    queue = make(prefetch=100)
    queue.put_many([str(number) for number in range(300)])
    count = 0
    while count < 300:
        for job in queue.get_many(100, WAIT_S):
            job.ack(wait=False)
            count += 1
    queue.flush()
    queue.close()
    with pytest.raises(Empty):
        make().get(SHORT_S)


def test_groups_each_do_all_of_it(make: Make) -> None:
    make().put("for everybody")
    assert make(group="mails").get(WAIT_S).value == "for everybody"
    assert make(group="bills").get(WAIT_S).value == "for everybody"


def test_values_are_of_their_type(make: Make) -> None:
    queue = make(serializer=Json(dict[str, int]))
    queue.put({"sum": 12})
    assert queue.get(WAIT_S).value == {"sum": 12}


def test_what_cannot_be_read_is_raised_and_comes_again_to_others(make: Make) -> None:
    writer = make()
    writer.put_many(["no json", "1"])
    reader = make(serializer=Json(int))
    with pytest.raises(NotDeserializable, match="cannot be deserialized") as failed:
        reader.get(WAIT_S)
    assert failed.value.data == b"no json"
    reader.close()
    found = {writer.get(WAIT_S).value, writer.get(WAIT_S).value}
    assert found == {"no json", "1"}


def test_what_cannot_be_read_keeps_nobody_from_the_others(make: Make) -> None:
    make().put_many(["1", "no json", "3"])
    reader, found, failures = make(serializer=Json(int)), set[int](), 0
    while len(found) < 2 or not failures:
        try:
            found |= {job.value for job in reader.get_many(10, WAIT_S)}
        except NotDeserializable:
            failures += 1
    assert found == {1, 3}


def test_what_a_closed_queue_held_goes_to_others_at_once_and_does_not_count(make: Make) -> None:
    first = make()
    first.put("one")
    first.get(WAIT_S)
    first.close()
    assert make().get(WAIT_S).delivery_count == 1


def test_stop_ends_iteration(make: Make) -> None:
    queue = make()
    queue.put("only")
    found = []
    for job in queue:
        found.append(job.value)
        job.ack()
        queue.stop()
    assert found == ["only"]
    with pytest.raises(Empty, match="stopped"):
        queue.get()


def test_stop_wakes_who_waits(make: Make) -> None:
    queue = make()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(queue))
    thread.start()
    queue.stop()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert not found


# What is said when it cannot be.


def test_a_topic_that_is_not_there_is_said(penstock_broker: Broker) -> None:
    with Queue(penstock_broker.bootstrap, "no-such-queue") as queue, pytest.raises(TopicNotFound):
        queue.get(1)


def test_no_broker_is_said() -> None:
    with Queue("127.0.0.1:1", "t", timeout=2) as queue, pytest.raises(Unreachable):
        queue.get(1)


def test_a_group_of_another_kind_is_said(penstock_broker: Broker, name: str) -> None:
    group = f"{name}-readers"
    consumer = penstock_broker.consumer(name, group=group)
    consumer.poll(1.0)
    queue: Queue[str] = Queue(penstock_broker.bootstrap, name, group=group)
    with queue, pytest.raises(PenstockError, match="consumer group"):
        queue.get(1)


def test_a_view_is_said(penstock_broker: Broker, name: str) -> None:
    consumer = penstock_broker.consumer(name, group=f"{name}-eu", where="region = 'eu'")
    consumer.poll(1.0)
    (view,) = [
        each.name
        for each in penstock_broker.admin.topics.list()
        if each.name.startswith(f"{name}.where-")
    ]
    queue: Queue[str] = Queue(penstock_broker.bootstrap, view)
    with queue, pytest.raises(Misconfigured, match=f"view.*{name}"):
        queue.get(1)


def test_a_closed_queue_says_so(make: Make) -> None:
    queue = make()
    queue.put("x")
    job = queue.get(WAIT_S)
    queue.close()
    for call in (queue.get, job.ack, lambda: queue.put("y"), job.renew):
        with pytest.raises(PenstockError, match="closed"):
            call()
    queue.close()


@pytest.mark.parametrize(
    "options",
    [
        {"group": ""},
        {"prefetch": -1},
        {"timeout": -1},
        {"max_processing": "long"},
        {"start": "now"},
        {"serializer": Json},
        {"idle_timeout": -1},
    ],
)
def test_arguments_that_cannot_be_are_said(make: Make, options: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured):
        make(**options)


def test_a_delay_that_cannot_be_is_said_and_the_job_stays_ours(make: Make) -> None:
    queue = make()
    queue.put("x")
    job: Job[str] = queue.get(WAIT_S)
    for delay in (-1.0, 1e12):
        with pytest.raises(Misconfigured, match="delay"):
            job.nack(delay=delay)
    job.ack()


def test_no_job_is_said(make: Make) -> None:
    with pytest.raises(Misconfigured, match="no job"):
        make().ack("job")  # type: ignore[arg-type]


def test_a_failure_that_nobody_waited_for_is_raised_by_a_later_call(
    penstock_fresh_broker: Broker,
) -> None:
    name = "late"
    Queue.ensure(penstock_fresh_broker.bootstrap, name, partitions=1)
    queue = Queue(penstock_fresh_broker.bootstrap, name)
    queue.put("x")
    job = queue.get(WAIT_S)
    penstock_fresh_broker.pause()
    job.ack(wait=False)
    penstock_fresh_broker.kill()
    with pytest.raises(LockLost, match="a job that was acknowledged") as failed:
        queue.flush(WAIT_S)
    assert failed.value.code == "INVALID_RECORD_STATE"
    penstock_fresh_broker.restart()
    again = queue.get(WAIT_S)
    assert again.value == "x"
    again.ack()
    queue.close()
