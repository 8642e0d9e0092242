"""Offsets: how they are kept, and when they are forgotten."""

from __future__ import annotations

import pytest
from tests.coordination.group.classic.stage import NAME, NOW_MS, Stage
from tests.coordination.group.offset_stage import (
    DAY_MS,
    FORMER_ID,
    RETENTION_MS,
    TOPIC_ID,
    a_stage,
    commit,
    offsets,
    set_topic,
)

from penstock.coordination.group import aging as aging_module
from penstock.coordination.group import protocols
from penstock.coordination.group.aging import Aging
from penstock.coordination.group.offsets import (
    NEVER_MS,
    STRAYS_A_TURN,
    Committed,
    forget,
    write_commit,
)
from penstock.wire.primitives import NULL_UUID


def forget_old(stage: Stage) -> None:
    """As a sweep does."""
    aging = Aging(stage.group)
    while not aging.is_done and stage.groups.get(NAME) is not None:
        stage.run(aging.go_on)


def test_the_last_commit_of_a_partition_counts() -> None:
    stage = a_stage()
    commit(stage, 0, offset=5)
    commit(stage, 1, offset=6)
    commit(stage, 0, offset=7)
    assert offsets(stage) == {("orders", 0): 7, ("orders", 1): 6}


def test_all_of_a_commit_is_stored() -> None:
    stage = a_stage()
    committed = Committed(5, 3, "note", NOW_MS, topic_id=TOPIC_ID)
    stage.run(lambda turn, group: write_commit(turn, group.name, "orders", 2, committed))
    stage.reload()
    assert stage.group.offsets == {"orders": {2: committed}}


def test_a_commit_that_says_when_it_ends_keeps_that_and_not_its_epoch_nor_its_topic() -> None:
    stage = a_stage()
    committed = Committed(5, 3, "note", NOW_MS, NOW_MS + 9, TOPIC_ID)
    stage.run(lambda turn, group: write_commit(turn, group.name, "orders", 2, committed))
    stage.reload()
    assert stage.group.offsets["orders"][2] == Committed(5, -1, "note", NOW_MS, NOW_MS + 9)


def test_an_offset_that_is_forgotten_stays_so() -> None:
    stage = a_stage()
    commit(stage, 0)
    commit(stage, 1)
    stage.run(lambda turn, group: forget(turn, group.name, "orders", 0))
    stage.run(lambda turn, group: forget(turn, group.name, "nothing", 0))
    stage.reload()
    assert offsets(stage) == {("orders", 1): 5}


def test_offsets_of_a_group_that_never_had_members_go_with_their_age() -> None:
    stage = a_stage()
    commit(stage, 0)
    stage.wait(RETENTION_MS - 1)
    commit(stage, 1)
    stage.reload()
    forget_old(stage)
    assert offsets(stage).keys() == {("orders", 0), ("orders", 1)}
    stage.wait(1)
    forget_old(stage)
    assert offsets(stage).keys() == {("orders", 1)}


def test_offsets_of_a_group_with_members_stay_however_old_they_are() -> None:
    stage = a_stage()
    (member,) = stage.settle()
    commit(stage)
    for _ in range(500):
        stage.wait(9_000)
        stage.heartbeat(member)
    forget_old(stage)
    assert offsets(stage)


def test_offsets_of_an_emptied_group_go_when_it_has_been_empty_for_long() -> None:
    stage = a_stage()
    (member,) = stage.settle()
    commit(stage)
    for _ in range(500):
        stage.wait(9_000)
        stage.heartbeat(member)
    stage.leave(member)
    stage.reload()
    stage.wait(RETENTION_MS - 1)
    forget_old(stage)
    assert offsets(stage)
    stage.wait(1)
    forget_old(stage)
    assert stage.groups.get(NAME) is None
    assert set(stage.log.values()) == {None}


def test_a_client_of_old_may_say_when_its_offsets_go() -> None:
    stage = a_stage()
    commit(stage, expire_ms=NOW_MS + int(stage.time_ms) + 1_000)
    forget_old(stage)
    assert offsets(stage)
    stage.wait(1_000)
    forget_old(stage)
    assert not offsets(stage)


def test_many_old_offsets_go_in_several_turns_and_the_group_with_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aging_module, "OFFSETS_A_TURN", 4)
    stage = a_stage()
    (member,) = stage.settle()
    for partition in range(9):
        commit(stage, partition, topic=("orders", "other")[partition % 2])
    stage.leave(member)
    stage.wait(RETENTION_MS)
    aging = Aging(stage.group)
    left = []
    while not aging.is_done:
        stage.run(aging.go_on)
        left.append(len(offsets(stage)))
    assert left == [5, 1, 0]
    assert stage.groups.get(NAME) is None
    assert set(stage.log.values()) == {None}


def test_who_joins_while_old_offsets_go_keeps_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aging_module, "OFFSETS_A_TURN", 4)
    stage = a_stage()
    for partition in range(9):
        commit(stage, partition)
    stage.wait(RETENTION_MS)
    aging = Aging(stage.group)
    stage.run(aging.go_on)
    stage.settle()
    stage.run(aging.go_on)
    assert aging.is_done
    assert len(offsets(stage)) == 5


def test_what_is_committed_or_forgotten_while_old_offsets_go_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aging_module, "OFFSETS_A_TURN", 4)
    stage = a_stage()
    for partition in range(9):
        commit(stage, partition)
    stage.wait(RETENTION_MS)
    aging = Aging(stage.group)
    stage.run(aging.go_on)
    commit(stage, 6)
    stage.run(lambda turn, group: forget(turn, group.name, "orders", 7))
    while not aging.is_done:
        stage.run(aging.go_on)
    assert offsets(stage).keys() == {("orders", 6)}


def test_an_empty_group_without_offsets_is_forgotten() -> None:
    stage = a_stage()
    (member,) = stage.settle()
    stage.leave(member)
    forget_old(stage)
    assert stage.groups.get(NAME) is None


def test_offsets_of_a_deleted_topic_go_whether_there_are_members_or_not() -> None:
    stage = a_stage()
    stage.settle()
    commit(stage, topic="orders")
    commit(stage, topic="other")
    deleted = {"orders": stage.turn().now_ms}
    stage.run(lambda turn, group: protocols.topics_deleted(turn, group, deleted))
    assert offsets(stage).keys() == {("other", 0)}


def test_offsets_of_a_topic_that_was_made_anew_stay() -> None:
    stage = a_stage()
    commit(stage, 0)
    deleted = {"orders": stage.turn().now_ms}
    stage.wait(1)
    commit(stage, 1)
    stage.run(lambda turn, group: protocols.topics_deleted(turn, group, deleted))
    assert offsets(stage).keys() == {("orders", 1)}


def test_names_of_topics_are_kept_once() -> None:
    stage = a_stage()
    for name in ("a", "b"):
        stage.groups.get_or_add(name)
    for name in ("a", "b"):
        committed = Committed(1)
        turn = stage.turn()
        write_commit(turn, name, "a-topic-with-a-long-name", 0, committed)
        stage._write(turn.events[0])
    (one,), (two,) = (stage.groups.get_or_add(name).offsets for name in ("a", "b"))
    assert one is two


def test_ids_of_topics_are_kept_once() -> None:
    stage = a_stage()
    for partition in range(2):
        commit(stage, partition, topic_id=bytes(bytearray(TOPIC_ID)))
    stage.reload()
    one, two = stage.group.offsets["orders"].values()
    assert one.topic_id == TOPIC_ID
    assert one.topic_id is two.topic_id


# -- topics that went while nobody looked after the group


@pytest.mark.parametrize("now", [TOPIC_ID, None], ids=["made anew", "gone"])
@pytest.mark.parametrize("has_members", [True, False])
def test_offsets_of_a_topic_that_went_before_the_group_was_loaded_go(
    now: bytes | None, has_members: bool
) -> None:
    stage = a_stage()
    if has_members:
        stage.settle()
    set_topic(stage, FORMER_ID)
    commit(stage, 0, topic_id=FORMER_ID)
    commit(stage, topic="other", topic_id=TOPIC_ID)
    set_topic(stage, now)
    stage.reload()
    stage.wait(0)
    assert offsets(stage).keys() == {("other", 0)}
    stage.reload()
    assert offsets(stage).keys() == {("other", 0)}, "it is written that they went"


def test_a_group_of_nothing_but_such_offsets_goes_with_them() -> None:
    stage = a_stage()
    commit(stage, 0, topic_id=FORMER_ID)
    stage.reload()
    stage.wait(0)
    assert stage.groups.get(NAME) is None


def test_an_offset_that_does_not_say_its_topic_is_believed() -> None:
    stage = a_stage()
    commit(stage, 0, topic_id=NULL_UUID)
    stage.reload()
    stage.wait(0)
    assert offsets(stage).keys() == {("orders", 0)}


@pytest.mark.parametrize("expire_ms", [NEVER_MS, NOW_MS + DAY_MS])
def test_an_offset_of_before_its_topic_was_made_is_of_another_one(expire_ms: int) -> None:
    """One that says when it ends cannot say its topic as well."""
    stage = a_stage()
    commit(stage, 0, topic_id=FORMER_ID, expire_ms=expire_ms)
    made_ms = stage.turn().now_ms + 1
    set_topic(stage, TOPIC_ID, created_ms=made_ms)
    stage.reload()
    stage.wait(0)
    assert not offsets(stage)


def test_an_offset_of_the_moment_in_which_its_topic_was_made_stays() -> None:
    stage = a_stage()
    set_topic(stage, TOPIC_ID, created_ms=stage.turn().now_ms)
    commit(stage, 0, topic_id=TOPIC_ID, expire_ms=NOW_MS + DAY_MS)
    stage.reload()
    stage.wait(0)
    assert offsets(stage).keys() == {("orders", 0)}


def test_a_group_whose_offsets_are_all_of_topics_that_are_there_is_not_looked_at() -> None:
    stage = a_stage()
    commit(stage, 0, topic_id=TOPIC_ID)
    stage.reload()
    assert stage.group.wake_ms is None


def test_many_offsets_of_a_deleted_topic_go_some_at_a_time() -> None:
    stage = a_stage()
    for partition in range(2 * STRAYS_A_TURN + 1):
        commit(stage, partition, topic_id=FORMER_ID)
    stage.reload()
    stage.run(protocols.expire)
    assert len(stage.written) == STRAYS_A_TURN
    stage.wait(0)
    assert not offsets(stage)


def test_of_a_topic_made_anew_in_the_same_moment_the_right_offsets_stay() -> None:
    stage = a_stage()
    commit(stage, 0, topic_id=FORMER_ID)
    commit(stage, 1, topic_id=TOPIC_ID)
    deleted = {"orders": stage.turn().now_ms}
    stage.run(lambda turn, group: protocols.topics_deleted(turn, group, deleted))
    stage.wait(0)
    assert offsets(stage).keys() == {("orders", 1)}
