"""Who may join, under which id, and when it begins a round."""

from __future__ import annotations

import pytest
from tests.coordination.group.classic.stage import (
    DELAY_MS,
    RANGE,
    SESSION_MS,
    Stage,
    leads,
    reads,
)

from penstock.coordination.group import members
from penstock.errors import ErrorCode

OTHER = {"range": reads("orders", "more")}


def test_a_member_is_told_its_id_before_it_counts() -> None:
    stage = Stage()
    told = stage.join(id_first=True)
    assert told.code == ErrorCode.MEMBER_ID_REQUIRED
    assert told.member_id.startswith("client-")
    assert not stage.body.members
    joined = stage.join(told.member_id, id_first=True)
    stage.wait(DELAY_MS)
    assert joined.member_id == told.member_id


def test_an_id_that_nobody_joins_with_is_forgotten_and_so_is_the_group() -> None:
    stage = Stage()
    told = stage.join(id_first=True)
    stage.wait(SESSION_MS)
    assert stage.groups.get("readers") is None
    assert stage.join(told.member_id, id_first=True).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_round_waits_for_whoever_was_told_its_id_but_not_for_ever() -> None:
    stage = Stage()
    (one,) = stage.settle()
    stage.join(id_first=True)
    late = stage.join()
    again = stage.join(one)
    assert late.is_waiting
    stage.wait(SESSION_MS)
    assert again.answer.generation_id == late.answer.generation_id == 2


def test_an_id_that_was_told_can_be_given_back() -> None:
    stage = Stage()
    (one,) = stage.settle()
    told = stage.join(id_first=True)
    stage.join(one, OTHER)
    assert stage.leave(told.member_id) == ErrorCode.NONE
    assert stage.body.phase.name == "SYNCING"


def test_an_id_of_ones_own_making_is_not_known() -> None:
    assert Stage().join("mine").code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_follower_of_a_stable_group_is_told_its_generation_again() -> None:
    stage = Stage()
    _, follower = stage.settle(2)
    again = stage.join(follower)
    assert again.answer.generation_id == 1
    assert stage.sync(again).answer.assignment == follower.encode()
    assert stage.body.phase.name == "STABLE"


def test_a_leader_of_a_stable_group_that_joins_again_begins_a_round() -> None:
    stage = Stage()
    leader, follower = stage.settle(2)
    again = stage.join(leader)
    assert again.is_waiting
    stage.join(follower)
    assert again.answer.generation_id == 2


def test_a_follower_of_a_stable_group_that_brings_something_new_begins_a_round() -> None:
    stage = Stage()
    leader, follower = stage.settle(2)
    stage.join(follower, OTHER)
    again = stage.join(leader)
    brought = {each.member_id: each.metadata for each in again.answer.members}
    assert brought == {leader: RANGE["range"], follower: OTHER["range"]}


def test_a_member_whose_answer_was_lost_gets_it_again_while_the_plan_is_made() -> None:
    stage = Stage()
    leader, follower = stage.join(), stage.join()
    stage.wait(DELAY_MS)
    assert len(stage.join(leader.member_id).answer.members) == 2
    assert stage.join(follower.member_id).answer.generation_id == 1
    assert stage.body.phase.name == "SYNCING"


def test_a_member_that_brings_something_new_while_the_plan_is_made_begins_a_round() -> None:
    stage = Stage()
    leader, follower = stage.join(), stage.join()
    stage.wait(DELAY_MS)
    waiting = stage.sync(follower)
    stage.join(leader.member_id, OTHER)
    assert waiting.code == ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.join(follower.member_id).answer.generation_id == 2


def test_a_new_member_while_the_plan_is_made_begins_a_round() -> None:
    stage = Stage()
    leader = stage.join()
    stage.wait(DELAY_MS)
    late = stage.join()
    assert stage.sync(leader, {}).code == ErrorCode.REBALANCE_IN_PROGRESS
    stage.join(leader.member_id)
    assert late.answer.generation_id == 2


def test_a_join_that_comes_twice_counts_once_and_the_later_one_is_answered() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    stage.join(one, OTHER)
    first = stage.join(two)
    stage.join(one)  # a new round, for the leader has come once more
    again = [stage.join(two), stage.join(two)]
    assert first.answer.generation_id == 2
    assert not any(each.is_waiting for each in again)
    assert stage.body.joined == 0


def test_the_earlier_of_two_joins_of_a_member_is_told_to_try_again() -> None:
    stage = Stage()
    one, _ = stage.settle(2)
    earlier, later = stage.join(one), stage.join(one)
    assert earlier.code == ErrorCode.REBALANCE_IN_PROGRESS
    assert later.is_waiting
    assert stage.body.joined == 1


def test_a_changed_mind_in_the_round_counts() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    stage.join(one)
    stage.join(one, OTHER)
    stage.join(two)
    assert stage.body.members[one].protocols == OTHER


@pytest.mark.parametrize(
    ("kind", "protocols"), [("connect", RANGE), ("consumer", {"roundrobin": reads("orders")})]
)
def test_a_member_that_speaks_otherwise_is_refused(kind: str, protocols: dict[str, bytes]) -> None:
    stage = Stage()
    one, _ = stage.settle(2)
    refused = stage.join(kind=kind, protocols=protocols)
    assert refused.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.join(one, protocols, kind=kind).code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.body.phase.name == "STABLE"


def test_the_only_member_may_change_its_assignor_but_not_what_it_is() -> None:
    stage = Stage()
    (one,) = stage.settle()
    assert stage.join(one, RANGE, kind="connect").code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.join(one, {"sticky": b""}).answer.protocol_name == "sticky"


def test_an_emptied_group_takes_members_of_another_kind() -> None:
    stage = Stage()
    (one,) = stage.settle()
    stage.leave(one)
    joined = stage.join(kind="connect", protocols={"eager": b""})
    stage.wait(DELAY_MS)
    assert joined.answer.protocol_type == "connect"


def test_a_group_has_a_largest_size_which_counts_those_who_are_about_to_join() -> None:
    stage = Stage(group_max_size=2)
    stage.join()
    told = stage.join(id_first=True)
    assert stage.join().code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.join(id_first=True).code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.join(told.member_id, id_first=True).is_waiting
    assert stage.join(instance="i").code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_members_that_know_no_rebalance_timeout_mean_that_of_their_session() -> None:
    stage = Stage()
    stage.join(rebalance_ms=-1)
    (member,) = stage.body.members.values()
    assert member.rebalance_timeout_ms == SESSION_MS


def test_votes_are_taken_back_with_the_members() -> None:
    stage = Stage()
    one, two = stage.settle(2)
    stage.join(two, {"sticky": b"", **OTHER})
    stage.leave(one)
    assert stage.body.votes == {"sticky": 1, "range": 1}
    assert leads(stage.join(two, {"sticky": b""}))
    assert stage.body.votes == {"sticky": 1}


def test_a_join_costs_no_more_in_a_large_group_than_in_a_small_one() -> None:
    """By what it looks at: nothing that goes through the members runs while they join."""
    stage = Stage()
    for _ in range(50):
        stage.join(protocols={"range": b"", f"own-{stage.time_ms}": b""})
    looked_at = []

    class Watched(dict):  # type: ignore[type-arg]
        def values(self) -> object:  # type: ignore[override]
            looked_at.append("values")
            return super().values()

    stage.body.members = Watched(stage.body.members)
    for _ in range(50):
        stage.join()
    assert not looked_at
    assert len(stage.body.members) == 100


def test_members_together_may_say_so_much_of_themselves_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(members, "METADATA_BYTES_MAX", 1_000)
    stage = Stage()
    one = stage.join(protocols={"range": bytes(400), "other": bytes(200)})
    refused = stage.join(protocols={"range": bytes(401)})
    assert refused.code == ErrorCode.GROUP_MAX_SIZE_REACHED
    two = stage.join(protocols={"range": bytes(400)}, instance="i")
    stage.wait(DELAY_MS)
    ids = stage.plan([one, two])
    assert stage.join(one.member_id, {"range": bytes(601)}).code == refused.code
    assert stage.join(instance="i", protocols={"range": bytes(401)}).code == refused.code
    assert stage.body.phase.name == "STABLE"
    assert list(stage.body.members) == ids, "who is refused changes nothing"
    stage.leave(one.member_id)
    assert stage.join(protocols={"range": bytes(600)}).code == ErrorCode.NONE


def test_a_member_may_say_less_in_a_group_that_was_stored_when_more_was_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    one, two = stage.join(protocols={"range": bytes(800)}), stage.join(protocols={"range": b"x"})
    stage.wait(DELAY_MS)
    stage.plan([one, two])
    monkeypatch.setattr(members, "METADATA_BYTES_MAX", 500)
    assert stage.join(two.member_id, {"range": b"xx"}).code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.join(one.member_id, {"range": bytes(700)}).code == ErrorCode.NONE
    assert stage.body.metadata_bytes == 701
