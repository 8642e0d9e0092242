"""Whether the plan of a classic group is still one for the topics that there are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.coordination.group.classic.stage import DELAY_MS, NOW_MS, Stage, reads

from penstock.coordination.group.assignors import at_once
from penstock.coordination.group.classic.plans import fits_topics
from penstock.coordination.group.classic.subscriptions import NAMES_MAX
from penstock.coordination.pace import Pace
from penstock.metadata.records import TopicRecord, encode, topic_key
from penstock.metadata.store import Entry, Event
from penstock.wire.stored.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from penstock.wire.stored_codec import encode_value


def set_topic(stage: Stage, name: str, partitions: int, changed_ms: int = NOW_MS) -> None:
    """None of them: there is no such topic."""
    key, revision = topic_key(name), stage.image.revision + 1
    record = TopicRecord(
        name=name,
        topic_id=name.encode().ljust(16),
        partitions=partitions,
        replication_factor=1,
        created_ms=NOW_MS,
        grown_ms=changed_ms,
    )
    entry = Entry(key, encode(record), revision) if partitions else None
    stage.image.apply([Event(key, entry, revision)], revision)


def plan(**partitions: list[int]) -> bytes:
    topics = [TopicPartition(name, indexes) for name, indexes in partitions.items()]
    return encode_value(ConsumerProtocolAssignment(topics), 1)


def a_group(*plans: bytes, topics: tuple[str, ...] = ("orders",), kind: str = "consumer") -> Stage:
    """Stable, a member for each of these."""
    stage = Stage()
    set_topic(stage, "orders", 2)
    joined = [stage.join(protocols={"range": reads(*topics)}, kind=kind) for _ in plans]
    stage.wait(DELAY_MS)
    stage.sync(joined[0], dict(zip((each.member_id for each in joined), plans, strict=True)))
    for each in joined[1:]:
        stage.sync(each)
    assert stage.body.phase.name == "STABLE"
    return stage


def after_a_restart(stage: Stage, **topics: int) -> str:
    for name, partitions in topics.items():
        set_topic(stage, name, partitions, NOW_MS + int(stage.time_ms) + 1)
    stage.reload()
    return stage.body.phase.name


@pytest.mark.parametrize(
    "plans",
    [
        [plan(orders=[0, 1])],
        [plan(orders=[1]), plan(orders=[0])],
        [plan(orders=[0, 1]), b"", plan()],
    ],
)
def test_a_plan_for_all_that_there_is_stays(plans: list[bytes]) -> None:
    assert after_a_restart(a_group(*plans)) == "STABLE"


@pytest.mark.parametrize("part", [plan(orders=[1]), plan(), b""])
def test_a_plan_that_leaves_out_what_its_leader_knew_of_stays(part: bytes) -> None:
    assert after_a_restart(a_group(part, part)) == "STABLE"


@pytest.mark.parametrize(
    "topics",
    [{"orders": 3}, {"orders": 1}, {"orders": 0}],
    ids=["it has grown", "it was made anew with fewer", "it is gone"],
)
def test_a_topic_that_is_another_by_now_is_shared_anew(topics: Mapping[str, int]) -> None:
    stage = a_group(plan(orders=[0]), plan(orders=[1]))
    assert after_a_restart(stage, **topics) == "JOINING"


def test_a_topic_that_has_come_since_is_shared() -> None:
    stage = a_group(plan(orders=[0, 1]), topics=("orders", "later"))
    assert after_a_restart(stage) == "STABLE"
    assert after_a_restart(stage, later=1) == "JOINING"


def test_a_topic_that_nobody_wants_disturbs_nobody() -> None:
    assert after_a_restart(a_group(plan(orders=[0, 1])), other=5) == "STABLE"


def test_what_is_planned_beyond_the_subscription_has_to_be_there_and_no_more() -> None:
    stage = a_group(plan(orders=[0, 1], other=[1]))
    assert after_a_restart(stage, other=3) == "STABLE"
    assert after_a_restart(stage, other=1) == "JOINING"


def test_plans_that_we_cannot_read_are_left_alone() -> None:
    assert after_a_restart(a_group(plan(orders=[0]), b"my own way"), orders=9) == "STABLE"
    connect = a_group(plan(orders=[0]), kind="connect")
    assert at_once(fits_topics(connect.image, connect.body, Pace()))


def test_a_plan_of_more_topics_than_are_read_at_once_is_left_alone() -> None:
    long = TopicPartition("orders", [0])
    plan = encode_value(ConsumerProtocolAssignment([long] * (NAMES_MAX + 1)), 1)
    assert after_a_restart(a_group(plan), orders=9) == "STABLE"


def test_a_large_group_is_looked_at_in_slices() -> None:
    stage = Stage()
    for member in range(4):
        names = [f"topic-{member}-{each}" for each in range(10_000)]
        stage.join(protocols={"range": reads(*names)})
    stage.wait(DELAY_MS)
    pauses = list(fits_topics(stage.image, stage.body, Pace()))
    assert len(pauses) == 4
