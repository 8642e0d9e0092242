"""Three brokers, a topic that loses partitions, and a broker that dies or is away meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.cluster_process import Cluster, Member, rdkafka
from tests.cluster_traffic import Traffic, read_all
from tests.group_stage import administer, wait_until
from tests.lanes import cases, in_chaos
from tests.reduction_stage import (
    Groups,
    Reader,
    check_failures,
    closing,
    create,
    reduce,
    topics,
    wait_reduced,
)

from penstock.wire.messages.k60_describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)

MakeTraffic = Callable[..., Traffic]
REPLICATED = ("--replication-factor", "3")
UNDER_WAY_MAX = 50
"""Messages whose commits may be lost with a broker."""


def controller(cluster: Cluster) -> Member:
    def found() -> Member | None:
        well = next(each for each in cluster.members.values() if each.is_well)
        with well.connect() as client:
            answer: DescribeClusterResponse = client.ask(DescribeClusterRequest())
        return cluster.members.get(answer.controller_id)

    member: Member = cluster.wait(found, "a controller")
    return member


def when_begun(cluster: Cluster, topic: str) -> bool:
    return closing(cluster.address, topic) is not None


def when_closed(cluster: Cluster, topic: str) -> bool:
    told = closing(cluster.address, topic)
    return told is None or told["closed_ms"] is not None


def when_cut_over(cluster: Cluster, topic: str) -> bool:
    return f"{topic}.sealed-1" in topics(cluster.address)


STEPS = {each.__name__: each for each in (when_begun, when_closed, when_cut_over)}


@pytest.mark.parametrize("step", cases(STEPS, ["when_closed"]))
def test_a_controller_that_is_killed_is_followed_by_one_that_goes_on(
    cluster: Cluster,
    traffic: MakeTraffic,
    groups: Callable[[str, str], Groups],
    reader: Callable[..., Reader],
    step: str,
) -> None:
    topic = f"killed-{step}"
    create(cluster.address, topic, 4, *REPLICATED)
    sending, reading = traffic(cluster, topic), groups(cluster.address, topic)
    slow = reader(cluster.address, f"{topic}-slow", topic)
    slow.holds_back = step == "when_closed"  # so that it stays closed until then
    reading.wait_ready()
    assert slow.has_partitions.wait(60)
    sending.go_on(100)
    reduce(cluster.address, topic, 2, "--max-pause", "6s")
    wait_until(lambda: STEPS[step](cluster, topic), step)
    victim = controller(cluster)
    victim.kill()
    slow.holds_back = False
    wait_reduced(cluster.address, topic, 2)
    sending.go_on(100)
    victim.start()
    reading.wait_shared(2)
    wait_until(lambda: slow.owned == {0, 1}, "the slow group has what is left")
    acked = sending.finish()
    check_failures(sending)
    reading.check(acked, again=UNDER_WAY_MAX)
    check_all_there(cluster, topic, len(acked), left=2, sealed=2)


def check_all_there(
    cluster: Cluster, topic: str, count: int, *, left: int, sealed: int, replicas: int = 3
) -> None:
    rest = read_all(cluster.address, topic, range(left))
    gone = read_all(cluster.address, f"{topic}.sealed-1", range(sealed))
    assert len({(each.key, each.number) for each in (*rest, *gone)}) == count
    assert len(rest) + len(gone) == count
    cluster.wait_in_sync(topic, replicas)
    cluster.wait_in_sync(f"{topic}.sealed-1", replicas)


def test_a_broker_that_was_away_finds_its_logs_in_their_new_places(
    cluster: Cluster, traffic: MakeTraffic
) -> None:
    """Also where there are new partitions by then, in the places of the old ones."""
    staying = controller(cluster)
    away, other = cluster.others(staying)
    old, new = [staying.node_id, away.node_id], [staying.node_id, other.node_id]
    topic = rdkafka.NewTopic("away", num_partitions=4, replica_assignment=[old] * 4)
    administer(cluster.address, lambda admin: admin.create_topics([topic]))
    sending = traffic(cluster, "away")
    sending.go_on(200)
    away.kill()
    sending.go_on(50)
    acked = sending.finish()
    assert sending.failed == []
    reduce(staying.address, "away", 2)
    wait_reduced(staying.address, "away", 2)
    more = rdkafka.NewPartitions("away", 4, replica_assignment=[new] * 2)
    administer(staying.address, lambda admin: admin.create_partitions([more]))
    away.start()
    check_all_there(cluster, "away", len(acked), left=4, sealed=2, replicas=2)
    folders = sorted(each.name for each in away.data_dir.glob("away*"))
    assert folders == ["away-0", "away-1", "away.sealed-1-0", "away.sealed-1-1"]


@in_chaos
def test_a_broker_that_does_not_answer_is_no_reason_to_go_on(
    cluster: Cluster, reader: Callable[..., Reader], traffic: MakeTraffic
) -> None:
    """What its groups have read is not known: the partitions are written to again in time."""
    topic = "silent"
    create(cluster.address, topic, 2, *REPLICATED)
    slow = reader(cluster.address, f"{topic}-slow", topic)
    assert slow.has_partitions.wait(60)
    sending = traffic(cluster, topic)
    sending.go_on(100)
    slow.holds_back = True
    reduce(cluster.address, topic, 1, "--max-pause", "1s")
    wait_until(lambda: when_closed(cluster, topic), "closed")
    silent = cluster.others(controller(cluster))[0]
    silent.pause()
    try:
        well = cluster.others(silent)[0].address
        wait_until(lambda: _has_reopened(well, topic), "open again")
    finally:
        silent.wake()
    assert f"{topic}.sealed-1" not in topics(cluster.address)
    slow.holds_back = False
    wait_reduced(cluster.address, topic, 1)
    sending.go_on(50)
    acked = sending.finish()
    check_all_there(cluster, topic, len(acked), left=1, sealed=1)


def _has_reopened(address: str, topic: str) -> bool:
    told = closing(address, topic)
    return told is not None and told["closed_ms"] is None and bool(told["reopened_ms"])
