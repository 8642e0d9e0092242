"""Who may register: a member, with the data folder that it joined with, and nothing in between."""

from __future__ import annotations

import msgspec
import pytest
from tests.metadata.staging import Cluster, broker

from penstock.errors import Refused
from penstock.metadata.cluster_changes import join, register_broker, remove_member
from penstock.metadata.election import resign
from penstock.metadata.records import MemberRecord, encode, member_key
from penstock.metadata.standing import refuse_replaced
from penstock.metadata.store import Put

MARK = 7


@pytest.fixture
def cluster() -> Cluster:
    """Broker 2 has joined, and its lease has ended."""
    cluster = Cluster("", "")
    cluster.lose(2)
    cluster.apply(join(cluster.image, 2, b"2", MARK))
    return cluster


def changed(cluster: Cluster, **fields: object) -> Put:
    record = msgspec.structs.replace(cluster.image.members[2].record, **fields)
    return member_key(2), encode(record)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"is_gone": True}, "was removed while it was not heard of: start it again"),
        ({"owner": b"another"}, "another process has taken its place"),
        ({"is_restored": True}, "start it again, so that it says what it has"),
        ({"mark": MARK + 1}, "with a copy of this data folder"),
    ],
)
def test_a_broker_whose_place_is_not_as_it_left_it_does_not_register(
    cluster: Cluster, fields: dict[str, object], said: str
) -> None:
    cluster._write([changed(cluster, **fields)], (), None)
    with pytest.raises(Refused, match=said):
        register_broker(cluster.image, broker(2), "s", MARK)


def test_a_broker_that_is_no_member_does_not_register(cluster: Cluster) -> None:
    cluster._write((), [member_key(2)], None)
    with pytest.raises(Refused, match="start it again, so that it joins"):
        register_broker(cluster.image, broker(2), "s", MARK)


def test_a_broker_whose_place_is_as_it_left_it_registers_again(cluster: Cluster) -> None:
    cluster.apply(register_broker(cluster.image, broker(2), "s", MARK))
    assert 2 in cluster.image.brokers


def test_what_becomes_of_a_member_between_looking_and_registering_is_not_missed(
    cluster: Cluster,
) -> None:
    commit = register_broker(cluster.image, broker(2), "s", MARK)
    cluster.apply(remove_member(cluster.image, 2))
    assert cluster.image.members[2].record == MemberRecord(node_id=2, owner=b"2", is_gone=True)
    assert (member_key(2), cluster.image.members[2].revision) not in commit.checks
    with pytest.raises(AssertionError):
        cluster.apply(commit)


def test_a_replaced_folder_takes_its_place_again_unless_its_successor_is_the_last_in_sync() -> None:
    cluster = Cluster("", "")
    cluster.create(assignments={index: [1, 2] for index in range(4)})
    cluster.create("notes", bytes(16), assignments={0: [2]})
    cluster.lose(2)
    cluster.apply(join(cluster.image, 2, b"successor", 1))
    refuse_replaced(cluster.image, 2, b"2")
    cluster.apply(resign(cluster.image, 1, lambda topic, index: True))
    with pytest.raises(Refused, match="orders-0, orders-1, orders-2 and 1 more: start it with"):
        refuse_replaced(cluster.image, 2, b"2")
    refuse_replaced(cluster.image, 2, b"successor")
    refuse_replaced(cluster.image, 2, b"a third")


def test_a_member_remembers_a_few_of_the_folders_that_it_has_had(cluster: Cluster) -> None:
    for number in range(20):
        cluster.apply(join(cluster.image, 2, b"%d" % number, 1))
    cluster.apply(join(cluster.image, 2, b"18", 1))
    member = cluster.image.members[2].record
    assert member.replaced == (*(b"%d" % number for number in range(3, 18)), b"19")
