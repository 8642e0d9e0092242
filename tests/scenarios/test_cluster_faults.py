"""Three brokers under an idempotent producer; one of them is killed, paused, cut off, stopped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.cluster_faults import FAULTS, PARTITIONS, Fault, check, kill, stop
from tests.cluster_process import Cluster, Member
from tests.cluster_traffic import Traffic, check_exactly_once, read_all
from tests.raw_client import PRODUCE_VERSION, RawClient, a_batch, frame_of, produce_of

from penstock.errors import ErrorCode
from penstock.wire.messages.k00_produce import ProduceResponse

MakeTraffic = Callable[..., Traffic]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_nothing_is_lost_or_doubled_when_a_leader_meets_with(
    cluster: Cluster, topic: str, traffic: MakeTraffic, fault: Fault
) -> None:
    cluster.create(topic, PARTITIONS)
    sending = traffic(cluster, topic)
    sending.go_on()
    fault(cluster, cluster.leader(topic), sending)
    sending.go_on()
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending)


def test_each_broker_is_restarted_in_turn_and_nothing_is_lost_or_doubled(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic, PARTITIONS)
    sending = traffic(cluster, topic)
    for member in cluster.members.values():
        sending.go_on()
        stop(cluster, member, sending)
        cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending)


def test_a_leader_that_was_paused_beyond_its_lease_answers_no_acks_1(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    leader = cluster.leader(topic)
    with leader.connect() as client:
        client.ping()
        leader.pause()
        sending.go_on()
        answer = produce_when_woken(client, leader, topic)
        assert answer == ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending, 1)


def produce_when_woken(client: RawClient, leader: Member, topic: str) -> int:
    """The error that the leader answers a request with which it finds when it wakes up."""
    request = produce_of(topic, a_batch(b"too late"), acks=1)
    client.send(frame_of(request, PRODUCE_VERSION))
    leader.wake()
    answer = client.answer_to(ProduceResponse, PRODUCE_VERSION)
    return answer.responses[0].partition_responses[0].error_code


def test_a_follower_that_is_cut_off_leaves_the_in_sync_replicas_and_comes_back(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic, replica_lag_time_max_ms="1000")
    sending = traffic(cluster, topic)
    sending.go_on()
    leader = cluster.leader(topic)
    follower = cluster.others(leader)[0]
    cluster.roads.cut(f"broker-{follower.node_id}", leader.node_id)
    cluster.wait(lambda: follower.node_id not in cluster.in_sync(topic), "it is left behind")
    sending.go_on()
    cluster.repair()
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending, 1)


def test_a_leader_that_is_cut_off_from_its_followers_acks_nothing_by_itself(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic, replica_lag_time_max_ms="1000")
    sending = traffic(cluster, topic)
    sending.go_on()
    leader = cluster.leader(topic)
    cluster.isolate(leader)
    with leader.connect() as client:
        answer = client.produce(topic, a_batch(b"?"), timeout_ms=200)
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
        cluster.wait(lambda: cluster.in_sync(topic) == {leader.node_id}, "others are left behind")
        assert client.produce(topic, a_batch(b"?")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    cluster.repair()
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending, 1)


def test_with_too_few_in_sync_acks_all_is_refused_and_what_acks_1_wrote_is_not_shown(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    leader = cluster.leader(topic)
    for other in cluster.others(leader):
        other.kill()
    cluster.wait(lambda: cluster.in_sync(topic) == {leader.node_id}, "the others are gone")
    with leader.connect() as client:
        assert client.produce(topic, a_batch(b"?")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        committed = client.end_of(topic)
        answer = client.produce(topic, a_batch(b"?", b"?"), acks=1)
        assert answer.error_code == ErrorCode.NONE
        assert answer.base_offset >= committed == client.end_of(topic)
        for other in cluster.others(leader):
            other.start()
        cluster.wait(lambda: client.end_of(topic) > answer.base_offset + 1, "it is committed")
    sending.go_on()
    acked = sending.finish()
    found = read_all(cluster.address, topic, [0])
    check_exactly_once(acked, found)
    assert {answer.base_offset, answer.base_offset + 1} <= {each.offset for each in found}


def test_what_acks_1_has_acked_survives_the_death_of_a_follower(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic)
    sending = traffic(cluster, topic, enable_idempotence=False, acks=1)
    sending.go_on()
    follower = cluster.others(cluster.leader(topic))[0]
    kill(cluster, follower, sending)
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending, 1)


def test_a_broker_that_is_added_later_leads_and_follows_like_the_others(
    own_cluster: Callable[..., Cluster], topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster().start(1)
    cluster.create("alone", replicas=1)
    sending = traffic(cluster, "alone")
    sending.go_on()
    cluster.start(2)
    cluster.create(topic, 6)
    assert {cluster.leader(topic, index).node_id for index in range(6)} == {1, 2, 3}
    later = traffic(cluster, topic)
    later.go_on()
    cluster[1].kill()
    later.go_on()
    cluster[1].start()
    sending.go_on()
    check(cluster, later, 6)
    check(cluster, sending, 1)
    cluster.check_lines()
