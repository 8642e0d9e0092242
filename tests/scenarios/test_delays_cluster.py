"""Delayed messages on three brokers, whose leader fails when they are due: once, and in time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from tests.api.test_views import batches
from tests.cluster_process import Cluster, Member
from tests.group_process import WAIT_S
from tests.group_stage import wait_until
from tests.raw_client import fetch_of, partition_of
from tests.scenarios.delaying import (
    AFTER,
    AT,
    CANCEL,
    ID,
    Read,
    Reader,
    Sent,
    listed,
    now_ms,
    producer_of,
    send,
)

from penstock.wire.batch import read_header
from penstock.wire.batch_builder import read_records

FOLLOWERS_SINCE = 11
"""The version of Fetch that a follower answers."""
AHEAD_MS = 3000
GRAIN_MS = 250
COUNT = 400
CLOCK_MS = 50
"""All brokers go by one clock, which a reader may look at a moment earlier."""


def kill(cluster: Cluster, topic: str, leader: Member) -> None:
    leader.kill()
    cluster.wait(lambda: leads_another(cluster, topic, leader), "another leader")
    leader.start()


def pause(cluster: Cluster, topic: str, leader: Member) -> None:
    leader.pause()
    cluster.wait(lambda: leads_another(cluster, topic, leader), "another leader")
    leader.wake()


def leads_another(cluster: Cluster, topic: str, former: Member) -> bool:
    partition = cluster.partition(topic)
    return partition is not None and partition.leader_id not in (-1, former.node_id)


@pytest.mark.parametrize("harm", [kill, pause])
def test_messages_come_once_though_their_leader_fails_when_they_are_due(
    cluster: Cluster, harm: Callable[[Cluster, str, Member], None]
) -> None:
    topic = f"later-{harm.__name__}"
    cluster.create(topic, delayed_delivery="true")
    producer = producer_of(cluster.address, **{"enable.idempotence": True, "linger.ms": 5})
    sent, dues = Sent(), {}
    first_due = (now_ms() + AHEAD_MS) // GRAIN_MS * GRAIN_MS
    for number in range(COUNT):
        dues[str(number)] = due = first_due + number % 8 * GRAIN_MS
        send(producer, sent, topic, str(number), {AT: str(due)})
    assert producer.flush(WAIT_S) == 0
    cancelled = {str(number) for number in range(0, COUNT, 10)}
    asked = Sent()
    for value in sorted(cancelled):
        send(producer, asked, topic, f"-{value}", {CANCEL: str(sent.offsets[value])})
    assert producer.flush(WAIT_S) == 0
    assert (len(sent.offsets), sent.refused, asked.refused) == (COUNT, {}, {})

    leader = cluster.leader(topic)
    wait_until(lambda: now_ms() >= first_due, "the first to be due")
    failing = threading.Thread(target=harm, args=(cluster, topic, leader))
    failing.start()
    reader = Reader(cluster.address, topic)
    try:
        reader.until(lambda: len(reader.found) >= COUNT - len(cancelled), "all deliveries")
        failing.join(WAIT_S)
        send(producer, sent, topic, "last", {AFTER: "1"})
        assert producer.flush(WAIT_S) == 0
        reader.until(lambda: "last" in reader.values, "one after the failure")
        found = [each for each in reader.to_end() if each.value != "last"]
    finally:
        reader.close()
    assert not failing.is_alive()
    check(found, sent, dues, cancelled)
    assert listed(cluster.address, topic) == []


def test_followers_hide_and_list_what_is_held_as_leaders_do(cluster: Cluster) -> None:
    cluster.create("everywhere", delayed_delivery="true")
    producer, sent = producer_of(cluster.address), Sent()
    send(producer, sent, "everywhere", "later", {AFTER: "3600000"})
    send(producer, sent, "everywhere", "now", {})
    assert producer.flush(WAIT_S) == 0
    for member in cluster.all_well:
        cluster.wait(lambda: shown(member, "everywhere") == [b"now"], "all but what is held")  # noqa: B023
        name = "everywhere.scheduled"
        cluster.wait(lambda: shown(member, name) == [b"later"], "what is held")  # noqa: B023


def shown(member: Member, topic: str) -> list[bytes | None]:
    """What one broker shows of partition 0, whether it leads it or not."""
    with member.connect() as client:
        data = partition_of(client.ask(fetch_of(topic, 0), FOLLOWERS_SINCE))
    return [
        record.value
        for batch in batches(data)
        if not read_header(batch).is_control
        for record in read_records(batch, 1 << 20)
    ]


def check(found: list[Read], sent: Sent, dues: dict[str, int], cancelled: set[str]) -> None:
    assert sorted(each.value for each in found) == sorted(dues.keys() - cancelled)
    order = [(each.time_ms, int(each.headers[ID])) for each in found]
    assert order == sorted(order)
    for each in found:
        assert each.time_ms == dues[each.value]
        assert each.seen_ms + CLOCK_MS >= each.time_ms
        assert int(each.headers[ID]) == sent.offsets[each.value]
