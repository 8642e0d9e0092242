"""Messages that repeat, on three brokers whose leader is killed when they are due: once each."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from tests.cluster_process import Cluster, Member
from tests.group_process import WAIT_S
from tests.group_stage import wait_until
from tests.scenarios.delaying import (
    CANCEL,
    CRON,
    ID,
    NEXT,
    Read,
    Reader,
    Sent,
    held,
    listed,
    now_ms,
    producer_of,
    send,
)
from tests.scenarios.test_repeating import LONG_AGO, NEW_YEAR, next_new_year

COUNT = 3000
KILLED_AFTER = 1000
MINUTE_MS = 60_000
MANY = 300


def kill(cluster: Cluster, topic: str) -> Member:
    """The leader, with another in its place."""
    leader = cluster.leader(topic)
    leader.kill()

    def leads_another() -> bool:
        partition = cluster.partition(topic)
        return partition is not None and partition.leader_id not in (-1, leader.node_id)

    cluster.wait(leads_another, "another leader")
    return leader


def test_what_is_due_at_once_comes_once_though_the_leader_is_killed_and_is_held_on(
    cluster: Cluster,
) -> None:
    """Their times are long ago, so that copies are on their way whenever the leader dies."""
    topic, next_ms = "again", next_new_year()
    cluster.create(topic, delayed_delivery="true")
    producer = producer_of(
        cluster.address, **{"enable.idempotence": True, "batch.num.messages": 50}
    )
    sent = Sent()
    for number in range(COUNT):
        send(producer, sent, topic, str(number), {CRON: NEW_YEAR}, time_ms=LONG_AGO)
    while len(sent.offsets) < KILLED_AFTER:
        producer.poll(0.01)
    killed = kill(cluster, topic)
    assert producer.flush(WAIT_S) == 0
    assert (len(sent.offsets), sent.refused) == (COUNT, {})
    killed.start()
    reader = Reader(cluster.address, topic)
    try:
        reader.until(lambda: len(reader.found) >= COUNT, "all deliveries")
        wait_until(lambda: len(held(cluster.address, topic)) == COUNT, "all to be held on")
        found = list(reader.to_end())
    finally:
        reader.close()
    assert sorted(map(int, reader.values)) == list(range(COUNT))
    assert {each.value: int(each.headers[ID]) for each in found} == sent.offsets
    assert {each.headers[NEXT] for each in found} == {next_ms}
    assert {each.headers[NEXT] for each in held(cluster.address, topic)} == {next_ms}


@pytest.mark.chaos
@pytest.mark.timeout(400)
def test_each_minute_comes_once_though_the_leader_is_killed_as_it_strikes(
    cluster: Cluster,
) -> None:
    topic = "minutes"
    cluster.create(topic, delayed_delivery="true")
    producer, sent = producer_of(cluster.address, **{"enable.idempotence": True}), Sent()
    for number in range(MANY):
        send(producer, sent, topic, str(number), {CRON: "* * * * *"})
    assert producer.flush(WAIT_S) == 0
    reader = Reader(cluster.address, topic)
    try:
        for _ in range(2):
            strikes_ms = (now_ms() // MINUTE_MS + 1) * MINUTE_MS
            wait_until(lambda: now_ms() >= strikes_ms, "the next minute", MINUTE_MS / 1000 + 5)  # noqa: B023
            killed = kill(cluster, topic)
            reader.until(lambda: count_at(reader, strikes_ms) >= MANY, "its deliveries")  # noqa: B023
            killed.start()
            cluster.wait_in_sync(topic, 3)
        cancel_all(producer, sent, topic)
        check_each(reader.to_end(), sent)
    finally:
        reader.close()
    assert listed(cluster.address, topic) == []


def count_at(reader: Reader, time_ms: int) -> int:
    return sum(each.time_ms == time_ms for each in reader.found)


def cancel_all(producer: Any, sent: Sent, topic: str) -> None:
    asked = Sent()
    for value, offset in sent.offsets.items():
        send(producer, asked, topic, f"-{value}", {CANCEL: str(offset)})
    assert producer.flush(WAIT_S) == 0
    assert asked.refused == {}


def check_each(found: list[Read], sent: Sent) -> None:
    """One minute after the other, and none twice."""
    times: dict[str, list[int]] = defaultdict(list)
    for each in found:
        assert int(each.headers[ID]) == sent.offsets[each.value]
        assert int(each.headers[NEXT]) == each.time_ms + MINUTE_MS
        times[each.value].append(each.time_ms)
    assert times.keys() == sent.offsets.keys()
    for all_of_one in times.values():
        first = all_of_one[0]
        assert all_of_one == [first + number * MINUTE_MS for number in range(len(all_of_one))]
