"""Views that go when nobody reads them."""

from __future__ import annotations

import pytest
from tests.metadata.staging import Cluster
from tests.metadata.test_views import NONCE, VIEW_ID, refused, view

from penstock.errors import ErrorCode
from penstock.metadata.idle_views import delete_idle, idle, note_used, worth_noting
from penstock.metadata.view_changes import create_view

IDLE_MS = 8000


@pytest.fixture
def cluster() -> Cluster:
    """With one that stays, and one that may go; both made at 1000."""
    made = Cluster("", "")
    made.create(partitions=2, replication=2)
    make(made, "stays", b"s" * 16)
    make(made, "may-go", VIEW_ID, str(IDLE_MS))
    return made


def make(cluster: Cluster, name: str, view_id: bytes, idle_ms: str | None = None) -> None:
    configs = {"view.of": "orders", "view.where": "region = 'eu'"}
    if idle_ms is not None:
        configs["view.idle.ms"] = idle_ms
    cluster.apply(create_view(cluster.image, name, configs, view_id=view_id, now_ms=1000))


def test_a_view_that_nobody_has_read_for_its_idle_time_goes(cluster: Cluster) -> None:
    assert idle(cluster.image, 1000 + IDLE_MS - 1) == []
    assert idle(cluster.image, 1000 + IDLE_MS) == ["may-go"]
    cluster.apply(delete_idle(cluster.image, 1000 + IDLE_MS, NONCE))
    assert list(cluster.image.readable.topics) == ["orders", "stays"]
    assert delete_idle(cluster.image, 10**12, NONCE).answer == []


def test_one_that_is_read_stays(cluster: Cluster) -> None:
    used, before = {VIEW_ID}, view(cluster, "may-go")
    commit = note_used(cluster.image, used, 5000)
    assert commit.answer == [VIEW_ID]
    cluster.apply(commit)
    after = view(cluster, "may-go")
    assert (after.held.used_ms, after.id, after.record) == (5000, before.id, before.record)
    assert idle(cluster.image, 5000 + IDLE_MS - 1) == []
    assert idle(cluster.image, 5000 + IDLE_MS) == ["may-go"]


def test_its_use_is_noted_seldom(cluster: Cluster) -> None:
    used = {VIEW_ID}
    assert worth_noting(cluster.image, used, 1000 + IDLE_MS // 8 - 1) == []
    assert worth_noting(cluster.image, used, 1000 + IDLE_MS // 8) == ["may-go"]
    cluster.apply(note_used(cluster.image, used, 2000))
    assert worth_noting(cluster.image, used, 2000 + IDLE_MS // 8 - 1) == []
    assert note_used(cluster.image, used, 2500).puts == []


def test_nothing_is_noted_of_views_that_stay_or_that_were_not_read(cluster: Cluster) -> None:
    assert worth_noting(cluster.image, {b"s" * 16, b"x" * 16}, 10**12) == []


@pytest.mark.parametrize("text", ["", "0", "-1", "1999", "1e4", "9" * 30, "soon"])
def test_an_idle_time_that_is_none_is_refused(cluster: Cluster, text: str) -> None:
    refused(
        ErrorCode.INVALID_CONFIG, "view.idle.ms", lambda: make(cluster, "other", b"o" * 16, text)
    )
