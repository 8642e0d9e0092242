"""Views in the image of the cluster: they come, follow their topic, and go with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from tests.metadata.staging import ID, Cluster

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import add_partitions, create_topic, delete_topic
from penstock.metadata.cluster import Changed
from penstock.metadata.image import Image
from penstock.metadata.records import encode
from penstock.metadata.store import Entry
from penstock.metadata.view_changes import VIEWS_MAX, create_view, delete_view
from penstock.metadata.views import View

NONCE = b"n" * 16
VIEW_ID = b"v" * 16
WHERE = "region = 'eu'"


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster("", "")
    made.create(partitions=2, replication=2)
    return made


def make(cluster: Cluster, name: str = "eu", view_id: bytes = VIEW_ID, **configs: str) -> Changed:
    given = {"view.of": "orders", "view.where": WHERE, **configs}
    return cluster.apply(create_view(cluster.image, name, given, view_id=view_id, now_ms=7))


def view(cluster: Cluster, name: str = "eu") -> View:
    found = cluster.image.readable.topic(name)
    assert isinstance(found, View)
    return found


def refused(code: ErrorCode, message: str, change: Callable[[], object]) -> None:
    with pytest.raises(Refused, match=message) as caught:
        change()
    assert caught.value.code is code


def test_a_view_is_a_topic_to_readers_and_to_nobody_else(cluster: Cluster) -> None:
    changed = make(cluster)
    made, source = view(cluster), cluster.image.topics["orders"]
    assert (made.id, made.source, made.held.where) == (VIEW_ID, source, WHERE)
    assert made.partitions == source.partitions
    assert cluster.image.shown.topic(VIEW_ID) is made
    assert cluster.image.readable.topic_by_id(VIEW_ID) is made
    assert "eu" not in cluster.image.topics
    assert cluster.image.topic_by_id(VIEW_ID) is None
    assert (changed.views, changed.created, changed.partitions) == ({"eu": made}, {}, {})


def test_a_view_has_as_many_partitions_as_its_topic_gets(cluster: Cluster) -> None:
    make(cluster)
    changed = cluster.apply(add_partitions(cluster.image, "orders", 5, nonce=NONCE))
    assert len(view(cluster).partitions) == 5
    assert changed.views == {"eu": view(cluster)}


def test_a_view_goes_with_its_topic_and_leaves_its_name_free(cluster: Cluster) -> None:
    make(cluster)
    changed = cluster.apply(delete_topic(cluster.image, "orders", nonce=NONCE))
    assert changed.views == {"eu": None}
    assert cluster.image.readable.topics == {}
    assert cluster.image.shown.topic(VIEW_ID) is None
    assert cluster.image.colliding("eu") is None
    cluster.create("eu", topic_id=b"e" * 16)
    assert "eu" in cluster.image.topics


def test_a_view_that_is_deleted_leaves_its_topic_as_it_is(cluster: Cluster) -> None:
    make(cluster)
    changed = cluster.apply(delete_view(cluster.image, view(cluster), nonce=NONCE))
    assert changed.views == {"eu": None}
    assert list(cluster.image.readable.topics) == ["orders"]
    assert not cluster.image.views
    make(cluster, view_id=b"w" * 16)
    assert view(cluster).id == b"w" * 16


@pytest.mark.parametrize("views_first", [False, True])
def test_a_store_is_loaded_to_the_same_views_in_any_order(
    cluster: Cluster, views_first: bool
) -> None:
    make(cluster)
    entries = [
        Entry(key, encode(record), revision) for key, record, revision in cluster.image.held()
    ]
    entries.sort(key=lambda entry: entry.key.startswith("/views/"), reverse=views_first)
    loaded = Image()
    changed = loaded.load(entries, cluster.image.revision)
    found = loaded.readable.topic("eu")
    assert isinstance(found, View)
    assert found.source is loaded.topics["orders"]
    assert changed.views == {"eu": found}
    assert loaded.shown.topic(VIEW_ID) is found


def test_no_two_of_either_kind_have_the_same_name(cluster: Cluster) -> None:
    make(cluster, "o.eu")
    refused(ErrorCode.TOPIC_ALREADY_EXISTS, "exists", lambda: make(cluster, "o.eu"))
    refused(ErrorCode.TOPIC_ALREADY_EXISTS, "exists", lambda: make(cluster, "orders"))
    refused(ErrorCode.INVALID_TOPIC, "collides", lambda: make(cluster, "o_eu"))
    refused(ErrorCode.TOPIC_ALREADY_EXISTS, "exists", lambda: cluster.create("o.eu"))


@pytest.mark.parametrize(
    ("configs", "code", "message"),
    [
        ({"view.of": "nope"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no topic nope"),
        ({"view.of": ""}, ErrorCode.INVALID_CONFIG, "needs view.of=TOPIC"),
        ({"view.where": ""}, ErrorCode.INVALID_CONFIG, "needs view.of=TOPIC"),
        ({"retention.ms": "5"}, ErrorCode.INVALID_CONFIG, "so retention.ms cannot be set"),
        ({"view.of": "eu"}, ErrorCode.INVALID_REQUEST, r"view itself, of orders.*region = 'eu'"),
        ({"view.where": "region ="}, ErrorCode.INVALID_CONFIG, r"\^"),
    ],
)
def test_what_cannot_be_a_view_is_refused(
    cluster: Cluster, configs: Mapping[str, str], code: ErrorCode, message: str
) -> None:
    make(cluster)
    with pytest.raises(Refused, match=message) as caught:
        make(cluster, "other", b"o" * 16, **configs)
    assert caught.value.code is code


@pytest.mark.parametrize(("partitions", "replication"), [(3, -1), (-1, 1), (0, -1)])
def test_a_view_has_no_partitions_or_replicas_of_its_own(
    cluster: Cluster, partitions: int, replication: int
) -> None:
    given = {"view.of": "orders", "view.where": WHERE}
    with pytest.raises(Refused, match="of its topic"):
        create_view(
            cluster.image,
            "eu",
            given,
            view_id=VIEW_ID,
            now_ms=7,
            partitions=partitions,
            replication=replication,
        )


def test_the_views_of_a_topic_are_limited_so_that_all_go_with_it_at_once(cluster: Cluster) -> None:
    for number in range(VIEWS_MAX):
        make(cluster, f"view-{number}", number.to_bytes(16, "big"))
    refused(ErrorCode.POLICY_VIOLATION, "delete some", lambda: make(cluster))
    cluster.apply(delete_topic(cluster.image, "orders", nonce=NONCE))
    assert not cluster.image.views


def test_what_can_only_be_done_with_a_topic_says_that_this_is_a_view(cluster: Cluster) -> None:
    make(cluster)
    for change in (
        lambda: add_partitions(cluster.image, "eu", 5, nonce=NONCE),
        lambda: delete_topic(cluster.image, "eu", nonce=NONCE),
    ):
        refused(ErrorCode.INVALID_TOPIC, "eu is a view of orders", change)


def test_offsets_committed_in_a_view_are_of_that_view_alone(cluster: Cluster) -> None:
    make(cluster)
    assert view(cluster).log_id(0) == VIEW_ID != ID


def test_a_topic_may_have_the_name_that_a_deleted_topics_view_had(cluster: Cluster) -> None:
    make(cluster)
    cluster.apply(delete_view(cluster.image, view(cluster), nonce=NONCE))
    commit = create_topic(
        cluster.image, "eu", topic_id=b"e" * 16, now_ms=9, partitions=1, replication=1
    )
    cluster.apply(commit)
    assert not isinstance(cluster.image.readable.topic("eu"), View)
