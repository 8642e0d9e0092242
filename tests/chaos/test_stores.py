"""Three brokers on each store, under a producer and groups, meet with all that may befall them.

SECONDS=300, or `make chaos DURATION=300`, goes on for so long, in an order by chance.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.cluster_faults import (
    FAULTS,
    SECONDS,
    Fault,
    add,
    cut_off_for_long,
    drain,
    kill,
    pause,
    stop,
)
from tests.cluster_ordeal import PROTOCOLS, Ordeal
from tests.cluster_process import Cluster, Member
from tests.cluster_stores import STORES
from tests.cluster_traffic import Traffic
from tests.lanes import cases

PARTITIONS = 6
BROKERS_MAX = 5
SHORT = {"sqlite": "consumer", "etcd": "classic", "zookeeper": "consumer"}
"""The protocol of the group for each store in a short run; a long one has groups of both."""


@pytest.mark.timeout(SECONDS + 600)
@pytest.mark.parametrize("store", cases(STORES, ["etcd"]))
def test_every_acked_message_is_read_once_and_in_order_on(
    store: str,
    own_cluster: Callable[..., Cluster],
    traffic: Callable[..., Traffic],
    topic: str,
    tmp_path: Path,
) -> None:
    cluster = own_cluster(build_way=STORES[store]()).start(3)
    cluster.create(topic, PARTITIONS, replica_lag_time_max_ms="2000")
    ordeal = Ordeal(cluster, traffic(cluster, topic, per_second=100), PARTITIONS)
    try:
        for protocol in PROTOCOLS if SECONDS else [SHORT[store]]:
            ordeal.start_group(tmp_path, protocol)
        for fault, member in by_chance(ordeal) if SECONDS else each_once(ordeal):
            what = f"{fault.__name__} broker {member.node_id}"
            ordeal.meet(what, partial(fault, cluster, member, ordeal.sending))
        ordeal.check()
    finally:
        ordeal.end()


def each_once(ordeal: Ordeal) -> Iterator[tuple[Fault, Member]]:
    """Each for the broker that it is worst for."""
    cluster = ordeal.cluster
    yield kill, cluster.coordinator(ordeal.group)
    yield pause, whole(ordeal).controller()
    yield cut_off_for_long, whole(ordeal).leader(ordeal.topic)
    yield stop, whole(ordeal).coordinator(ordeal.group)
    yield add, whole(ordeal).controller()
    yield drain, whole(ordeal).leader(ordeal.topic)


def by_chance(ordeal: Ordeal) -> Iterator[tuple[Fault, Member]]:
    """For SECONDS; there are never fewer than three brokers."""
    seed = random.randrange(1 << 30)
    sys.stdout.write(f"seed {seed}\n")
    chance = random.Random(seed)
    members = ordeal.cluster.members
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        faults = [*FAULTS.values(), cut_off_for_long]
        faults += [add] * (len(members) < BROKERS_MAX) + [drain] * (len(members) > 3)
        yield chance.choice(faults), members[chance.choice(list(members))]
        if chance.random() < 0.7:
            whole(ordeal)


def whole(ordeal: Ordeal) -> Cluster:
    """The cluster once all replicas are in sync again."""
    for name in (ordeal.topic, "__consumer_offsets"):
        ordeal.cluster.wait_in_sync(name, 3)
    return ordeal.cluster
