"""Members of share groups join, live, learn what they have, and go."""

from __future__ import annotations

import pytest
from tests.coordination.group.share.stage import NAME, Stage, told

from penstock.coordination.group import protocols
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import Committed
from penstock.coordination.group.share import sessions
from penstock.coordination.group.share.state import share_topics
from penstock.errors import ErrorCode, Refused


def ready(partitions: int = 1, *members: str) -> tuple[Stage, bytes]:
    """A topic whose shares are there, and members that know of it."""
    stage = Stage()
    topic = stage.create("orders", partitions)
    for member in members or ("m1",):
        stage.join(member, "orders")
    stage.initialize()
    for member in members or ("m1",):
        stage.meet(member)
    return stage, topic


def refusal(stage: Stage, member_id: str, epoch: int, **fields: object) -> Refused:
    with pytest.raises(Refused) as caught:
        stage.beat(member_id, epoch, **fields)
    return caught.value


def test_a_member_has_nothing_until_the_shares_are_there() -> None:
    stage = Stage()
    topic = stage.create("orders", 2)
    answer = stage.join("m1", "orders")
    assert (answer.member_id, answer.member_epoch, told(answer)) == ("m1", 1, {})
    assert stage.initialize() == [(topic, 0, -1), (topic, 1, -1)]
    answer = stage.beat("m1", 1)
    assert answer.member_epoch == 2
    assert told(answer) == {topic: {0, 1}}
    assert share_topics(stage.body) == {topic: {0, 1}}


def test_who_has_heard_everything_is_told_nothing_and_nothing_is_written() -> None:
    stage, _ = ready()
    answer = stage.beat("m1", 2)
    assert (answer.member_epoch, answer.assignment) == (2, None)
    assert not stage.written


def test_who_names_its_topics_again_is_told_what_it_has() -> None:
    stage, topic = ready()
    answer = stage.beat("m1", 2, subscribed_topic_names=["orders"])
    assert told(answer) == {topic: {0}}
    assert not stage.written


def test_all_of_fifty_members_have_the_one_partition() -> None:
    stage, topic = ready(1, *(f"m{number}" for number in range(50)))
    assert all(each.holding.assigned == {topic: {0}} for each in stage.body.members.values())


def test_a_member_that_leaves_leaves_its_partitions_to_the_others() -> None:
    stage, topic = ready(30, "m1", "m2", "m3")
    assert stage.meet("m1") == {topic: set(range(20))}
    for name in ("m2", "m3"):
        answer = stage.beat(name, -1)
        assert (answer.member_id, answer.member_epoch) == (name, -1)
    assert stage.meet("m1") == {topic: set(range(30))}


def test_a_member_that_is_silent_for_too_long_is_gone() -> None:
    stage, topic = ready(2, "m1", "m2")
    for _ in range(4):
        stage.pass_ms(15_000)
        stage.meet("m1")
    assert stage.body.members.keys() == {"m1"}
    assert stage.meet("m1") == {topic: {0, 1}}


def test_many_that_are_silent_go_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, topic = ready(1, *(f"m{number}" for number in range(9)))
    monkeypatch.setattr(sessions, "GONE_A_TURN", 2)
    stage.pass_ms(30_000)
    stage.meet("m3")
    stage.time_ms += 20_000
    stage.run(protocols.expire)
    assert len(stage.body.members) == 7
    stage.pass_ms(1)
    assert stage.body.members.keys() == {"m3"}
    assert stage.meet("m3") == {topic: {0}}


def test_a_group_has_a_session_timeout_of_its_own() -> None:
    stage = Stage()
    stage.configure(share_session_timeout_ms="6000")
    stage.create("orders", 1)
    stage.join("m1", "orders")
    stage.pass_ms(5_999)
    assert stage.body.members
    stage.pass_ms(1)
    assert not stage.body.members


def test_members_come_often_while_there_will_be_something_to_tell_them() -> None:
    stage = Stage()
    stage.create("orders", 1)
    intervals = [stage.join(f"m{number}", "orders").heartbeat_interval_ms for number in range(20)]
    assert (intervals[0], intervals[-1]) == (100, 200)
    stage.initialize()
    assert stage.beat("m0", 1).error_code == ErrorCode.NONE
    assert stage.beat("m1", stage.body.members["m1"].epoch).heartbeat_interval_ms == 500


def test_a_group_has_a_heartbeat_interval_of_its_own() -> None:
    stage = Stage()
    stage.configure(share_heartbeat_interval_ms="2000")
    stage.create("orders", 1)
    assert stage.join("m1", "orders").heartbeat_interval_ms == 2_000


def test_members_of_another_coordinator_are_given_the_time_to_find_this_one() -> None:
    stage, topic = ready(2, "m1", "m2")
    stage.pass_ms(44_000)
    stage.reload()
    stage.pass_ms(44_000)
    assert stage.meet("m1") == {topic: {0, 1}}
    stage.pass_ms(1_001)
    assert stage.body.members.keys() == {"m1"}


def test_the_epoch_before_the_last_is_taken_and_what_was_lost_is_told_again() -> None:
    stage, topic = ready()
    answer = stage.beat("m1", 1)
    assert answer.member_epoch == 2
    assert told(answer) == {topic: {0}}


@pytest.mark.parametrize("epoch", [3, 7])
def test_an_epoch_that_was_never_told_is_fenced(epoch: int) -> None:
    stage, _ = ready()
    assert refusal(stage, "m1", epoch).code == ErrorCode.FENCED_MEMBER_EPOCH


def test_an_epoch_of_long_ago_is_fenced_and_a_member_may_join_anew() -> None:
    stage, topic = ready()
    stage.join("m2", "orders")
    stage.meet("m1")
    assert refusal(stage, "m1", 1).code == ErrorCode.FENCED_MEMBER_EPOCH
    assert told(stage.join("m1", "orders")) == {topic: {0}}


@pytest.mark.parametrize("epoch", [1, -1])
def test_who_is_not_in_the_group_is_told_so(epoch: int) -> None:
    stage, _ = ready()
    assert refusal(stage, "stranger", epoch).code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("epoch", [1, -1])
def test_a_group_begins_with_one_who_joins(epoch: int) -> None:
    stage = Stage()
    assert refusal(stage, "m1", epoch).code == ErrorCode.GROUP_ID_NOT_FOUND
    assert stage.groups.get(NAME) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"member_epoch": 0},
        {"member_epoch": 0, "subscribed_topic_names": []},
        {"member_epoch": -2},
        {"member_epoch": 1, "rack_id": ""},
        {"member_epoch": 0, "subscribed_topic_names": ["a" * 250]},
        {"member_epoch": 0, "subscribed_topic_names": [f"t{n}" for n in range(10_001)]},
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, object]) -> None:
    stage, _ = ready()
    epoch = fields.pop("member_epoch")
    assert isinstance(epoch, int)
    assert refusal(stage, "m1", epoch, **fields).code == ErrorCode.INVALID_REQUEST


def test_a_group_has_at_most_so_many_members() -> None:
    stage = Stage(group_share_max_size=2)
    stage.create("orders", 1)
    stage.join("m1", "orders")
    stage.join("m2", "orders")
    refused = refusal(stage, "m3", 0, subscribed_topic_names=["orders"])
    assert refused.code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.join("m2", "orders").error_code == ErrorCode.NONE


def test_members_name_at_most_so_many_topics() -> None:
    stage = Stage()
    for number in range(10):
        names = [f"t{number}-{each}" for each in range(10_000)]
        stage.join(f"m{number}", *names)
    stage.join("m10", *names)  # what others have named counts once
    refused = refusal(stage, "m11", 0, subscribed_topic_names=["one more"])
    assert refused.code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_member_may_change_its_mind() -> None:
    stage, orders = ready()
    bills = stage.create("bills", 1)
    answer = stage.beat("m1", 2, subscribed_topic_names=["bills"])
    assert told(answer) == {}
    assert stage.initialize() == [(bills, 0, -1)]
    assert stage.meet("m1") == {bills: {0}}
    stage.beat("m1", stage.body.epoch, subscribed_topic_names=["bills", "orders"])
    assert stage.meet("m1") == {bills: {0}, orders: {0}}  # where it was before


def test_the_group_is_the_same_for_another_coordinator() -> None:
    stage, topic = ready(30, "m1", "m2", "m3")
    before = dict(stage.body.members)
    stage.reload(keeps_ends=False)
    assert stage.body.members == before
    assert stage.meet("m2") == {topic: set(range(10, 30))}


@pytest.mark.parametrize("name", ["eu", "__consumer_offsets"])
def test_what_cannot_be_shared_is_refused_with_a_reason(name: str) -> None:
    stage, _ = ready()
    stage.create_view("eu", of="orders")
    refused = refusal(stage, "m2", 0, subscribed_topic_names=[name])
    assert refused.code == ErrorCode.INVALID_REQUEST
    assert "share groups read neither" in refused.message


def test_a_view_beside_a_topic_is_not_assigned() -> None:
    stage, topic = ready()
    stage.create_view("eu", of="orders")
    assert told(stage.beat("m1", 2, subscribed_topic_names=["eu", "orders"])) == {topic: {0}}


def test_a_consumer_group_of_the_same_name_is_not_joined() -> None:
    stage = Stage()
    stage.create("orders", 1)
    stage.group.offsets["orders"] = {0: Committed(1)}
    refused = refusal(stage, "m1", 0, subscribed_topic_names=["orders"])
    assert refused.code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "is a consumer group" in refused.message


def test_a_group_without_members_stays() -> None:
    stage, topic = ready()
    stage.beat("m1", -1)
    stage.reload(keeps_ends=False)
    assert not stage.body.members
    assert share_topics(stage.body) == {topic: {0}}
    assert told(stage.join("m2", "orders")) == {topic: {0}}


def test_nothing_of_a_group_is_left_where_nothing_is_known_of_it() -> None:
    assert isinstance(Group(NAME).body, Classic)
    assert Stage().group.is_forgotten
