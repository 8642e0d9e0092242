"""Shares are set up before members get their partitions, and go with their group or topic."""

from __future__ import annotations

import pytest
from tests.coordination.group.share.stage import NAME, NOW_MS, Stage, told
from tests.coordination.group.share.test_heartbeat import ready, refusal

from penstock.coordination.group import protocols
from penstock.coordination.group.share import shares
from penstock.coordination.group.share.begun import FORGOTTEN_MS, Part
from penstock.coordination.group.share.state import share_topics
from penstock.errors import ErrorCode, Refused


def test_a_topic_that_is_made_later_is_begun_with_when_it_is_there() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    assert stage.body.begun.is_blank
    topic = stage.create("orders", 1)
    assert stage.groups.at_work == {NAME: None}
    assert stage.initialize() == [(topic, 0, -1)]
    assert stage.groups.at_work == {}
    assert stage.meet("m1") == {topic: {0}}


def test_new_partitions_of_a_topic_begin_with_their_first_record() -> None:
    stage, topic = ready()
    stage.grow("orders", 3)
    assert stage.initialize() == [(topic, 1, 0), (topic, 2, 0)]
    assert stage.meet("m1") == {topic: {0, 1, 2}}


def test_partitions_that_come_while_the_first_are_set_up_begin_with_their_first_record() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    stage.join("m1", "orders")
    stage.grow("orders", 2)
    assert stage.initialize() == [(topic, 0, -1)]
    assert stage.initialize() == [(topic, 1, 0)]
    assert stage.meet("m1") == {topic: {0, 1}}


def test_what_is_set_up_bit_by_bit_is_given_bit_by_bit() -> None:
    stage = Stage()
    topic = stage.create("orders", 2)
    stage.join("m1", "orders")
    stage.run(lambda turn, group: shares.initialized(turn, group, {topic: frozenset({1})}))
    assert stage.meet("m1") == {topic: {1}}
    assert [each[:2] for each in stage.body.begun.to_initialize()] == [(topic, 0)]


def test_another_coordinator_goes_on_with_what_is_to_be_set_up() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    stage.join("m1", "orders")
    stage.reload()
    assert stage.groups.at_work == {NAME: None}
    assert stage.initialize() == [(topic, 0, -1)]


def test_a_topic_that_was_deleted_is_given_no_more_and_forgotten() -> None:
    stage, _ = ready()
    stage.delete("orders")
    assert stage.meet("m1") == {}
    stage.pass_ms(FORGOTTEN_MS - 1)
    stage.join("m1", "orders")
    assert stage.body.begun.initialized
    stage.pass_ms(2_000)
    stage.beat("m2", 0, subscribed_topic_names=["bills"])
    assert stage.body.begun.is_blank


def test_a_topic_of_the_same_name_is_another_one() -> None:
    stage, _ = ready()
    stage.delete("orders")
    other = stage.create("orders", 1)
    assert stage.initialize() == [(other, 0, -1)]
    assert stage.meet("m1") == {other: {0}}


def test_a_new_coordinator_that_has_yet_to_hear_of_a_topic_keeps_what_is_known_of_it() -> None:
    stage, topic = ready()
    image = stage.image
    stage.image = Stage().image
    stage.reload()
    stage.pass_ms(0)
    assert stage.meet("m1") == {}
    stage.image = image
    stage.run(lambda turn, group: protocols.topics_changed(turn, group, ["orders"]))
    assert stage.meet("m1") == {topic: {0}}
    assert not stage.body.begun.initializing


def test_topics_that_changed_while_there_was_no_coordinator_are_looked_at() -> None:
    stage, topic = ready()
    groups, stage.groups = stage.groups, type(stage.groups)()
    stage.grow("orders", 2)
    stage.groups = groups
    stage.reload()
    stage.pass_ms(0)
    assert stage.initialize() == [(topic, 1, 0)]


def test_a_topic_that_nobody_in_the_group_has_to_do_with_changes_nothing() -> None:
    stage, _ = ready()
    stage.create("bills", 1)
    assert not stage.written


def test_somebody_else_may_set_a_share_up() -> None:
    """Offsets of a topic that nobody is subscribed to yet can be set."""
    stage, _ = ready()
    bills = stage.create("bills", 2)
    done = {bills: frozenset({1})}
    stage.run(lambda turn, group: shares.initialized(turn, group, done, {bills: "bills"}))
    since_ms = NOW_MS + int(stage.time_ms)
    assert stage.body.begun.initialized[bills] == Part("bills", frozenset({1}), since_ms)


def test_a_group_with_members_is_not_deleted() -> None:
    stage, topic = ready()
    with pytest.raises(Refused) as caught:
        stage.run(protocols.delete)
    assert caught.value.code == ErrorCode.NON_EMPTY_GROUP
    with pytest.raises(Refused) as caught:
        stage.run(lambda turn, group: shares.delete_topics(turn, group, [topic]))
    assert caught.value.code == ErrorCode.NON_EMPTY_GROUP


def test_a_group_that_is_deleted_goes_with_the_last_of_its_shares() -> None:
    stage, orders = ready()
    bills = stage.create("bills", 1)
    stage.beat("m1", 2, subscribed_topic_names=["bills"])
    stage.beat("m1", -1)
    stage.run(protocols.delete)
    assert stage.body.begun.deleting == {orders: "orders", bills: "bills"}
    assert stage.group.is_ending
    stage.reload(keeps_ends=False)
    assert stage.group.is_ending
    assert stage.groups.at_work == {NAME: None}
    stage.forget([orders])
    assert stage.group.is_ending
    stage.forget([bills])
    assert stage.groups.get(NAME) is None
    assert stage.groups.at_work == {}


def test_a_group_without_shares_goes_at_once() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    stage.beat("m1", -1)
    stage.run(protocols.delete)
    assert stage.groups.get(NAME) is None


def test_what_was_set_up_too_late_does_not_bring_a_deleted_group_back() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    stage.join("m1", "orders")
    stage.beat("m1", -1)
    stage.run(protocols.delete)
    stage.run(lambda turn, group: shares.initialized(turn, group, {topic: frozenset({0})}))
    assert stage.group.is_ending


def test_a_topic_that_the_group_has_done_with_is_begun_anew_once_its_shares_are_gone() -> None:
    stage, topic = ready()
    stage.beat("m1", -1)
    stage.run(lambda turn, group: shares.delete_topics(turn, group, [topic]))
    assert share_topics(stage.body) == {}
    assert told(stage.join("m1", "orders")) == {}
    assert not stage.body.begun.initializing
    stage.forget([topic])
    assert stage.initialize() == [(topic, 0, -1)]
    assert stage.meet("m1") == {topic: {0}}


def test_offsets_of_a_share_group_are_nobodys() -> None:
    stage, _ = ready()
    for refused in (
        lambda turn, group: protocols.check_may_commit(turn, group, "", None, -1),
        lambda turn, group: protocols.check_may_fetch(group, None, -1),
        lambda turn, group: protocols.check_may_forget(group),
    ):
        with pytest.raises(Refused) as caught:
            stage.run(refused)
        assert caught.value.code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_that_is_being_deleted_cannot_be_joined_by_what_is_left_of_it() -> None:
    stage, _ = ready()
    stage.beat("m1", -1)
    stage.run(protocols.delete)
    assert refusal(stage, "m1", 2).code == ErrorCode.UNKNOWN_MEMBER_ID
