"""What is left of a classic group when its coordinator is another one."""

from __future__ import annotations

from tests.coordination.group.classic.stage import DELAY_MS, NAME, SESSION_MS, Stage, leads, reads

from penstock.coordination.group import protocols
from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.stored import restored
from penstock.coordination.group.groups import Groups
from penstock.coordination.turn import Event
from penstock.errors import ErrorCode
from penstock.wire.stored.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)


def test_a_stable_group_goes_on_as_if_nothing_had_been() -> None:
    stage = Stage()
    leader, follower = stage.settle(1, instances=("i",))
    before = {each.id: (each.assignment, each.protocols) for each in stage.body.members.values()}
    stage.reload()
    after = {each.id: (each.assignment, each.protocols) for each in stage.body.members.values()}
    assert after == before
    assert (stage.body.leader, stage.body.generation) == (leader, 1)
    assert stage.heartbeat(leader) == ErrorCode.NONE
    assert stage.heartbeat(follower, instance="i") == ErrorCode.NONE


def test_members_have_a_session_to_find_their_new_coordinator() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    stage.wait(SESSION_MS - 1)
    stage.reload()
    stage.wait(SESSION_MS - 1)
    assert stage.heartbeat(one) == ErrorCode.NONE
    stage.wait(1)
    assert stage.heartbeat(two, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_round_that_was_going_on_is_lost_and_begins_again() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    late = stage.join()
    stage.join(one)
    stage.reload()
    assert late.code == ErrorCode.NOT_COORDINATOR
    assert (stage.body.phase.name, stage.body.generation) == ("STABLE", 1)
    again = stage.join(one)
    stage.join(two)
    assert again.answer.generation_id == 2


def test_a_generation_whose_plan_was_not_written_never_was() -> None:
    stage = Stage()
    joined = stage.join()
    stage.wait(DELAY_MS)
    stage.reload()
    assert stage.groups.get(NAME) is None
    assert stage.sync(joined, {}).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_emptied_group_keeps_its_generation_and_knows_since_when_it_is_empty() -> None:
    stage = Stage()
    (one,) = stage.settle()
    stage.leave(one)
    emptied_ms = stage.group.emptied_ms
    stage.wait(60_000)
    stage.reload()
    assert (stage.body.generation, stage.group.emptied_ms) == (2, emptied_ms)


def test_a_deleted_group_is_gone_for_good() -> None:
    stage = Stage()
    (one,) = stage.settle()
    stage.leave(one)
    stage.run(protocols.delete)
    assert stage.groups.get(NAME) is None
    stage.reload()
    assert stage.groups.get(NAME) is None
    joined = stage.join()
    stage.wait(DELAY_MS)
    assert joined.answer.generation_id == 1


def test_a_plan_that_could_not_be_written_leaves_the_group_as_it_was() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    again = [stage.join(one), stage.join(two)]
    waiting = stage.sync(again[1])
    stage.disk_fails = True
    assert stage.sync(again[0], {}).code == ErrorCode.NOT_COORDINATOR
    assert waiting.code == ErrorCode.NOT_COORDINATOR
    assert (stage.body.phase.name, stage.body.generation) == ("STABLE", 1)
    assert stage.heartbeat(one, 2) == ErrorCode.ILLEGAL_GENERATION
    assert stage.heartbeat(one, 1) == ErrorCode.NONE


def test_a_value_of_old_means_the_session_timeout_for_a_round_as_well() -> None:
    member = MemberMetadata(member_id="m", session_timeout=7_000, subscription=reads("orders"))
    body = restored(GroupMetadataValue(protocol="range", leader="m", members=[member]))
    assert body.members["m"].rebalance_timeout_ms == 7_000


def test_a_value_that_contradicts_itself_makes_a_group_that_works() -> None:
    stage = Stage()
    members = [MemberMetadata(member_id="m", session_timeout=7_000, rebalance_timeout=9_000)] * 2
    value = GroupMetadataValue("consumer", 4, "range", "nobody", members=members)
    stage.groups.apply(Event(GroupMetadataKey(NAME), value))
    stage.run(lambda turn, group: protocols.begin(turn, group, protocols.Found()))
    assert stage.body.phase is Phase.JOINING, "nobody leads, so all join again"
    late = stage.join()
    stage.wait(7_000)
    assert leads(late)


def test_an_end_of_a_group_that_nobody_knows_is_nothing() -> None:
    groups = Groups()
    groups.apply(Event(GroupMetadataKey(NAME), None))
    assert len(groups) == 0
