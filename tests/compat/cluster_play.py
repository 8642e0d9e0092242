"""What a client of another language goes through with a cluster, and what must hold."""

from __future__ import annotations

from tests.cluster_faults import Fault, add, check, kill, stop
from tests.cluster_process import Cluster, Member
from tests.compat.foreign import ForeignClient
from tests.group_checks import check_all_processed
from tests.group_stage import administer

PARTITIONS = 6


def go_through_faults(cluster: Cluster, client: ForeignClient, protocol: str) -> None:
    """A leader is killed, the group's coordinator is restarted, and a broker is added."""
    topic, group = client.topic, f"group-of-{client.topic}"
    client.go_on()
    client.wait(lambda: is_shared(client), "both members have partitions")
    check_protocol(cluster, group, protocol)
    meet(kill, cluster, cluster.leader(topic), client)
    meet(stop, cluster, cluster.coordinator(group), client)
    meet(add, cluster, cluster.controller(), client)
    assert any(each.leader_id == 4 for each in cluster.partitions(topic))
    check(cluster, client, PARTITIONS)
    acked = {((topic, ack.partition), ack.offset): f"{ack.number}" for ack in client.acked}
    client.wait(lambda: client.processed >= len(acked), "all is processed")
    client.wait(lambda: acked.keys() <= client.result().processed_ids(), "all is processed")
    client.leave()
    check_all_processed(client.result(), acked)
    assert client.failed == []
    cluster.check_lines()


def is_shared(client: ForeignClient) -> bool:
    owned = client.owned().values()
    return len(owned) == 2 and all(owned) and sum(map(len, owned)) == PARTITIONS


def check_protocol(cluster: Cluster, group: str, protocol: str) -> None:
    found = administer(cluster.address, lambda admin: admin.describe_consumer_groups([group]))
    assert found.type.name.lower() == protocol


def meet(fault: Fault, cluster: Cluster, member: Member, client: ForeignClient) -> None:
    """With messages under way at that moment, and everything as it was afterwards."""
    moment = client.pile_up()
    fault(cluster, member, client)
    client.go_on()
    client.process_on()
    cluster.wait_in_sync(client.topic, 3)
    late = [ack for ack in client.acked if ack.turn < moment.sent and ack.at > moment.at]
    assert late, f"nothing was under way at {moment}"
