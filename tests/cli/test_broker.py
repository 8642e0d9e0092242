"""Brokers that come and go, as an operator sees it: three processes that share a store."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.broker_process import BrokerProcess
from tests.cli.conftest import run
from tests.lanes import in_chaos
from tests.raw_client import RawClient

from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest

WAIT_S = 30


class Cluster:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.brokers: dict[int, BrokerProcess] = {}

    def start(self, node_id: int) -> None:
        if node_id not in self.brokers:
            store = f"sqlite:{self._folder / 'metadata.sqlite'}"
            self.brokers[node_id] = BrokerProcess(
                self._folder / f"broker-{node_id}",
                *("--node-id", str(node_id), "--store", store),
                *("--set", "broker.session.timeout.ms=2000"),
            )
        self.brokers[node_id].start()
        self.until_state(node_id, "alive")

    def call(self, *arguments: str) -> Result:
        addresses = ",".join(each.address for each in self.brokers.values() if each.port)
        return run(addresses, *arguments)

    def lines(self, *arguments: str) -> list[str]:
        result = self.call(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout.splitlines()

    def listed(self) -> dict[int, dict[str, Any]]:
        return {row["broker"]: row for row in json.loads(self.lines("broker", "list", "--json")[0])}

    def replicas(self, topic: str) -> list[list[int]]:
        described = json.loads(self.lines("topic", "describe", topic, "--json")[0])
        return [each["replicas"] for each in described["partitions"]]

    def folders(self, node_id: int, pattern: str) -> list[Path]:
        return [*(self._folder / f"broker-{node_id}").glob(pattern)]

    def until_state(self, node_id: int, state: str) -> None:
        until(lambda: self.listed().get(node_id, {}).get("state") == state)

    def until_shown(self, line: str, *arguments: str) -> None:
        """Brokers learn of a change one after the other."""
        until(lambda: line in self.lines(*arguments))


def until(holds: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < give_up_s
        time.sleep(0.1)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    for node_id in (1, 2):
        made.start(node_id)
    yield made
    for each in made.brokers.values():
        each.kill()


def test_a_broker_is_added_gets_its_share_and_is_drained_and_removed(cluster: Cluster) -> None:
    cluster.lines("topic", "create", "orders", "--partitions", "6", "--replication-factor", "2")
    cluster.lines("topic", "create", "bills", "--partitions", "3")
    for number in range(6):
        cluster.lines("produce", "orders", "value", "--partition", str(number))
    cluster.start(3)
    assert cluster.listed()[3]["replicas"] == 0

    planned = json.loads(cluster.lines("broker", "rebalance", "--dry-run", "--json")[0])
    assert len([row for row in planned if 3 in row["to"]]) == 5
    assert cluster.listed()[3]["replicas"] == 0
    cluster.lines("broker", "rebalance")
    assert sorted(row["replicas"] for row in cluster.listed().values()) == [5, 5, 5]
    assert cluster.lines("broker", "rebalance", "--dry-run") == ["all brokers hold as many already"]

    assert cluster.lines("broker", "drain", "3")[-1].startswith("broker 3 holds nothing any more")
    until(lambda: not cluster.folders(3, "orders-*") + cluster.folders(3, "bills-*"))
    assert cluster.listed()[3]["state"] == "alive draining"
    cluster.lines("topic", "create", "new", "--partitions", "4")
    assert 3 not in [broker for each in cluster.replicas("new") for broker in each]
    alive = cluster.call("broker", "remove", "3", "--yes")
    assert (alive.exit_code, "stop it first" in alive.stderr) == (1, True)
    assert cluster.brokers[3].stop() == 0
    cluster.until_state(3, "down draining")
    assert cluster.lines("broker", "remove", "3", "--yes") == ["removed broker 3; 2 brokers left"]
    assert list(cluster.listed()) == [1, 2]


def test_a_broker_is_not_drained_where_there_is_no_room_for_what_it_holds(
    cluster: Cluster,
) -> None:
    cluster.lines("topic", "create", "orders", "--replication-factor", "2")
    refused = cluster.call("broker", "drain", "2")
    assert refused.exit_code == 1
    assert "no other broker can take what broker 2 holds of orders" in refused.stderr
    assert cluster.listed()[2]["state"] == "alive"


def test_a_topic_of_the_brokers_does_not_lose_its_last_replica_that_is_up(
    cluster: Cluster,
) -> None:
    """It makes do with fewer brokers, but only with such as are there."""
    with RawClient(cluster.brokers[1].port) as client:
        client.ask(FindCoordinatorRequest(key="group"), 0)
    cluster.brokers.pop(2).kill()
    cluster.until_state(2, "down")
    refused = cluster.call("broker", "drain", "1")
    assert refused.exit_code == 1
    assert "add a broker first, or start broker 2" in refused.stderr
    assert cluster.listed()[1]["state"] == "alive"


def test_draining_can_be_cancelled(cluster: Cluster) -> None:
    cluster.lines("broker", "drain", "2")
    assert cluster.listed()[2]["state"] == "alive draining"
    said = cluster.lines("broker", "drain", "2", "--cancel")
    assert said == ["broker 2 is not draining; 0 moves cancelled"]
    assert cluster.listed()[2]["state"] == "alive"


def test_what_a_lost_broker_alone_had_is_given_up_only_when_told_so(cluster: Cluster) -> None:
    cluster.lines("topic", "create", "orders", "--partitions", "2")
    for number in ("0", "1"):
        cluster.lines("produce", "orders", "value", "--partition", number)
    (held,) = cluster.folders(2, "orders-*")
    away = cluster.brokers.pop(2)
    away.kill()
    cluster.until_state(2, "down")
    kept = cluster.call("broker", "drain", "2")
    assert kept.exit_code == 1
    assert "give them up with --abandon" in kept.stderr
    odd = json.loads(cluster.lines("broker", "describe", "2", "--json")[0])["partitions"]
    assert [row["leader"] for row in odd] == [None]
    cluster.lines("broker", "drain", "2", "--abandon", "--yes")
    assert cluster.replicas("orders") == [[1], [1]]
    cluster.brokers[2] = away.start()
    until(lambda: cluster.folders(2, f"{held.name}.*-stray") != [])
    (stray,) = cluster.folders(2, "orders-*")
    assert b"value" in (stray / f"{0:020}.log").read_bytes()
    until(lambda: "which lack records that are here" in away.log)
    assert cluster.brokers.pop(2).stop() == 0
    cluster.until_state(2, "down draining")
    cluster.lines("broker", "remove", "2", "--yes")


def test_a_broker_is_described(cluster: Cluster) -> None:
    cluster.lines("topic", "create", "orders", "--replication-factor", "2")
    shown = cluster.lines("broker", "describe", "1")
    assert shown[0].split()[:4] == ["BROKER", "ADDRESS", "RACK", "STATE"]
    assert ["orders", "1"] in [line.split() for line in shown]


def test_settings_of_a_broker_or_of_all_change_while_they_run(cluster: Cluster) -> None:
    rate = "follower.replication.throttled.rate"
    assert cluster.lines("broker", "config", "2", "--set", f"{rate}=5000") == [f"{rate}=5000"]
    cluster.lines("broker", "config", "all", "--set", f"{rate}=9000")
    cluster.until_shown(f"{rate}=5000  (set by broker)", "broker", "config", "2")
    cluster.until_shown(f"{rate}=9000  (set by cluster)", "broker", "config", "all")
    cluster.lines("broker", "config", "2", "--unset", rate)
    cluster.until_shown(f"{rate}=9000  (set by cluster)", "broker", "config", "2")
    assert cluster.call("broker", "config", "both").exit_code == 2
    unknown = cluster.call("broker", "config", "99", "--timeout", "600")
    assert unknown.exit_code == 1
    assert "broker 99: it is not registered; `penstock broker list` shows" in unknown.stderr


def test_a_broker_that_there_is_not_is_said_so(cluster: Cluster) -> None:
    for verb in (("describe", "7"), ("drain", "7"), ("remove", "7", "--yes")):
        result = cluster.call("broker", *verb)
        assert result.exit_code == 1
        assert "broker 7: there is none; there are 1, 2" in result.stderr


def partition(cluster: Cluster, topic: str) -> dict[str, Any]:
    """Whoever leads it may have gone meanwhile, which makes the exit code 1."""
    told = cluster.call("topic", "describe", topic, "--json").stdout
    row: dict[str, Any] = json.loads(told)["partitions"][0]
    return row


@in_chaos
def test_a_topics_description_tells_of_moves_eligible_replicas_and_what_to_do(
    cluster: Cluster,
) -> None:
    cluster.lines("topic", "create", "orders", "--replication-factor", "2")
    cluster.lines("topic", "alter", "orders", "--set", "min.insync.replicas=2")
    calm = partition(cluster, "orders")
    assert (calm["eligible"], calm["adding"], calm["removing"]) == ([], [], [])
    assert calm["advice"] is None
    assert "ELIGIBLE" not in cluster.lines("topic", "describe", "orders")[1]
    first, last = calm["replicas"]
    cluster.brokers[first].kill()
    until(lambda: partition(cluster, "orders")["eligible"] == [first])
    assert "ELIGIBLE" in cluster.lines("topic", "describe", "orders")[1]
    cluster.brokers[last].kill()
    cluster.start(3)
    until(lambda: partition(cluster, "orders")["leader"] is None)
    *_, told, _ = cluster.lines("topic", "describe", "orders")
    hope = f"start broker {last} or {first}, which had all records last"
    assert told.startswith(f"nobody leads partition 0: {hope}")
