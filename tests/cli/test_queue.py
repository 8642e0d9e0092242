"""`penstock queue`: what waits, what is next, what was given up and is sent back, and dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock, run
from tests.group_stage import wait_until

from penstock import Consumer, Producer, Queue
from penstock.client.cluster import WireClient
from penstock.sdk import redriving
from penstock.sdk.redriving import Letters
from penstock.testing import running_cluster

LIMIT_S = 60


def stats(penstock: Penstock, topic: str) -> Any:
    return json.loads(penstock("queue", "stats", topic, "--json").stdout)


def documents(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def letters_are(penstock: Penstock, topic: str, count: int) -> bool:
    (group,) = stats(penstock, topic)["groups"]
    return bool(group["dead_letters"]["count"] == count)


@pytest.fixture
def jobs(broker: BrokerProcess, penstock: Penstock, topic: str) -> str:
    """A queue with ten jobs, of which two were rejected, three were done, and five wait."""
    Queue.ensure(broker.address, topic, partitions=1, dead_letters=True)
    with Queue(broker.address, topic) as queue:
        for number in range(10):
            queue.put(f"job {number}", key=f"k{number}", tags={"number": str(number)})
        for number in range(5):
            job = queue.get(timeout=LIMIT_S)
            assert job.value == f"job {number}"
            job.reject() if number < 2 else job.ack()
    wait_until(lambda: letters_are(penstock, topic, 2), "two letters are written")
    return topic


def test_what_waits_is_told_for_each_group(penstock: Penstock, jobs: str) -> None:
    told = {
        "group": jobs,
        "state": "Empty",
        "members": 0,
        "waiting": 5,
        "partitions": [{"partition": 0, "start": 5, "waiting": 5}],
        "dead_letters": {"topic": f"dlq.{jobs}", "count": 2, "copies": True},
    }
    assert stats(penstock, jobs) == {"queue": jobs, "groups": [told]}
    shown = penstock("queue", "stats", jobs).stdout.splitlines()[1].split()
    assert shown == [jobs, "Empty", "0", "5", "2", f"dlq.{jobs}"]


def test_the_next_messages_are_shown_and_not_taken(penstock: Penstock, jobs: str) -> None:
    for _ in range(2):
        assert penstock("queue", "peek", jobs, "--count", "2").stdout == "job 5\njob 6\n"
    shown = documents(penstock("queue", "peek", jobs, "--json").stdout)
    assert [each["offset"] for each in shown] == [5, 6, 7, 8, 9]


def test_dead_letters_are_shown_with_their_cause(penstock: Penstock, jobs: str) -> None:
    shown = documents(penstock("queue", "peek", jobs, "--dead", "--json").stdout)
    assert [each["value"] for each in shown] == ["job 0", "job 1"]
    headers = {each["key"]: each["value"] for each in shown[1]["headers"]}
    assert headers["__dlq.errors.topic"] == jobs
    assert headers["__dlq.errors.offset"] == "1"
    assert headers["__dlq.errors.message"]


def test_dead_letters_are_sent_back_once(
    broker: BrokerProcess, penstock: Penstock, jobs: str
) -> None:
    done = penstock("queue", "redrive", jobs, "--yes")
    assert done.stdout == f"sent 2 dead letters back to {jobs}\n", done.output
    assert letters_are(penstock, jobs, 0)
    again = penstock("queue", "redrive", jobs, "--yes")
    assert again.exit_code == 1
    assert "no dead letters" in again.stderr
    with Queue(broker.address, jobs) as queue:
        got = [queue.get(timeout=LIMIT_S) for _ in range(7)]
        assert [job.value for job in got] == [*(f"job {n}" for n in range(5, 10)), "job 0", "job 1"]
        assert (got[-1].key, got[-1].tags) == ("k1", {"number": "1"})
        for job in got:
            job.ack()


def test_markers_of_transactions_are_no_messages_that_wait(
    broker: BrokerProcess, penstock: Penstock, jobs: str
) -> None:
    """Letters are sent back in a transaction, whose marker lies behind them."""
    assert penstock("queue", "redrive", jobs, "--yes").exit_code == 0
    assert stats(penstock, jobs)["groups"][0]["waiting"] == 7
    with Queue(broker.address, jobs) as queue:
        for _ in range(6):
            queue.get(timeout=LIMIT_S).ack()
        assert stats(penstock, jobs)["groups"][0]["waiting"] == 1
        queue.get(timeout=LIMIT_S).ack()
    assert stats(penstock, jobs)["groups"][0]["waiting"] == 0
    dropped = penstock("queue", "purge", jobs, "--yes", "--json")
    assert json.loads(dropped.stdout)["dropped"] == 12


def test_letters_of_another_queue_stay_where_they_are(
    broker: BrokerProcess, penstock: Penstock, jobs: str
) -> None:
    other = f"{jobs}.other"
    Queue.ensure(broker.address, other, partitions=1, dead_letters=f"dlq.{jobs}")
    with Queue(broker.address, other) as queue:
        queue.put("mine")
        queue.get(timeout=LIMIT_S).reject()
    wait_until(lambda: letters_are(penstock, jobs, 3), "the letter of the other is there, too")
    done = json.loads(penstock("queue", "redrive", other, "--yes", "--json").stdout)
    assert done == {"queue": other, "group": other, "sent": 1, "left": 2}
    done = json.loads(penstock("queue", "redrive", jobs, "--yes", "--json").stdout)
    assert done == {"queue": jobs, "group": jobs, "sent": 2, "left": 1}
    shown = documents(penstock("queue", "peek", jobs, "--dead", "--json").stdout)
    assert [each["value"] for each in shown] == ["mine"], "what lies before it is gone"


def test_letters_that_an_earlier_redrive_has_left_stay_there_for_good(
    broker: BrokerProcess, penstock: Penstock, jobs: str
) -> None:
    other = f"{jobs}.other"
    Queue.ensure(broker.address, other, partitions=1, dead_letters=f"dlq.{jobs}")
    with Queue(broker.address, other) as queue:
        for count in (3, 4):
            queue.put("mine")
            queue.get(timeout=LIMIT_S).reject()
            wait_until(lambda count=count: letters_are(penstock, jobs, count), "it is there")  # type: ignore[misc]
            done = json.loads(penstock("queue", "redrive", other, "--yes", "--json").stdout)
            assert done["sent"] == 1
            queue.get(timeout=LIMIT_S).ack()
    done = json.loads(penstock("queue", "redrive", jobs, "--yes", "--json").stdout)
    assert done == {"queue": jobs, "group": jobs, "sent": 2, "left": 2}


def test_letters_that_another_redrive_has_in_hand_are_not_deleted(
    broker: BrokerProcess, penstock: Penstock, jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was killed has them for as long as its session lasts."""
    monkeypatch.setattr(redriving, "IDLE_S", 1.0)
    letters = Letters(f"dlq.{jobs}", jobs, jobs)
    with Consumer(broker.address, f"dlq.{jobs}", group=letters.reader) as killed:
        assert next(iter(killed)).value == "job 0"
        monkeypatch.setattr(redriving, "TAKEN_S_MAX", 2.0)
        done = penstock("queue", "redrive", jobs, "--yes")
        assert done.exit_code == 1
        assert "another redrive" in done.stderr
        assert letters_are(penstock, jobs, 2)
        killed.rewind()
    monkeypatch.undo()
    done = penstock("queue", "redrive", jobs, "--yes")
    assert done.stdout == f"sent 2 dead letters back to {jobs}\n", done.output
    assert letters_are(penstock, jobs, 0)


def test_letters_that_were_sent_back_are_deleted_by_the_next_redrive_if_need_be(
    broker: BrokerProcess, penstock: Penstock, jobs: str
) -> None:
    """As after one that was killed when it had sent them."""
    letters = Letters(f"dlq.{jobs}", jobs, jobs)
    assert redriving.redrive(broker.address, letters, {0: 2}, 1).sent == 2
    assert letters_are(penstock, jobs, 2)
    assert "no dead letters" in penstock("queue", "redrive", jobs, "--yes").stderr
    assert letters_are(penstock, jobs, 0)


def test_all_that_waits_is_dropped_for_a_group(penstock: Penstock, jobs: str) -> None:
    done = penstock("queue", "purge", jobs, "--group", jobs, "--yes")
    assert done.stdout == f"dropped 5 messages of {jobs}\n", done.output
    assert stats(penstock, jobs)["groups"][0]["waiting"] == 0
    assert len(penstock("consume", jobs).stdout.splitlines()) == 10, "the records are still there"


def test_all_that_waits_is_dropped_for_everybody_under_its_members(
    broker: BrokerProcess, penstock: Penstock, jobs: str
) -> None:
    with Queue(broker.address, jobs, prefetch=1) as queue:
        job = queue.get(timeout=LIMIT_S)
        assert penstock("queue", "purge", jobs, "--yes").exit_code == 0
        job.ack()
        queue.put("new")
        seen = [queue.get(timeout=LIMIT_S)]
        while seen[-1].value != "new":  # one may have been on its way
            seen.append(queue.get(timeout=LIMIT_S))
        assert len(seen) <= 2
        for each in seen:
            each.ack()


def test_while_a_broker_is_missing_the_rest_is_told_and_shown() -> None:
    with running_cluster(3) as cluster:
        address = cluster.bootstrap

        def told() -> Any:
            return json.loads(run(address, "queue", "stats", "jobs", "--json").stdout)["groups"][0]

        Queue.ensure(address, "jobs", partitions=3, replicas=1, dead_letters=True)
        with Queue(address, "jobs") as queue, Producer(address) as producer:
            for index in range(3):
                producer.send("jobs", f"of {index}", partition=index).result(LIMIT_S)
            for job in [queue.get(timeout=LIMIT_S) for _ in range(3)]:
                job.nack()
        with WireClient(address) as client:
            cluster.brokers[client.topic("jobs").partitions[0].leader - 1].kill()

            def unled() -> list[int]:
                client.forget()
                found = client.topic("jobs").partitions.items()
                return [index for index, each in found if each.leader < 0]

            wait_until(unled, "nobody leads what the broker has led", LIMIT_S)
            missing = unled()
        group = told()
        assert group["waiting"] is None
        known = {each["partition"]: each["waiting"] for each in group["partitions"]}
        assert known == {index: None if index in missing else 1 for index in range(3)}
        shown = run(address, "queue", "peek", "jobs")
        left = [f"of {index}" for index in range(3) if index not in missing]
        assert sorted(shown.stdout.splitlines()) == left
        assert "have no leader now" in shown.stderr


def test_what_is_not_there_is_told_with_what_to_do(
    broker: BrokerProcess, penstock: Penstock, topic: str
) -> None:
    penstock("topic", "create", topic)
    done = penstock("queue", "redrive", topic, "--yes")
    assert done.exit_code == 1
    assert "no share group" in done.stderr
    with Queue(broker.address, topic) as queue:
        queue.put("one")
        queue.get(timeout=LIMIT_S).ack()
    done = penstock("queue", "redrive", topic, "--yes")
    assert done.exit_code == 1
    assert "errors.deadletterqueue.topic.name" in done.stderr
    done = penstock("queue", "peek", topic, "--group", "nobody")
    assert done.exit_code == 1
    assert topic in done.stderr
