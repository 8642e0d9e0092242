"""Two brokers that both believe to be the controller: only one of them decides."""

from __future__ import annotations

from collections.abc import Callable

from tests.cluster_faults import check
from tests.cluster_process import Cluster
from tests.cluster_traffic import Traffic


def test_a_controller_that_wakes_up_after_another_has_taken_over_decides_nothing(
    cluster: Cluster, topic: str, traffic: Callable[..., Traffic]
) -> None:
    """It was stopped in the middle of its work, and goes on as if no time had passed."""
    cluster.create(topic, 3)
    sending = traffic(cluster, topic)
    sending.go_on()
    old = cluster.controller()
    old.pause()
    cluster.wait(lambda: cluster.controller() is not old, "another one is the controller")
    new = cluster.controller()
    cluster.create(f"{topic}-later", replicas=2)
    sending.go_on()
    before = terms(cluster, topic)
    old.wake()
    cluster.wait(lambda: old.controller_id == new.node_id, "it knows that it is not any more")
    cluster.wait_in_sync(topic, 3)
    assert {each.controller_id for each in cluster.members.values()} == {new.node_id}
    after = terms(cluster, topic)
    assert all(after[index] >= before[index] for index in before)
    cluster.wait_in_sync(f"{topic}-later", 2)
    sending.go_on()
    check(cluster, sending)
    cluster.check_lines()


def terms(cluster: Cluster, topic: str) -> dict[int, int]:
    return {each.partition_index: each.leader_epoch for each in cluster.partitions(topic)}
