"""Groups whose coordinator's broker dies: they keep their offsets, and go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cluster_ordeal import PROTOCOLS
from tests.cluster_process import Cluster
from tests.group_checks import check_at_least_once, check_owners
from tests.group_stage import Stage

PARTITIONS = 4


def work(stage: Stage, name: str) -> None:
    """Until it has processed some more."""
    worker = stage.workers[name]
    before = worker.count("processed")
    stage.wait_until(lambda: worker.count("processed") > before + 20, f"{name} processes messages")


@pytest.mark.parametrize("options", PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_group_goes_on_where_it_was_when_its_coordinators_broker_is_killed(
    cluster: Cluster, topic: str, tmp_path: Path, options: dict[str, Any]
) -> None:
    cluster.create(topic, PARTITIONS)
    stage = Stage(tmp_path, cluster.address, f"group-of-{topic}")
    try:
        play(cluster, stage, topic, options)
    finally:
        stage.end()


def play(cluster: Cluster, stage: Stage, topic: str, options: dict[str, Any]) -> None:
    places = [(topic, index) for index in range(PARTITIONS)]
    for name in ("one", "two"):
        stage.start(name, "confluent", [topic], options)
    flow = stage.send({topic: PARTITIONS})
    stage.wait_until_shared(places)
    work(stage, "one")
    found = cluster.coordinator(stage.group)
    found.kill()
    work(stage, "one")
    work(stage, "two")
    found.start()
    cluster.wait_in_sync("__consumer_offsets", 3)
    work(stage, "one")
    flow.finish()
    stage.wait_until_processed(flow.acked)
    for each in stage.running:
        each.leave()
    stage.follow()
    run = stage.result()
    check_owners(run)
    check_at_least_once(run, flow.acked, broker_killed=True)
    assert stage.committed(places) == {
        place: max(offset for where, offset in flow.acked if where == place) + 1 for place in places
    }
