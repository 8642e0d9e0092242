"""Topics, as a program looks after them."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from tests.sdk.admin.conftest import Running, moment

from penstock import Admin, PenstockError
from penstock.sdk.admin_positions import To
from penstock.sdk.errors import Misconfigured, TimedOut, TopicExists, TopicNotFound
from penstock.testing import Broker


def test_a_topic_is_made_as_it_was_asked_for(admin: Admin) -> None:
    made = admin.topics.create("made", 3, configs={"retention.ms": 5000, "compression.type": "lz4"})
    assert (made.name, made.partitions, made.replicas, made.is_internal) == ("made", 3, 1, False)
    assert made in admin.topics.list()
    found = admin.topics.describe("made")
    assert [each.index for each in found.partitions] == [0, 1, 2]
    assert found.configs["retention.ms"].value == "5000"
    assert (found.closing, found.sealed_from) == (None, None)


def test_a_description_says_where_partitions_are_and_what_they_hold(
    admin: Admin, orders: str
) -> None:
    first, second = admin.topics.describe(orders).partitions
    assert (first.leader, first.replicas, first.in_sync) == (1, (1,), (1,))
    assert (first.start, first.end) == (second.start, second.end) == (0, 4)
    assert first.size_bytes


def test_internal_topics_are_listed_for_those_who_ask(
    admin: Admin, orders: str, group: str, running: Running
) -> None:
    with running(group, orders):
        pass
    assert all(not each.is_internal for each in admin.topics.list())
    assert any(each.is_internal for each in admin.topics.list(internal=True))


def test_a_topic_that_is_deleted_is_gone(admin: Admin, orders: str) -> None:
    admin.topics.delete(orders)
    assert orders not in {each.name for each in admin.topics.list()}
    with pytest.raises(TopicNotFound, match=r"admin\.topics\.list\(\) shows"):
        admin.topics.delete(orders)


@pytest.mark.parametrize(
    ("before", "start"),
    [("latest", 4), ("earliest", 0), (3, 3), (99, 4), (moment(1.5), 2), (moment(60), 4)],
)
def test_the_oldest_records_are_dropped(admin: Admin, orders: str, before: To, start: int) -> None:
    assert admin.topics.truncate(orders, before, [1]) == {1: start}
    assert [each.start for each in admin.topics.describe(orders).partitions] == [0, start]


def test_all_partitions_are_cut_unless_some_are_given(admin: Admin, orders: str) -> None:
    assert admin.topics.truncate(orders) == {0: 4, 1: 4}


def test_settings_are_set_shown_and_taken_back(admin: Admin, orders: str) -> None:
    admin.topics.set_configs(orders, {"flush.ms": 7, "unclean.leader.election.enable": True})
    found = admin.topics.get_configs(orders)
    assert (found["flush.ms"].value, found["flush.ms"].source) == ("7", "topic")
    assert found["unclean.leader.election.enable"].value == "true"
    admin.topics.unset_configs(orders, "flush.ms")
    assert admin.topics.get_configs(orders)["flush.ms"].source == "default"


def test_a_topic_gets_more_partitions_at_once(admin: Admin, orders: str) -> None:
    assert admin.topics.set_partitions(orders, 5) is None
    assert len(admin.topics.describe(orders).partitions) == 5


def test_a_topic_gets_fewer_partitions_once_its_groups_have_read_them(
    admin: Admin, orders: str, group: str
) -> None:
    admin.groups.reset_offsets(group, "earliest", topics=orders)
    closing = admin.topics.set_partitions(orders, 1, when="drained", max_pause_s=5)
    assert closing is not None
    assert (closing.partitions, closing.left, closing.when) == (2, 1, "drained")
    assert closing.groups_behind == {group: 4}
    assert admin.topics.get_configs(orders)["partitions.close.max.pause.ms"].value == "5000"
    with pytest.raises(TimedOut, match=f"groups have yet to read: {group}"):
        admin.topics.wait_for_partitions(orders, 1, timeout_s=0)
    admin.groups.reset_offsets(group, "latest")
    admin.topics.wait_for_partitions(orders, 1)


def test_a_topic_that_is_closing_may_keep_its_partitions_after_all(
    admin: Admin, orders: str
) -> None:
    with pytest.raises(Misconfigured, match="its records do not expire"):
        admin.topics.set_partitions(orders, 1)
    hour = timedelta(hours=1)
    admin.topics.set_configs(orders, {"retention.ms": int(hour.total_seconds() * 1000)})
    closing = admin.topics.set_partitions(orders, 1)
    assert closing is not None
    assert closing.due == closing.since + hour
    assert (closing.is_paused, closing.given_up, closing.writers) == (False, "", {})
    assert admin.topics.set_partitions(orders, 2) is None
    with pytest.raises(TimedOut, match="nothing is under way"):
        admin.topics.wait_for_partitions(orders, 1, timeout_s=0)


def test_what_cannot_be_is_refused_with_a_way_out(admin: Admin, orders: str) -> None:
    with pytest.raises(TopicExists, match="choose another name"):
        admin.topics.create(orders)
    with pytest.raises(TopicNotFound, match="has no partition 7, only 0 to 1"):
        admin.topics.truncate(orders, 1, [7])
    with pytest.raises(Misconfigured, match=r"retention\.ms"):
        admin.topics.create("wrong", configs={"retention.ms": "soon"})
    with pytest.raises(Misconfigured, match="no more replicas than there are brokers"):
        admin.topics.create("wrong", replicas=3)
    with pytest.raises(Misconfigured):
        admin.topics.create("wrong name")
    wrong: Any
    for wrong in (0, -3, "2", 1.5, True, 2**40):
        with pytest.raises(Misconfigured, match=re.escape(f"partitions={wrong!r}: give a whole")):
            admin.topics.create("wrong", partitions=wrong)
        with pytest.raises(Misconfigured, match=re.escape(f"replicas={wrong!r}: give a whole")):
            admin.topics.create("wrong", replicas=wrong)
        with pytest.raises(Misconfigured, match=re.escape(f"count={wrong!r}: give a whole")):
            admin.topics.set_partitions(orders, wrong)
    with pytest.raises(Misconfigured, match="max_pause_s are for fewer partitions"):
        admin.topics.set_partitions(orders, 3, when="drained")
    with pytest.raises(TopicNotFound, match="there is no such topic"):
        admin.topics.describe("nowhere")
    with pytest.raises(Misconfigured, match="no place in a topic"):
        admin.topics.truncate(orders, -1)
    with pytest.raises(Misconfigured, match="give it a time zone"):
        admin.topics.truncate(orders, moment(0).replace(tzinfo=None))
    assert [each.end for each in admin.topics.describe(orders).partitions] == [4, 4]


def test_threads_may_share_an_admin(penstock_broker: Broker) -> None:
    with Admin(penstock_broker.bootstrap) as admin, ThreadPoolExecutor(8) as pool:
        made = list(pool.map(admin.topics.create, (f"shared-{number}" for number in range(16))))
        assert {each.name for each in made} <= {each.name for each in admin.topics.list()}


def test_every_error_can_be_caught_as_one(admin: Admin) -> None:
    with pytest.raises(PenstockError):
        admin.topics.describe("nowhere")
