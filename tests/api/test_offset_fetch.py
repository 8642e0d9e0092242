from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.api.grouping import GROUP, Room, commit

from penstock.api import shard as shard_module
from penstock.api.outcome import Resume
from penstock.coordination.pace import COST_A_SLICE
from penstock.errors import ErrorCode
from penstock.metadata.changes import delete_topic
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

NOTE = {"committed_leader_epoch": 3, "committed_metadata": "note"}


def of_one(*partitions: int, group: str = GROUP) -> OffsetFetchRequest:
    """As clients ask up to version 7; all that there is if no partitions are named."""
    topics = [OffsetFetchRequestTopic("orders", list(partitions))] if partitions else None
    return OffsetFetchRequest(group_id=group, topics=topics)


def of_many(*groups: str, partitions: tuple[int, ...] | None = (0, 1)) -> OffsetFetchRequest:
    topics = None
    if partitions is not None:
        topics = [OffsetFetchRequestTopics("orders", partition_indexes=list(partitions))]
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(each, topics=topics) for each in groups]
    )


def offsets(found: Any) -> dict[tuple[str, int], tuple[int, int, str]]:
    return {
        (topic.name, part.partition_index): (
            part.committed_offset,
            part.committed_leader_epoch,
            part.metadata,
        )
        for topic in found.topics
        for part in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 8))
def test_a_group_is_told_where_it_is(room: Room, version: int) -> None:
    room.tell(commit(7, part=NOTE))
    epoch = 3 if version >= 5 else -1
    assert offsets(room.tell(of_one(0, 1), version)) == {
        ("orders", 0): (7, epoch, "note"),
        ("orders", 1): (-1, -1, ""),
    }


@pytest.mark.parametrize("version", [8, 9])
def test_several_groups_are_told_each(room: Room, version: int) -> None:
    room.tell(commit(7, part=NOTE))
    room.tell(commit(8, group="other"))
    answer = room.tell(of_many(GROUP, "other", "nothing", partitions=(0,)), version)
    told = {each.group_id: offsets(each)["orders", 0][0] for each in answer.groups}
    assert told == {GROUP: 7, "other": 8, "nothing": -1}


@pytest.mark.parametrize("version", range(2, 8))
def test_all_that_there_is_can_be_asked_for(room: Room, version: int) -> None:
    room.tell(commit(7, partitions=(0, 1)))
    assert offsets(room.tell(of_one(), version)).keys() == {("orders", 0), ("orders", 1)}
    assert offsets(room.tell(of_one(group="nothing"), version)) == {}


def test_topics_are_named_by_id_since_version_10(room: Room) -> None:
    room.tell(commit(7))
    topic_id = room.desk.image.topics["orders"].id
    asked = [OffsetFetchRequestTopics("", each, [0]) for each in (topic_id, b"?" * 16)]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=asked)])
    known, unknown = room.tell(request, 10).groups[0].topics
    assert (known.topic_id, known.partitions[0].committed_offset) == (topic_id, 7)
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    everything = room.tell(of_many(GROUP, partitions=None), 10).groups[0].topics
    assert [each.topic_id for each in everything] == [topic_id]


def test_what_is_told_is_committed_first(room: Room) -> None:
    room.ask(commit(7))
    asked = room.ask(of_many(GROUP))
    assert asked.is_waiting
    room.sync()
    assert offsets(asked.answer.groups[0])["orders", 0][0] == 7


def test_each_group_is_refused_by_itself(room: Room) -> None:
    room.tell(commit(7))
    good, bad = room.tell(of_many(GROUP, "")).groups
    assert (good.error_code, bad.error_code) == (0, ErrorCode.INVALID_GROUP_ID)


def test_while_groups_are_loaded_nobody_is_told_anything(room: Room) -> None:
    room.tell(commit(7))
    room.groups.load_again(room.shard())
    assert room.tell(of_one(0), 7).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    (told,) = room.tell(of_many(GROUP)).groups
    assert (told.error_code, told.topics) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])


def test_what_is_asked_for_twice_is_told_once(room: Room) -> None:
    room.tell(commit(7))
    found = room.tell(of_many(GROUP, GROUP, partitions=(0, 1, 0)), 8).groups
    assert [(each.group_id, len(each.topics)) for each in found] == [(GROUP, 1)]
    assert [part.partition_index for part in found[0].topics[0].partitions] == [0, 1]


def test_the_oldest_version_is_told_of_an_error_in_each_partition(room: Room) -> None:
    answer = room.tell(of_one(0, 1, group=""), 1)
    codes = [part.error_code for topic in answer.topics for part in topic.partitions]
    assert codes == [ErrorCode.INVALID_GROUP_ID] * 2


def make_anew(room: Room) -> None:
    """The topic, while nobody tells the groups of it."""
    topic = room.desk.image.topics["orders"]
    room.desk.change(lambda image: delete_topic(image, "orders", nonce=topic.id))
    room.desk.broker.remove_topic(topic)
    room.desk.create("orders", partitions=2)


@pytest.mark.parametrize("restarted", [False, True])
def test_offsets_of_a_deleted_topic_are_not_those_of_the_one_that_has_its_name(
    room: Room, restarted: bool
) -> None:
    room.tell(commit(7))
    make_anew(room)
    if restarted:
        room = room.restart()
        room.load()
    assert offsets(room.tell(of_one(0), 7)) == {("orders", 0): (-1, -1, "")}
    assert offsets(room.tell(of_one(), 7)) == {}
    assert room.tell(of_many(GROUP, partitions=None), 9).groups[0].topics == []
    room.tell(commit(1, partitions=(1,)))
    assert offsets(room.tell(of_one(), 7)) == {("orders", 1): (1, -1, "")}


def test_offsets_of_a_deleted_topic_go_when_the_groups_have_been_loaded(room: Room) -> None:
    for number in range(5):
        room.tell(commit(7, group=f"group-{number}"))
    make_anew(room)
    room = room.restart()
    room.load()
    room.wait(0)
    assert not [group.name for _, group in room.groups.each()]
    room = room.restart()
    room.load()
    assert not [group.name for _, group in room.groups.each()]


def test_no_group_is_looked_at_before_all_of_its_shard_are_there(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_module, "BEGIN_COST", COST_A_SLICE)
    room.tell(commit(7))
    make_anew(room)
    room.groups.load_again(room.shard())
    (shard,) = room.loading
    steps = shard.load()
    while not shard.is_loaded:
        assert room.groups.next_due_ms is None
        next(steps, None)
    assert room.groups.next_due_ms == room.clock.monotonic_ms()


@pytest.mark.parametrize("version", [7, 9])
def test_a_long_answer_is_made_with_everything_else_in_between(room: Room, version: int) -> None:
    room.desk.create("wide", partitions=2_000)
    room.tell(commit(7, topic="wide", partitions=tuple(range(2_000))))
    request = of_one() if version < 8 else of_many(GROUP, partitions=None)
    call = room.desk.call(request, version)
    outcome = call.api.handler(room.desk.broker, call.request, call)
    assert isinstance(outcome, Resume)
    room.tell(commit(8, topic="wide", partitions=(0, 1_999)))
    made: Any = outcome.then(asyncio.run(_awaited(outcome)))
    answer = room.desk.decoded(made, version)
    found = offsets(answer if version < 8 else answer.groups[0])
    assert len(found) == 2_000
    assert {each[0] for each in found.values()} == {7}, "it is as it was at one moment"


async def _awaited(resume: Resume[Any]) -> Any:
    return await resume.work()
