"""What a backup keeps, and how it is put back where the data may be newer than it."""

from __future__ import annotations

import pytest
from tests.metadata.staging import ID, Cluster

from penstock.errors import Unusable
from penstock.metadata.backup import (
    EPOCH_MARGIN,
    EPOCH_MAX,
    FIRST_MS,
    PRODUCER_ID_MARGIN,
    SECONDS_MAX,
    image_of,
    kept,
    restored,
    summary,
)
from penstock.metadata.changes import create_topic
from penstock.metadata.cluster_changes import allocate_producer_ids, announce_leaving, join
from penstock.metadata.image import Image
from penstock.metadata.records import (
    CLUSTER,
    MemberRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TermRecord,
    encode,
    partition_key,
)
from penstock.metadata.store import Entry
from penstock.metadata.terms import begin_term, take_lease
from penstock.world.ports import Chance
from penstock.world.real import RealChance

NOW_MS = FIRST_MS + 60_000_000_000
NEWER = "/of-a-later-release/1"


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster("", "")
    cluster.apply(take_lease(cluster.image, 1, "session 1"))
    cluster.apply(begin_term(cluster.image, 1, "session 1"))
    cluster.apply(join(cluster.image, 1, b"1", 5))
    cluster.apply(allocate_producer_ids(cluster.image, nonce=b"n"))
    cluster.create(assignments={0: [1, 2], 1: [2, 1]})
    cluster.apply(announce_leaving(cluster.image, 2, "session 2"))
    return cluster


def entries(cluster: Cluster) -> list[Entry]:
    return [Entry(key, encode(record), revision) for key, record, revision in cluster.image.held()]


def put_back(cluster: Cluster) -> Image:
    return life_of(kept(entries(cluster)))


def life_of(backup: list[Entry], now_ms: int = NOW_MS, chance: Chance | None = None) -> Image:
    puts = restored(backup, now_ms, chance or RealChance())
    return image_of(Entry(key, value, 1) for key, value in puts)


def test_what_belongs_to_running_processes_is_not_kept(cluster: Cluster) -> None:
    image = image_of(kept(entries(cluster)))
    assert not image.brokers
    assert not image.leaving
    assert image.controller_id == -1
    assert image.cluster_id == "abc"
    assert image.topics.keys() == {"orders"}
    assert summary(image) == {"cluster_id": "abc", "topics": 1, "partitions": 2, "brokers": [1, 2]}


def test_what_is_bound_to_a_lease_is_not_kept_whatever_it_is() -> None:
    bound = Entry(NEWER, b"{}", 1, "a session")
    assert kept([bound]) == []


def test_keys_of_a_later_release_are_kept_as_they_are(cluster: Cluster) -> None:
    listed = [*entries(cluster), Entry(NEWER, b'{"version":9}', 1)]
    assert (NEWER, b'{"version":9}') in restored(kept(listed), NOW_MS, RealChance())


def test_partitions_that_no_topic_has_are_not_kept(cluster: Cluster) -> None:
    record = encode(PartitionRecord(replicas=(1,), leader=1, isr=(1,)))
    left = [Entry(partition_key(b"z" * 16, 0), record, 1), Entry(partition_key(ID, 2), record, 1)]
    keys = {entry.key for entry in kept([*entries(cluster), *left])}
    assert partition_key(ID, 1) in keys
    assert not keys & {entry.key for entry in left}


def test_the_clusters_own_record_is_written_last(cluster: Cluster) -> None:
    assert restored(kept(entries(cluster)), NOW_MS, RealChance())[-1][0] == CLUSTER


def test_a_backup_without_a_cluster_is_refused() -> None:
    with pytest.raises(Unusable, match="no cluster"):
        restored([], NOW_MS, RealChance())


def test_nobody_leads_before_it_is_known_who_has_most(cluster: Cluster) -> None:
    record = put_back(cluster).topics["orders"].partition(0)
    assert record is not None
    assert (record.replicas, record.leader, record.isr, record.claims) == ((1, 2), -1, (), ())


def test_epochs_and_producer_ids_begin_above_those_in_use_since(cluster: Cluster) -> None:
    image = put_back(cluster)
    record, term = image.topics["orders"].partition(0), image.single(TermRecord)
    ids, member = image.single(ProducerIdsRecord), image.members[1].record
    assert record is not None
    assert term is not None
    assert ids is not None
    assert record.leader_epoch == record.partition_epoch >= EPOCH_MARGIN
    assert term.record.epoch > EPOCH_MARGIN
    assert ids.record.next_id >= 1000 + PRODUCER_ID_MARGIN
    assert member == MemberRecord(node_id=1, owner=b"1", mark=5, is_restored=True)


def epoch_of(image: Image) -> int:
    record = image.topics["orders"].partition(0)
    assert record is not None
    return record.leader_epoch


def next_id_of(image: Image) -> int:
    held = image.single(ProducerIdsRecord)
    assert held is not None
    return held.record.next_id


def test_a_backup_that_is_put_back_again_begins_above_the_life_before(cluster: Cluster) -> None:
    backup = kept(entries(cluster))
    first, second = life_of(backup), life_of(backup, NOW_MS + 60_000)
    assert epoch_of(second) > epoch_of(first)
    assert next_id_of(second) > next_id_of(first)


def test_of_a_life_that_began_later_by_a_wrong_clock_no_producer_id_is_handed_out_again(
    cluster: Cluster,
) -> None:
    for backup in (kept(entries(cluster)), kept(entries(put_back_at(cluster, NOW_MS)))):
        firsts = {next_id_of(life_of(backup, FIRST_MS - 1)) for _ in range(3)}
        assert len(firsts) == 3


def put_back_at(cluster: Cluster, now_ms: int) -> Cluster:
    image = life_of(kept(entries(cluster)), now_ms)
    after = Cluster()
    after.image = image
    return after


def test_producer_ids_that_the_backup_knows_nothing_of_are_not_handed_out_again() -> None:
    fresh = Cluster()
    assert next_id_of(life_of(kept(entries(fresh)))) >= PRODUCER_ID_MARGIN


def test_a_clock_that_is_far_ahead_uses_up_neither_epochs_nor_producer_ids(
    cluster: Cluster,
) -> None:
    image = life_of(kept(entries(cluster)), FIRST_MS * 1000)
    assert epoch_of(image) == SECONDS_MAX <= EPOCH_MAX // 2 + 1
    assert next_id_of(image) < 1 << 62


def test_epochs_that_would_not_fit_are_refused(cluster: Cluster) -> None:
    record = PartitionRecord(replicas=(1,), leader=1, isr=(1,), leader_epoch=EPOCH_MAX)
    listed = [each for each in entries(cluster) if each.key != partition_key(ID, 0)]
    with pytest.raises(Unusable, match="epochs"):
        life_of([*listed, Entry(partition_key(ID, 0), encode(record), 1)])


def test_a_topic_that_was_being_created_is_not_half_kept(cluster: Cluster) -> None:
    commit = create_topic(
        cluster.image, "new", topic_id=b"z" * 16, now_ms=1, partitions=3, replication=1
    )
    ahead = [Entry(key, value, 1) for key, value in commit.ahead]
    found = image_of(kept([*entries(cluster), *ahead]))
    assert not list(found.orphans())
