"""Every change to the cluster's metadata, and every reason to refuse one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from tests.metadata.staging import ID, Cluster, broker

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import (
    PARTITIONS_MAX,
    add_partitions,
    create_topic,
    delete_topic,
)
from penstock.metadata.cluster_changes import (
    FeatureUpdate,
    allocate_producer_ids,
    found_cluster,
    register_broker,
    update_features,
)
from penstock.metadata.config_changes import (
    change_broker_configs,
    change_topic_configs,
    replace_broker_configs,
    replace_topic_configs,
)
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.features import INITIAL, SUPPORTED
from penstock.metadata.records import deleted_key

SET, DELETE, APPEND, SUBTRACT = Operation
NONCE = b"n" * 16


@pytest.fixture
def cluster() -> Cluster:
    return Cluster("", "", "")


def refused(code: ErrorCode, message: str, change: Callable[[], object]) -> None:
    with pytest.raises(Refused, match=message) as caught:
        change()
    assert caught.value.code is code


# Topics


def test_a_created_topic_has_its_partitions_led_by_their_first_replica(cluster: Cluster) -> None:
    changed = cluster.create(partitions=6, replication=3, configs={"retention.ms": "7"})
    topic = cluster.image.topics["orders"]
    assert (topic.id, topic.record.partitions, topic.record.replication_factor) == (ID, 6, 3)
    assert (topic.record.created_ms, topic.record.configs) == (5, {"retention.ms": "7"})
    for partition in topic.partitions:
        assert partition is not None
        assert sorted(partition.replicas) == [1, 2, 3]
        assert (partition.leader, partition.isr) == (partition.replicas[0], partition.replicas)
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
    assert len(changed.partitions) == 6


def test_a_topic_can_be_created_with_its_replicas_assigned(cluster: Cluster) -> None:
    cluster.create(assignments={0: [2, 1], 1: [3, 2]})
    partitions = cluster.image.topics["orders"].partitions
    assert [p and p.replicas for p in partitions] == [(2, 1), (3, 2)]


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "a" * 250, "a\n"])
def test_a_name_that_kafka_would_not_take_is_refused(cluster: Cluster, name: str) -> None:
    refused(ErrorCode.INVALID_TOPIC, "name", lambda: cluster.create(name))


@pytest.mark.parametrize("name", ["a", "...", "A-b_c.9", "a" * 249, "__consumer_offsets"])
def test_a_name_that_kafka_would_take_is_taken(cluster: Cluster, name: str) -> None:
    cluster.create(name)
    assert name in cluster.image.topics


def test_a_name_that_differs_by_dots_and_underscores_alone_is_refused(cluster: Cluster) -> None:
    cluster.create("a.b_c")
    refused(
        ErrorCode.INVALID_TOPIC, "collides with a.b_c", lambda: cluster.create("a_b.c", b"2" * 16)
    )


def test_a_topic_that_exists_is_not_created_again(cluster: Cluster) -> None:
    cluster.create()
    refused(ErrorCode.TOPIC_ALREADY_EXISTS, "orders already", cluster.create)


@pytest.mark.parametrize("partitions", [0, -1, -5, PARTITIONS_MAX + 1])
def test_a_number_of_partitions_out_of_bounds_is_refused(cluster: Cluster, partitions: int) -> None:
    refused(
        ErrorCode.INVALID_PARTITIONS, str(partitions), lambda: cluster.create(partitions=partitions)
    )


def test_more_replicas_than_live_brokers_are_refused_with_their_number(cluster: Cluster) -> None:
    code = ErrorCode.INVALID_REPLICATION_FACTOR
    refused(code, "4 replicas .* 3 are alive", lambda: cluster.create(replication=4))
    refused(code, "at least 1", lambda: cluster.create(replication=0))
    refused(code, "2 replicas .* 1 is alive", lambda: Cluster("").create(replication=2))


@pytest.mark.parametrize(
    ("assignments", "problem"),
    [
        ({1: [1]}, "from 0 on"),
        ({0: [1], 2: [1]}, "from 0 on"),
        ({0: []}, "no replicas"),
        ({0: [1], 1: [1, 2]}, "partition 1 has 2 replicas, and the first has 1"),
        ({0: [1, 1]}, "twice"),
        ({0: [1, 9]}, r"not alive: \[9\]"),
    ],
)
def test_an_assignment_that_makes_no_sense_is_refused(
    cluster: Cluster, assignments: dict[int, list[int]], problem: str
) -> None:
    refused(
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        problem,
        lambda: cluster.create(assignments=assignments),
    )


def test_an_assignment_and_numbers_together_are_refused(cluster: Cluster) -> None:
    refused(
        ErrorCode.INVALID_REQUEST,
        "not all three",
        lambda: cluster.create(assignments={0: [1]}, partitions=1),
    )


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({"retention.mss": "1"}, "did you mean retention.ms"),
        ({"retention.ms": "-2"}, "less than -1"),
        ({"retention.ms": "x"}, "not a whole number"),
        ({"retention.ms": None}, "a value is needed"),
        ({"cleanup.policy": "burn"}, "none of compact, delete"),
        (
            {"cleanup.policy": "compact,delete", "retention.hold.for.archive": "true"},
            "needs cleanup.policy=delete",
        ),
    ],
)
def test_a_topic_with_a_wrong_setting_is_refused(
    cluster: Cluster, configs: dict[str, str | None], problem: str
) -> None:
    refused(ErrorCode.INVALID_CONFIG, problem, lambda: cluster.create(configs=configs))
    cluster.create()
    refused(
        ErrorCode.INVALID_CONFIG,
        problem,
        lambda: replace_topic_configs(cluster.image, "orders", configs, nonce=NONCE, now_ms=5),
    )


def test_a_deleted_topic_leaves_nothing_but_its_id_and_the_catalog(cluster: Cluster) -> None:
    before = set(cluster.revisions)
    cluster.create(partitions=3)
    changed = cluster.apply(delete_topic(cluster.image, "orders", nonce=NONCE))
    assert list(changed.deleted) == [ID]
    assert set(cluster.revisions) - before == {"/catalog", deleted_key(ID)}
    cluster.create(topic_id=b"2" * 16)


def test_what_is_not_there_cannot_be_changed(cluster: Cluster) -> None:
    image = cluster.image
    for change in (
        lambda: delete_topic(image, "absent", nonce=NONCE),
        lambda: add_partitions(image, "absent", 5, nonce=NONCE),
        lambda: replace_topic_configs(image, "absent", {}, nonce=NONCE, now_ms=5),
        lambda: change_topic_configs(image, "absent", [], nonce=NONCE, now_ms=5),
    ):
        refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no topic absent", change)


def test_two_changes_of_the_set_of_topics_meet_in_the_catalog(cluster: Cluster) -> None:
    create = {"topic_id": ID, "now_ms": 0, "partitions": 1, "replication": 1}
    one = create_topic(cluster.image, "a.b", **create)  # type: ignore[arg-type]
    other = create_topic(cluster.image, "a_b", **create)  # type: ignore[arg-type]
    assert set(one.checks) & set(other.checks) == {("/catalog", 0)}
    assert "/catalog" in dict(one.puts)


def test_added_partitions_leave_the_others_as_they_are(cluster: Cluster) -> None:
    cluster.create(partitions=2, replication=2)
    before = list(cluster.image.topics["orders"].partitions)
    changed = cluster.apply(add_partitions(cluster.image, "orders", 5, nonce=NONCE))
    topic = cluster.image.topics["orders"]
    assert topic.record.partitions == len(topic.partitions) == 5
    assert list(topic.partitions[:2]) == before
    assert list(changed.partitions) == [(ID, 2), (ID, 3), (ID, 4)]
    assert list(changed.altered) == [ID]


def test_added_partitions_can_be_assigned(cluster: Cluster) -> None:
    cluster.create()
    cluster.apply(add_partitions(cluster.image, "orders", 2, nonce=NONCE, assignments=[[3]]))
    partition = cluster.image.partition(ID, 1)
    assert partition is not None
    assert partition.replicas == (3,)


@pytest.mark.parametrize(
    ("total", "assignments", "code", "problem"),
    [
        (2, None, ErrorCode.INVALID_PARTITIONS, "2 partitions already, and 2"),
        (1, None, ErrorCode.INVALID_PARTITIONS, "1 is not more"),
        (PARTITIONS_MAX + 1, None, ErrorCode.INVALID_PARTITIONS, "at most"),
        (4, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT, "2 partitions are added"),
        (3, [[1, 2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT, "has 1 replicas of each"),
        (3, [[9]], ErrorCode.INVALID_REPLICA_ASSIGNMENT, "not alive"),
    ],
)
def test_partitions_that_cannot_be_added_are_refused(
    cluster: Cluster,
    total: int,
    assignments: list[list[int]] | None,
    code: ErrorCode,
    problem: str,
) -> None:
    cluster.create(partitions=2)
    refused(
        code,
        problem,
        lambda: add_partitions(
            cluster.image, "orders", total, nonce=NONCE, assignments=assignments
        ),
    )


# Settings


def changed_configs(cluster: Cluster, *changes: ConfigChange) -> dict[str, str]:
    cluster.apply(change_topic_configs(cluster.image, "orders", changes, nonce=NONCE, now_ms=5))
    return cluster.image.topics["orders"].record.configs


def test_replacing_settings_drops_those_not_given(cluster: Cluster) -> None:
    cluster.create(configs={"retention.ms": "7", "flush.ms": "3"})
    commit = replace_topic_configs(
        cluster.image, "orders", {"flush.ms": "4"}, nonce=NONCE, now_ms=5
    )
    cluster.apply(commit)
    assert cluster.image.topics["orders"].record.configs == {"flush.ms": "4"}


def test_changing_settings_keeps_those_not_given(cluster: Cluster) -> None:
    cluster.create(configs={"retention.ms": "7", "flush.ms": "3"})
    changes = ConfigChange("flush.ms", DELETE), ConfigChange("segment.ms", SET, "9")
    assert changed_configs(cluster, *changes) == {"retention.ms": "7", "segment.ms": "9"}


def test_a_list_is_appended_to_and_subtracted_from(cluster: Cluster) -> None:
    cluster.create()
    name = "cleanup.policy"
    assert changed_configs(cluster, ConfigChange(name, APPEND, "compact")) == {
        name: "delete,compact"
    }
    assert changed_configs(cluster, ConfigChange(name, APPEND, "delete")) == {
        name: "delete,compact"
    }
    assert changed_configs(cluster, ConfigChange(name, SUBTRACT, "delete")) == {name: "compact"}


@pytest.mark.parametrize(
    ("changes", "code", "problem"),
    [
        ([ConfigChange("retention.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG, "only a list"),
        ([ConfigChange("retention.ms", SET)], ErrorCode.INVALID_CONFIG, "value is needed"),
        ([ConfigChange("zebra", DELETE)], ErrorCode.INVALID_CONFIG, "unknown setting zebra"),
        (
            [ConfigChange("cleanup.policy", SUBTRACT, "delete")],
            ErrorCode.INVALID_CONFIG,
            "at least one",
        ),
        ([ConfigChange("flush.ms", DELETE)] * 2, ErrorCode.INVALID_REQUEST, "more than once"),
    ],
)
def test_a_wrong_change_of_settings_is_refused(
    cluster: Cluster, changes: list[ConfigChange], code: ErrorCode, problem: str
) -> None:
    cluster.create()
    refused(code, problem, lambda: changed_configs(cluster, *changes))


def test_a_change_that_changes_nothing_writes_nothing(cluster: Cluster) -> None:
    cluster.create(configs={"flush.ms": "3"})
    changes = [ConfigChange("flush.ms", SET, "3"), ConfigChange("segment.ms", DELETE)]
    commit = change_topic_configs(cluster.image, "orders", changes, nonce=NONCE, now_ms=5)
    assert not commit.puts
    assert not commit.checks


@pytest.mark.parametrize("node_id", [None, 1])
def test_settings_of_brokers_are_replaced_and_changed(
    cluster: Cluster, node_id: int | None
) -> None:
    configs = {"log.retention.ms": "5", "disk.free.min.bytes": "6"}
    cluster.apply(replace_broker_configs(cluster.image, node_id, configs))
    changes = [
        ConfigChange("log.retention.ms", DELETE),
        ConfigChange("log.cleanup.policy", APPEND, "compact"),
    ]
    cluster.apply(change_broker_configs(cluster.image, node_id, changes))
    held = cluster.image.settings.broker_config(node_id)
    assert held is not None
    assert held.record.configs == {
        "disk.free.min.bytes": "6",
        "log.cleanup.policy": "delete,compact",
    }
    assert not change_broker_configs(cluster.image, node_id, []).puts


@pytest.mark.parametrize(
    ("configs", "code", "problem"),
    [
        ({"node.id": "5"}, ErrorCode.INVALID_REQUEST, "while the broker runs"),
        ({"zebra": "5"}, ErrorCode.INVALID_CONFIG, "unknown setting"),
        ({"log.retention.ms": "x"}, ErrorCode.INVALID_CONFIG, "not a whole number"),
    ],
)
def test_a_wrong_setting_of_a_broker_is_refused(
    cluster: Cluster, configs: dict[str, str | None], code: ErrorCode, problem: str
) -> None:
    refused(code, problem, lambda: replace_broker_configs(cluster.image, None, configs))


# The cluster


def test_a_cluster_is_founded_once(cluster: Cluster) -> None:
    assert cluster.image.cluster_id == "abc"
    again = found_cluster(cluster.image, "other", b"other")
    assert (again.answer, again.puts) == ("abc", ())


def test_producer_ids_are_never_handed_out_twice(cluster: Cluster) -> None:
    blocks = []
    for _ in range(3):
        commit = allocate_producer_ids(cluster.image, nonce=NONCE)
        cluster.apply(commit)
        blocks.append(commit.answer)
    assert blocks == [range(1000), range(1000, 2000), range(2000, 3000)]


def test_a_brokers_epoch_is_the_revision_of_its_registration(cluster: Cluster) -> None:
    assert cluster.image.brokers[3].epoch == cluster.now
    changed = cluster.register(broker(1, port=7), "later")
    assert changed.brokers == {1}
    registered = cluster.image.brokers[1]
    assert (registered.epoch, registered.session) == (cluster.now, "later")


def test_a_broker_of_another_owner_under_a_live_id_is_refused(cluster: Cluster) -> None:
    refused(
        ErrorCode.DUPLICATE_BROKER_REGISTRATION,
        "broker 1 already, at h:9092",
        lambda: register_broker(cluster.image, broker(1, owner=b"?"), "s"),
    )


def test_a_broker_that_cannot_do_what_the_cluster_does_is_refused(cluster: Cluster) -> None:
    for features in ({}, {"penstock.version": (2, 3)}):
        record = broker(4, features=features)
        refused(
            ErrorCode.UNSUPPORTED_VERSION,
            "works at penstock.version 1",
            partial(register_broker, cluster.image, record, "s"),
        )


def wide_cluster() -> Cluster:
    cluster = Cluster()
    for number in (1, 2):
        features = {**SUPPORTED, "penstock.version": (1, 2), "streams.version": (0, number)}
        cluster.register(broker(number, features=features), "s")
    return cluster


def test_features_are_raised_lowered_and_taken_away() -> None:
    cluster = wide_cluster()
    update = [FeatureUpdate("penstock.version", 2), FeatureUpdate("streams.version", 1)]
    cluster.apply(update_features(cluster.image, update))
    assert cluster.image.finalized_features == {
        **INITIAL,
        "penstock.version": 2,
        "streams.version": 1,
    }
    assert cluster.image.features_epoch == 1
    update = [FeatureUpdate("streams.version", 0, downgrade=True)]
    cluster.apply(update_features(cluster.image, update))
    assert cluster.image.finalized_features == {**INITIAL, "penstock.version": 2}
    assert not update_features(cluster.image, [FeatureUpdate("penstock.version", 2)]).puts


@pytest.mark.parametrize(
    ("update", "problem"),
    [
        (FeatureUpdate("zebra", 1), "broker 1 does not know the feature zebra"),
        (FeatureUpdate("streams.version", 2), "broker 1 supports 0 to 1"),
        (FeatureUpdate("penstock.version", 0, downgrade=True), "supports 1 to 2"),
        (FeatureUpdate("penstock.version", 1), "must be asked for"),
        (FeatureUpdate("streams.version", 1, downgrade=True), "no downgrade"),
    ],
)
def test_a_feature_update_that_cannot_be_is_refused(update: FeatureUpdate, problem: str) -> None:
    cluster = wide_cluster()
    cluster.apply(update_features(cluster.image, [FeatureUpdate("penstock.version", 2)]))
    refused(
        ErrorCode.INVALID_UPDATE_VERSION, problem, lambda: update_features(cluster.image, [update])
    )


def test_a_feature_without_a_name_is_refused(cluster: Cluster) -> None:
    update = [FeatureUpdate("", 1)]
    refused(ErrorCode.INVALID_REQUEST, "name", lambda: update_features(cluster.image, update))
