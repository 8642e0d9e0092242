"""Settings that brokers must agree on: what counts is in the store, and nothing else."""

from __future__ import annotations

import pytest
from tests.metadata.staging import Cluster

from penstock.config import SAME_EVERYWHERE
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.cluster_changes import found_cluster
from penstock.metadata.config_changes import change_broker_configs, replace_broker_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.image import Image
from penstock.metadata.records import ConfigRecord, broker_config_key, encode
from penstock.metadata.store import Entry, Event
from penstock.metadata.topic_settings import shared, unheeded

NAME = "min.insync.replicas"


def minimum(image: Image) -> int:
    return image.settings.of_topic(image.topics["orders"]).min_insync_replicas


def seen_by(cluster: Cluster, node_id: int, **texts: str) -> Image:
    """The cluster, as a broker sees it that was started with these settings."""
    image = Image(node_id, {name.replace("_", "."): text for name, text in texts.items()})
    entries = [Entry(key, encode(record), at) for key, record, at in cluster.image.held()]
    image.load(entries, cluster.now)
    return image


def test_those_are_the_settings_that_leaders_and_the_controller_go_by() -> None:
    assert {NAME, "unclean.leader.election.enable"} == SAME_EVERYWHERE


def test_brokers_with_different_settings_go_by_one_minimum() -> None:
    cluster = Cluster("", "", "")
    cluster.create(partitions=1, replication=3)
    assert {
        minimum(seen_by(cluster, each, min_insync_replicas=f"{each}")) for each in (1, 2, 3)
    } == {2}
    every = replace_broker_configs(cluster.image, None, {NAME: "3"})
    cluster.apply(every)
    assert minimum(seen_by(cluster, 1, min_insync_replicas="1")) == 3


def test_what_one_broker_was_given_before_does_not_count() -> None:
    cluster = Cluster("", "", "")
    cluster.create(partitions=1, replication=3)
    image = seen_by(cluster, 1)
    entry = Entry("", encode(ConfigRecord(configs={NAME: "1"})), cluster.now + 1)
    image.apply([Event(broker_config_key(1), entry, cluster.now + 1)], cluster.now + 1)
    assert minimum(image) == 2


def test_what_the_founder_was_started_with_holds_for_the_cluster() -> None:
    texts = {NAME: "1", "log.retention.ms": "5"}
    commit: Commit[str] = found_cluster(Image(), "abc", b"secret", shared(texts))
    assert (broker_config_key(None), encode(ConfigRecord(configs={NAME: "1"}))) in commit.puts


@pytest.mark.parametrize("name", sorted(SAME_EVERYWHERE))
def test_one_broker_alone_is_given_no_setting_that_all_must_agree_on(name: str) -> None:
    cluster = Cluster("")
    change = ConfigChange(name, Operation.SET, "1")
    with pytest.raises(Refused, match="must be the same on all brokers") as refused:
        change_broker_configs(cluster.image, 1, [change])
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert change_broker_configs(cluster.image, None, [change]).puts


def test_what_one_broker_was_given_before_can_be_taken_back_and_hinders_nothing() -> None:
    cluster = Cluster("")
    old = ConfigRecord(configs={NAME: "1"})
    cluster.apply(Commit(None, puts=[(broker_config_key(1), encode(old))]))
    other = ConfigChange("log.retention.ms", Operation.SET, "5")
    back = ConfigChange(NAME, Operation.DELETE)
    assert change_broker_configs(cluster.image, 1, [other]).puts
    assert change_broker_configs(cluster.image, 1, [back]).answer.configs == {}


def test_a_broker_is_told_what_of_its_settings_does_not_count() -> None:
    texts = {NAME: "1", "log.retention.ms": "5"}
    (line,) = unheeded(texts, {NAME: "2"})
    assert "min.insync.replicas=1 of this broker's settings does not count" in line
    assert "the cluster has 2" in line
    (line,) = unheeded(texts, {})
    assert "the cluster has the default" in line
    assert not list(unheeded(texts, {NAME: " 1"}))
