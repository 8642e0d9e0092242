"""What brokers meet with while messages are sent to them, and what must hold all the same.

SECONDS in the environment asks for so long a run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from tests.cluster_process import LEASE_MS, Cluster, Member
from tests.cluster_traffic import Sending, check_exactly_once, read_all

PARTITIONS = 3
SECONDS = int(os.environ.get("SECONDS", "0"))


def check(cluster: Cluster, sending: Sending, partitions: int = PARTITIONS) -> None:
    """All that was sent was acked, and is there exactly once."""
    acked = sending.finish()
    assert sending.failed == []
    found = read_all(cluster.address, sending.topic, range(partitions))
    check_exactly_once(acked, found)
    assert len(acked) == sending.sent
    assert len([each for each in found if each.key >= 0]) == len(acked)


def kill(cluster: Cluster, member: Member, sending: Sending) -> None:
    member.kill()
    sending.go_on()
    member.start()


def pause(cluster: Cluster, member: Member, sending: Sending) -> None:
    """For longer than its lease: others lead without it."""
    member.pause()
    sending.go_on()
    time.sleep(LEASE_MS / 1000)
    member.wake()


def stop(cluster: Cluster, member: Member, sending: Sending) -> None:
    assert member.stop() == 0
    sending.go_on()
    member.start()


def restart_at_once(cluster: Cluster, member: Member, sending: Sending) -> None:
    """Before anybody has noticed that it was gone."""
    member.kill()
    member.start()


def cut_off(cluster: Cluster, member: Member, sending: Sending) -> None:
    """It keeps its lease: nobody else may lead what it leads."""
    cluster.isolate(member)
    time.sleep(1)
    cluster.repair()


def jam(cluster: Cluster, member: Member, sending: Sending) -> None:
    """As if all packets were lost."""
    cluster.isolate(member, jam=True)
    time.sleep(1)
    cluster.repair()


FAULTS = {each.__name__: each for each in (kill, pause, stop, restart_at_once, cut_off, jam)}
Fault = Callable[[Cluster, Member, Sending], None]


def cut_off_for_long(cluster: Cluster, member: Member, sending: Sending) -> None:
    """Until the others go on without it. Who has the store in a file keeps its lease, and leads."""
    cluster.isolate(member)
    if member.way is not None:
        cluster.wait(lambda: not leads(cluster, member, sending.topic), "others lead what it led")
    used = {ack.partition for ack in list(sending.acked)}
    found = [each for each in cluster.partitions(sending.topic) if each.partition_index in used]
    if {each.leader_id for each in found} == {member.node_id}:
        time.sleep(1)  # it leads all that is written to, after the faults before
    else:
        sending.go_on()
    cluster.repair()


def leads(cluster: Cluster, member: Member, topic: str) -> bool:
    return any(each.leader_id == member.node_id for each in cluster.partitions(topic))


def add(cluster: Cluster, member: Member, sending: Sending) -> None:
    """One more, which gets its share of what is there."""
    new = cluster.add().start()
    cluster.wait_known()
    cluster.call("broker", "rebalance")
    assert f"{new.node_id}" in cluster.call("broker", "list")
    sending.go_on()


def drain(cluster: Cluster, member: Member, sending: Sending) -> None:
    """It gives away all that it holds, stops, and is forgotten."""
    cluster.call("broker", "drain", f"{member.node_id}")
    sending.go_on()
    cluster.remove(member)
