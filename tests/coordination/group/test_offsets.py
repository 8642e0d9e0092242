"""Offsets: how they are kept, and when they are forgotten."""

from __future__ import annotations

from typing import Any

from tests.coordination.group.classic.stage import NAME, NOW_MS, Stage

from penstock.coordination.group import protocols
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import MINUTE_MS, Committed, every, forget, write_commit
from penstock.coordination.turn import Turn

RETENTION_MS = 60 * MINUTE_MS


def a_stage() -> Stage:
    return Stage(offsets_retention_minutes=60)


def commit(stage: Stage, partition: int = 0, *, topic: str = "orders", **fields: Any) -> None:
    def decide(turn: Turn, group: Group) -> None:
        committed = Committed(fields.pop("offset", 5), commit_ms=turn.now_ms, **fields)
        write_commit(turn, group.name, topic, partition, committed)

    stage.run(decide)


def offsets(stage: Stage) -> dict[tuple[str, int], int]:
    group = stage.groups.get(NAME)
    return {(topic, part): each.offset for topic, part, each in every(group)} if group else {}


def forget_old(stage: Stage) -> None:
    if stage.groups.get(NAME):
        stage.run(protocols.forget_old)


def test_the_last_commit_of_a_partition_counts() -> None:
    stage = a_stage()
    commit(stage, 0, offset=5)
    commit(stage, 1, offset=6)
    commit(stage, 0, offset=7)
    assert offsets(stage) == {("orders", 0): 7, ("orders", 1): 6}


def test_all_of_a_commit_is_stored() -> None:
    stage = a_stage()
    committed = Committed(5, 3, "note", NOW_MS)
    stage.run(lambda turn, group: write_commit(turn, group.name, "orders", 2, committed))
    stage.reload()
    assert stage.group.offsets == {"orders": {2: committed}}


def test_a_commit_that_says_when_it_ends_keeps_that_and_not_its_epoch() -> None:
    stage = a_stage()
    committed = Committed(5, 3, "note", NOW_MS, NOW_MS + 9)
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
