"""Static members (KIP-345): they come back to their own place, and fence who else claims it."""

from __future__ import annotations

from tests.coordination.group.classic.stage import (
    DELAY_MS,
    REBALANCE_MS,
    SESSION_MS,
    Stage,
    leads,
    reads,
)

from penstock.errors import ErrorCode
from penstock.wire.stored.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from penstock.wire.stored_codec import encode_value


def test_one_that_comes_back_to_a_stable_group_gets_its_part_and_disturbs_nobody() -> None:
    stage = Stage()
    leader, old = stage.settle(1, instances=("i",))
    back = stage.join(instance="i")
    assert back.member_id != old
    assert (back.answer.generation_id, back.answer.leader) == (1, leader)
    assert stage.sync(back, instance="i").answer.assignment == old.encode()
    assert stage.heartbeat(leader) == ErrorCode.NONE


def test_its_new_id_is_stored() -> None:
    stage = Stage()
    stage.settle(1, instances=("i",))
    back = stage.join(instance="i")
    stage.reload()
    assert stage.heartbeat(back.member_id, 1, instance="i") == ErrorCode.NONE
    assert stage.body.static == {"i": back.member_id}


def test_its_former_self_is_fenced_in_whatever_it_asks() -> None:
    stage = Stage()
    _, old = stage.settle(1, instances=("i",))
    stage.join(instance="i")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert stage.heartbeat(old, instance="i") == fenced
    assert stage.commit(old, 1, instance="i") == fenced
    assert stage.leave(old, instance="i") == fenced
    assert stage.join(old, instance="i").code == fenced
    assert stage.heartbeat(old) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_instance_that_the_group_does_not_have_is_not_known() -> None:
    stage = Stage()
    (one,) = stage.settle()
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat(one, instance="i") == unknown
    assert stage.commit(one, 1, instance="i") == unknown
    assert stage.leave("", instance="i") == unknown
    assert stage.join("some-id", instance="i").code == unknown


def test_a_leader_that_comes_back_is_told_to_skip_the_planning() -> None:
    stage = Stage()
    (old,) = stage.settle(0, instances=("i",))
    back = stage.join(instance="i")
    assert leads(back)
    assert back.answer.skip_assignment
    assert [each.member_id for each in back.answer.members] == [back.member_id]
    assert stage.sync(back, instance="i").answer.assignment == old.encode()


def test_a_leader_that_cannot_skip_it_is_told_that_another_one_leads() -> None:
    stage = Stage()
    (old,) = stage.settle(0, instances=("i",))
    back = stage.join(instance="i", can_skip=False)
    assert (back.answer.leader, back.answer.members) == (old, [])
    assert stage.body.leader == back.member_id


def test_one_that_comes_back_and_reads_other_topics_begins_a_round() -> None:
    stage = Stage()
    leader, _ = stage.settle(1, instances=("i",))
    back = stage.join(protocols={"range": reads("more")}, instance="i")
    assert back.is_waiting
    stage.join(leader)
    assert back.answer.generation_id == 2


def test_one_that_comes_back_without_its_memory_does_not() -> None:
    """Sticky assignors tell what they had, which is nothing after a start."""
    stage = Stage()
    had = ConsumerProtocolSubscription(["orders"], b"memory", [TopicPartition("orders", [1])])
    joined = [stage.join(), stage.join(protocols={"range": encode_value(had, 1)}, instance="i")]
    stage.wait(DELAY_MS)
    stage.plan(joined)
    assert stage.join(instance="i").answer.generation_id == 1


def test_one_that_brings_an_assignor_that_changes_the_choice_begins_a_round() -> None:
    stage = Stage()
    both = {"range": reads("orders"), "sticky": reads("orders")}
    joined = [stage.join(protocols=both), stage.join(protocols=both, instance="i")]
    stage.wait(DELAY_MS)
    stage.plan(joined)
    assert stage.join(protocols={"sticky": reads("orders")}, instance="i").is_waiting


def test_one_that_comes_back_while_members_join_takes_its_place_in_the_round() -> None:
    stage = Stage()
    leader, old = stage.settle(1, instances=("i",))
    stage.join(leader)
    back = stage.join(instance="i")
    assert back.answer.generation_id == 2
    assert old not in stage.body.members


def test_a_join_of_its_former_self_that_waits_is_fenced() -> None:
    stage = Stage()
    leader, old = stage.settle(1, instances=("i",))
    stage.join(leader)
    stage.join()  # somebody else, so that the round goes on
    stage.reload()
    stage.join()
    former = stage.join(old, instance="i")
    assert former.is_waiting
    back = stage.join(instance="i")
    assert former.code == ErrorCode.FENCED_INSTANCE_ID
    assert back.is_waiting


def test_a_sync_of_its_former_self_that_waits_is_fenced_and_a_round_begins() -> None:
    stage = Stage()
    leader, old = stage.join(), stage.join(instance="i")
    stage.wait(DELAY_MS)
    waiting = stage.sync(old, instance="i")
    back = stage.join(instance="i")
    assert waiting.code == ErrorCode.FENCED_INSTANCE_ID
    assert stage.body.phase.name == "JOINING"
    stage.join(leader.member_id)
    assert back.answer.generation_id == 2


def test_a_leader_that_comes_back_while_the_plan_is_made_leads_the_next_round() -> None:
    stage = Stage()
    stage.join(instance="i")
    follower = stage.join()
    stage.wait(DELAY_MS)
    back = stage.join(instance="i")
    stage.join(follower.member_id)
    assert leads(back)


def test_a_static_member_that_misses_a_round_stays_until_its_session_ends() -> None:
    stage = Stage()
    joined = [stage.join(), stage.join(instance="i", session_ms=REBALANCE_MS * 2)]
    stage.wait(DELAY_MS)
    leader, away = stage.plan(joined)
    late = stage.join()
    again = stage.join(leader)
    stage.wait(REBALANCE_MS)
    assert {each.member_id for each in again.answer.members} == {leader, late.member_id, away}
    stage.sync(again, {away: b"kept"})
    stage.sync(late)
    back = stage.join(instance="i")
    assert stage.sync(back, instance="i").answer.assignment == b"kept"


def test_a_round_that_nobody_comes_to_waits_for_static_members() -> None:
    stage = Stage()
    joined = [stage.join(), stage.join(instance="i", session_ms=REBALANCE_MS * 2)]
    stage.wait(DELAY_MS)
    leader, away = stage.plan(joined)
    stage.leave(leader)
    stage.wait(REBALANCE_MS + 1)
    assert stage.body.phase.name == "JOINING"
    assert leads(stage.join(away, instance="i"))


def test_an_administrator_removes_an_instance_by_its_name() -> None:
    stage = Stage()
    leader, away = stage.settle(1, instances=("i",))
    assert stage.leave("", instance="i") == ErrorCode.NONE
    assert away not in stage.body.members
    assert stage.body.static == {}
    assert stage.heartbeat(leader) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_static_member_may_join_again_under_the_id_that_it_has() -> None:
    stage = Stage()
    leader, own = stage.settle(1, instances=("i",))
    again = stage.join(own, instance="i")
    assert (again.member_id, again.answer.generation_id) == (own, 1)
    stage.wait(SESSION_MS - 1)
    assert stage.heartbeat(leader) == ErrorCode.NONE


def test_a_new_instance_is_not_asked_to_come_again_with_an_id() -> None:
    stage = Stage()
    joined = stage.join(instance="i", id_first=True)
    stage.wait(DELAY_MS)
    assert joined.member_id.startswith("i-")
