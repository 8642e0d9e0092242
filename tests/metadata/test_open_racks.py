"""Who may be given replicas, and where each broker stands."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metadata.staging import Cluster, broker

from penstock.config import BrokerConfig
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import add_partitions, delete_topic
from penstock.metadata.cluster_changes import join, remove_member
from penstock.metadata.config_changes import change_broker_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.internal_topics import OFFSETS, create_internal_topic
from penstock.metadata.placement import DRAINING, drains, open_racks, place_new, widened


def hosts(*names: str) -> Cluster:
    """Brokers without racks, from 1 on, on these hosts."""
    cluster = Cluster()
    for number, host in enumerate(names, 1):
        record = broker(number, host=host)
        cluster.register(record, f"session {number}")
    return cluster


def drain(cluster: Cluster, node_id: int, text: str = "true") -> None:
    change = ConfigChange(DRAINING, Operation.SET, text)
    cluster.apply(change_broker_configs(cluster.image, node_id, [change]))


def replicas(cluster: Cluster) -> list[tuple[int, ...]]:
    return [each.replicas for each in cluster.image.topics["orders"].partitions if each]


def test_brokers_of_one_host_share_a_rack_where_none_is_said() -> None:
    cluster = hosts("h1", "h1", "h2", "h2")
    cluster.create(partitions=8, replication=2)
    assert all(len({(each - 1) // 2 for each in pair}) == 2 for pair in replicas(cluster))


def test_on_one_host_replicas_share_it() -> None:
    cluster = hosts("h", "h", "h")
    cluster.create(partitions=3, replication=3)
    assert all(len(set(each)) == 3 for each in replicas(cluster))


def test_a_rack_that_is_said_counts_and_not_the_host() -> None:
    cluster = Cluster("a", "b")
    assert open_racks(cluster.image) == {1: "a", 2: "b"}


def test_the_topic_of_groups_is_made_while_a_broker_drains() -> None:
    cluster = hosts("h1", "h2", "h3")
    drain(cluster, 2)
    cluster.apply(
        create_internal_topic(cluster.image, OFFSETS, BrokerConfig(), topic_id=b"o" * 16, now_ms=1)
    )
    made = cluster.image.topics[OFFSETS]
    assert made.record.replication_factor == 2
    assert {broker for each in made.partitions if each for broker in each.replicas} == {1, 3}


def test_a_draining_broker_is_given_nothing() -> None:
    cluster = hosts("h1", "h2", "h3")
    drain(cluster, 2)
    assert drains(cluster.image, 2)
    cluster.create(partitions=6, replication=2)
    assert {each for pair in replicas(cluster) for each in pair} == {1, 3}
    drain(cluster, 2, "false")
    cluster.apply(add_partitions(cluster.image, "orders", 12, nonce=b"n"))
    assert 2 in {each for pair in replicas(cluster)[6:] for each in pair}


def test_too_few_brokers_for_the_replicas_is_said_with_the_reason() -> None:
    cluster = hosts("h1", "h2", "h3")
    with pytest.raises(Refused, match=r"4 replicas need as many brokers, and 3 are alive$"):
        cluster.create(replication=4)
    drain(cluster, 1)
    with pytest.raises(Refused, match="and 2 are alive and not draining") as caught:
        cluster.create(replication=3)
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_many_small_topics_go_by_and_by_to_who_has_least() -> None:
    cluster = hosts("h1", "h2", "h3")
    for number in range(90):
        cluster.create(f"old-{number}", bytes([number]) * 16, partitions=1)
    cluster.register(broker(4, host="h4"), "session 4")
    for number in range(40):
        topic_id = sha256(b"%d" % number).digest()[:16]
        cluster.create(f"new-{number}", topic_id, partitions=1)
    topics = cluster.image.topics.items()
    new = Counter(
        topic.partitions[0].replicas[0]
        for name, topic in topics
        if name.startswith("new") and topic.partitions[0]
    )
    assert new[4] > 40 / 4 + 5
    assert len(new) > 1


@given(st.integers(1, 40), st.integers(1, 4), st.binary(min_size=16, max_size=16), st.data())
def test_a_topic_is_even_whatever_brokers_hold_already(
    count: int, replication: int, topic_id: bytes, data: st.DataObject
) -> None:
    racks = dict.fromkeys(range(4), "")
    held = data.draw(st.dictionaries(st.integers(0, 3), st.integers(0, 1000)))
    placed = place_new(topic_id, 0, count, replication, racks, held)
    leads = Counter(dict.fromkeys(racks, 0)) + Counter(each[0] for each in placed)
    assert len(placed) == count
    assert max(leads.values()) - min((leads[each] for each in racks), default=0) <= 1


def test_more_replicas_go_to_other_racks_and_to_who_holds_least() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    assert widened((1,), 2, racks, {3: 5, 4: 1}) == (1, 4)
    assert widened((1,), 3, racks, {2: 0, 3: 5, 4: 7}) == (1, 3, 2)
    assert widened((1, 2), 9, racks, {}) == (1, 2, 3, 4)


# Brokers that go for good


def test_a_broker_is_forgotten_once_it_is_down_and_holds_nothing() -> None:
    cluster = hosts("h1", "h2")
    cluster.apply(join(cluster.image, 2, b"2"))
    drain(cluster, 2)
    cluster.create(assignments={0: [2]})
    for problem in ("alive", "1 replicas"):
        with pytest.raises(Refused, match=problem):
            remove_member(cluster.image, 2)
        if problem == "alive":
            cluster.lose(2)
    cluster.apply(delete_topic(cluster.image, "orders", nonce=b"n"))
    cluster.apply(remove_member(cluster.image, 2))
    assert not drains(cluster.image, 2)
    with pytest.raises(Refused) as caught:
        remove_member(cluster.image, 2)
    assert caught.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_broker_with_the_id_of_a_forgotten_one_is_a_new_one() -> None:
    cluster = hosts("h1", "h2")
    cluster.apply(join(cluster.image, 2, b"2"))
    cluster.lose(2)
    cluster.apply(remove_member(cluster.image, 2))
    commit = join(cluster.image, 2, b"another")
    assert commit.answer is True
    cluster.apply(commit)
    assert not cluster.image.members[2].record.is_gone


def test_nobody_forgets_a_broker_that_never_was() -> None:
    with pytest.raises(Refused) as caught:
        remove_member(hosts("h1").image, 7)
    assert caught.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED
