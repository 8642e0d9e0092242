"""The image: a replay of entries that is the same whichever way it got there."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Unusable
from penstock.metadata.cluster import Changed, Topic
from penstock.metadata.image import Image
from penstock.metadata.records import (
    CLUSTER,
    FEATURES,
    BrokerRecord,
    ClusterRecord,
    ConfigRecord,
    FeaturesRecord,
    PartitionRecord,
    Record,
    TopicRecord,
    broker_config_key,
    broker_key,
    encode,
    partition_key,
    topic_key,
)
from penstock.metadata.store import Entry, Event

ID, OTHER_ID = b"\x01" * 16, b"\x02" * 16


def topic(name: str = "orders", topic_id: bytes = ID, **rest: object) -> tuple[str, Record]:
    given = {"partitions": 1, "replication_factor": 1, "created_ms": 0, **rest}
    return topic_key(name), TopicRecord(name=name, topic_id=topic_id, **given)  # type: ignore[arg-type]


def partition(index: int = 0, topic_id: bytes = ID, leader_epoch: int = 0) -> tuple[str, Record]:
    record = PartitionRecord(replicas=(1,), leader=1, isr=(1,), leader_epoch=leader_epoch)
    return partition_key(topic_id, index), record


class History:
    """Steps that a store might have gone through."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.revision = 0

    def step(self, puts: Iterable[tuple[str, Record]], deletes: Iterable[str] = ()) -> list[Event]:
        self.revision += 1
        events = []
        for key, record in puts:
            self.entries[key] = Entry(key, encode(record), self.revision)
            events.append(Event(key, self.entries[key], self.revision))
        gone = [key for key in deletes if self.entries.pop(key, None)]
        return events + [Event(key, None, self.revision) for key in gone]


def after(
    image: Image, history: History, puts: Sequence[tuple[str, Record]], deletes: Sequence[str] = ()
) -> Changed:
    return image.apply(history.step(puts, deletes), history.revision)


# Lookups


def test_an_empty_image_has_nothing() -> None:
    image = Image()
    assert (image.revision, image.cluster_id, image.features_epoch) == (0, "", -1)
    assert not image.topics
    assert not image.brokers
    assert not image.finalized_features
    assert image.topic("orders") is None
    assert image.partition(ID, 0) is None


def test_a_topic_is_found_by_name_and_by_id_with_its_partitions() -> None:
    image = Image()
    after(image, History(), [topic(partitions=2), partition(0), partition(1, leader_epoch=7)])
    found = image.topic("orders")
    assert found is not None
    assert found is image.topic_by_id(ID)
    assert [p and p.leader_epoch for p in found.partitions] == [0, 7]
    assert image.partition(ID, 1) is found.partition(1)
    assert found.partition_revision(1) == 1


@pytest.mark.parametrize("index", [-1, 1, 1000])
def test_a_partition_that_is_not_there_is_none(index: int) -> None:
    image = Image()
    after(image, History(), [topic(), partition(0), partition(1)])
    assert image.partition(ID, index) is None


def test_the_order_of_entries_does_not_matter() -> None:
    image = Image()
    changed = after(image, History(), [partition(0), topic()])
    assert image.partition(ID, 0) is not None
    assert list(changed.partitions) == [(ID, 0)]


def test_the_cluster_its_features_and_its_brokers_are_known() -> None:
    image = Image()
    after(
        image,
        History(),
        [
            (CLUSTER, ClusterRecord(cluster_id="abc")),
            (FEATURES, FeaturesRecord(levels={"penstock.version": 1}, epoch=3)),
            (broker_key(2), BrokerRecord(node_id=2, host="h", port=1, rack="b")),
            (broker_key(1), BrokerRecord(node_id=1, host="h", port=1, rack="a")),
        ],
    )
    assert image.cluster_id == "abc"
    assert (image.finalized_features, image.features_epoch) == ({"penstock.version": 1}, 3)
    assert (image.brokers[2].node_id, image.brokers[2].epoch) == (2, 1)
    assert image.racks() == {1: "a", 2: "b"}


def test_keys_of_a_later_release_are_passed_over() -> None:
    image = Image()
    image.apply([Event("/zebras/1", Entry("/zebras/1", b"?", 1), 1)], 1)
    assert image.revision == 1


def test_a_record_of_a_newer_release_is_refused() -> None:
    value = encode(ClusterRecord(cluster_id="abc", version=2))
    with pytest.raises(Unusable, match=r"/cluster has format version 2.*newer release"):
        Image().load([Entry(CLUSTER, value, 1)], 1)


def test_a_newer_record_is_told_from_a_broken_one_even_if_it_has_another_shape() -> None:
    with pytest.raises(Unusable, match="newer release"):
        Image().load([Entry(CLUSTER, b'{"version": 3, "cluster_id": 5}', 1)], 1)
    with pytest.raises(Unusable, match="cannot be read"):
        Image().load([Entry(CLUSTER, b'{"version": 1, "cluster_id": 5}', 1)], 1)
    with pytest.raises(Unusable, match="cannot be read"):
        Image().load([Entry(CLUSTER, b"...", 1)], 1)


# What changed


def test_a_new_topic_is_reported_with_its_partitions() -> None:
    changed = after(Image(), History(), [topic(partitions=2), partition(0), partition(1)])
    assert set(changed.created) == {ID}
    assert list(changed.partitions) == [(ID, 0), (ID, 1)]
    assert not changed.altered
    assert not changed.deleted


def test_a_topic_with_other_settings_is_altered_in_place() -> None:
    image, history = Image(), History()
    after(image, history, [topic(), partition()])
    before = image.topic("orders")
    changed = after(image, history, [topic(configs={"retention.ms": "5"})])
    assert changed.altered == {ID: before}
    assert not changed.partitions
    assert before is not None
    assert image.settings.of_topic(before).retention_ms == 5


def test_a_deleted_topic_is_reported_without_its_partitions() -> None:
    image, history = Image(), History()
    after(image, history, [topic(), partition()])
    changed = after(image, history, [], [partition()[0], topic()[0]])
    assert [deleted.name for deleted in changed.deleted.values()] == ["orders"]
    assert not changed.partitions
    assert image.topic_by_id(ID) is None
    assert not list(image.held())


def test_a_topic_created_anew_under_its_name_is_another() -> None:
    image, history = Image(), History()
    after(image, history, [topic(), partition()])
    changed = after(
        image, history, [topic(topic_id=OTHER_ID), partition(0, OTHER_ID)], [partition()[0]]
    )
    assert (set(changed.deleted), set(changed.created)) == ({ID}, {OTHER_ID})
    assert list(changed.partitions) == [(OTHER_ID, 0)]
    assert image.topic_by_id(ID) is None


def test_a_topic_that_came_and_went_in_one_step_is_not_reported() -> None:
    image, history = Image(), History()
    events = history.step([topic(), partition()]) + history.step([], [topic()[0], partition()[0]])
    assert image.apply(events, history.revision) == Changed()


def test_brokers_features_and_settings_of_brokers_are_reported() -> None:
    changed = after(
        Image(),
        History(),
        [
            (broker_key(4), BrokerRecord(node_id=4, host="h", port=1)),
            (FEATURES, FeaturesRecord(levels={}, epoch=0)),
            (broker_config_key(None), ConfigRecord(configs={})),
        ],
    )
    assert (changed.brokers, changed.features, changed.broker_configs) == ({4}, True, True)


def test_loading_anew_reports_only_what_differs() -> None:
    image, history = Image(), History()
    after(image, history, [topic(), partition(), topic("kept", OTHER_ID)])
    history.step([topic("new", b"\x03" * 16)], [topic()[0], partition()[0]])
    changed = image.load(history.entries.values(), history.revision)
    assert (set(changed.created), set(changed.deleted)) == ({b"\x03" * 16}, {ID})
    assert not changed.altered
    assert image.revision == history.revision


# Settings in force


def test_settings_are_laid_over_each_other() -> None:
    image = Image(
        node_id=1,
        defaults={"log.retention.ms": "1", "log.segment.bytes": "2000", "log.retention.bytes": "9"},
    )
    history = History()
    after(image, history, [topic(configs={"retention.ms": "4"}), topic("plain", OTHER_ID)])
    after(
        image,
        history,
        [
            (broker_config_key(None), ConfigRecord(configs={"log.retention.bytes": "2"})),
            (broker_config_key(1), ConfigRecord(configs={"log.segment.bytes": "3000"})),
            (broker_config_key(2), ConfigRecord(configs={"log.segment.bytes": "4000"})),
        ],
    )
    configs = [image.settings.of_topic(image.topics[name]) for name in ("orders", "plain")]
    shown = [(c.retention_ms, c.retention_bytes, c.segment_bytes) for c in configs]
    assert shown == [(4, 2, 3000), (1, 2, 3000)]


def test_settings_in_force_follow_a_change_of_a_brokers_settings() -> None:
    image, history = Image(), History()
    after(image, history, [topic()])
    assert image.settings.of_topic(image.topics["orders"]).retention_bytes == -1
    change = (broker_config_key(None), ConfigRecord(configs={"log.retention.bytes": "2"}))
    after(image, history, [change])
    assert image.settings.of_topic(image.topics["orders"]).retention_bytes == 2
    after(image, history, [], [broker_config_key(None)])
    assert image.settings.of_topic(image.topics["orders"]).retention_bytes == -1


@pytest.mark.parametrize(("replicas", "expected"), [(1, 1), (2, 1), (3, 2), (5, 2)])
def test_from_three_replicas_on_two_must_be_in_sync(replicas: int, expected: int) -> None:
    image = Image()
    after(image, History(), [topic(replication_factor=replicas)])
    assert image.settings.of_topic(image.topics["orders"]).min_insync_replicas == expected


def test_a_setting_of_another_release_is_passed_over() -> None:
    image = Image()
    after(image, History(), [topic(configs={"zebra": "1", "retention.ms": "x", "flush.ms": "3"})])
    config = image.settings.of_topic(image.topics["orders"])
    assert (config.flush_ms, config.retention_ms) == (
        3,
        Image().settings.of_topic(_plain()).retention_ms,
    )


def _plain() -> Topic:
    image = Image()
    after(image, History(), [topic()])
    return image.topics["orders"]


def test_topics_without_settings_of_their_own_share_one_config() -> None:
    image = Image()
    after(image, History(), [topic("a", ID), topic("b", OTHER_ID)])
    assert image.settings.of_topic(image.topics["a"]) is image.settings.of_topic(image.topics["b"])


def test_topics_whose_names_collide_after_all_can_be_deleted() -> None:
    image, history = Image(), History()
    after(image, history, [topic("a.b", ID), topic("a_b", OTHER_ID)])
    after(image, history, [], [topic_key("a_b")])
    after(image, history, [], [topic_key("a.b")])
    assert not image.topics


# Whichever way


def _ids(name: str, generation: int) -> bytes:
    return name.encode() * 15 + bytes([generation])


operations = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.integers(0, 2),
        st.sampled_from(["topic", "partition", "drop topic", "drop partition", "broker", "gone"]),
        st.integers(0, 3),
    ),
    max_size=6,
)


def _step(history: History, step: list[tuple[str, int, str, int]]) -> list[Event]:
    puts: dict[str, Record] = {}
    deletes: dict[str, None] = {}
    for name, generation, what, number in step:
        topic_id = _ids(name, generation)
        match what:
            case "topic":
                puts.update([topic(name, topic_id, partitions=number + 1)])
            case "partition":
                puts.update([partition(number, topic_id, leader_epoch=history.revision)])
            case "drop topic":
                deletes[topic_key(name)] = None
            case "drop partition":
                deletes[partition_key(topic_id, number)] = None
            case "broker":
                puts[broker_key(number)] = BrokerRecord(node_id=number, host=name, port=1)
            case _:
                deletes[broker_key(number)] = None
    return history.step(
        [(key, record) for key, record in puts.items() if key not in deletes], deletes
    )


def _seen(image: Image) -> object:
    topics = {
        name: (found.record, found.revision, list(found.partitions), image.colliding(name))
        for name, found in image.topics.items()
    }
    by_id = {found.id: image.topic_by_id(found.id) is found for found in image.topics.values()}
    return image.revision, sorted(image.held(), key=lambda held: held[0]), topics, by_id


@given(st.lists(operations, max_size=12), st.integers(0, 12))
def test_replaying_steps_and_loading_give_the_same(
    steps: list[list[tuple[str, int, str, int]]], half: int
) -> None:
    history, replayed, resumed, batched = History(), Image(), Image(), Image()
    pending: list[Event] = []
    for number, step in enumerate(steps):
        events = _step(history, step)
        replayed.apply(events, history.revision)
        pending += events
        if number == half:
            resumed.load(list(history.entries.values()), history.revision)
    batched.apply(pending, history.revision)
    resumed.load(list(history.entries.values()), history.revision)
    loaded = Image()
    loaded.load(list(history.entries.values()), history.revision)
    assert _seen(replayed) == _seen(loaded) == _seen(resumed) == _seen(batched)
    assert loaded._tables.keys() == replayed._tables.keys() == resumed._tables.keys()


def test_ten_thousand_partitions_take_little_memory() -> None:
    history, image = History(), Image()
    events = history.step(
        [topic(partitions=10_000), *(partition(i, leader_epoch=i % 50) for i in range(10_000))]
    )
    tracemalloc.start()
    image.apply(events, 1)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / 10_000 < 200
