"""Share groups of a broker: what they need of others is asked for, again and again if need be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.server.house import House, MemoryConnection
from tests.stored_shares import StoredShares

from penstock.coordination.group.groups import Group
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.share.names import ShareKey
from penstock.errors import ErrorCode
from penstock.metadata.changes import add_partitions
from penstock.metadata.cluster import Changed
from penstock.server import setting_up_shares
from penstock.server.group_upkeep import GroupUpkeep
from penstock.wire.codec import Message
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k16_list_groups import ListGroupsRequest
from penstock.wire.messages.k42_delete_groups import DeleteGroupsRequest
from penstock.wire.messages.k76_share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

JOBS = "jobs"
UNAVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


class Queue:
    """A house whose broker looks after share groups."""

    def __init__(self, house: House) -> None:
        self.house = house
        house.broker.groups.clock = house.clock
        self.stored = StoredShares(house.desk.image)
        house.broker.share_states = self.stored
        self.upkeep = GroupUpkeep(house.disk, house.door)
        self.connection: MemoryConnection = house.connect()
        self.topic = house.desk.create("orders", partitions=2)

    async def start(self) -> None:
        self.upkeep.start()
        await self.ask(FindCoordinatorRequest(key=JOBS), 0)
        self.upkeep.follow(Changed())

    async def ask(self, request: Message, version: int | None = None) -> Any:
        return await self.house.ask(self.connection, request, version)

    async def beat(self, epoch: int, *topics: str) -> ShareGroupHeartbeatResponse:
        request = ShareGroupHeartbeatRequest(
            JOBS, "m1", epoch, subscribed_topic_names=list(topics) or None
        )
        answer = await self.ask(request)
        assert isinstance(answer, ShareGroupHeartbeatResponse)
        return answer

    @property
    def shard(self) -> Any:
        groups = self.house.broker.groups
        return groups.shards[groups.place(JOBS)[0]]

    @property
    def group(self) -> Group | None:
        found: Group | None = self.shard.kept.get(JOBS)
        return found

    @property
    def body(self) -> ShareGroup:
        assert self.group is not None
        assert isinstance(self.group.body, ShareGroup)
        return self.group.body

    async def until_set_up(self) -> None:
        await self.house.settle(lambda: not self.body.begun.has_work)

    def keys(self, *partitions: int) -> list[ShareKey]:
        return [ShareKey(JOBS, self.topic, each) for each in partitions]


@pytest.fixture
async def queue(
    make_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Queue]:
    monkeypatch.setattr(setting_up_shares, "PAUSE_MS_MIN", 1)
    monkeypatch.setattr(setting_up_shares, "PAUSE_MS_MAX", 4)
    queue = Queue(make_house(offsets_topic_num_partitions="2"))
    await queue.start()
    yield queue
    await queue.upkeep.stop()


async def test_a_member_gets_its_partitions_once_their_shares_are_there(queue: Queue) -> None:
    answer = await queue.beat(0, "orders")
    assert answer.error_code == ErrorCode.NONE
    await queue.until_set_up()
    answer = await queue.beat(answer.member_epoch)
    assert answer.assignment is not None
    (told,) = answer.assignment.topic_partitions
    assert (told.topic_id, told.partitions) == (queue.topic, [0, 1])
    assert queue.stored.starts() == dict.fromkeys(queue.keys(0, 1), -1)


async def test_what_is_refused_for_now_is_asked_for_again(queue: Queue) -> None:
    queue.stored.refused = [UNAVAILABLE] * 5 + [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE]
    await queue.beat(0, "orders")
    await queue.until_set_up()
    assert len(queue.stored.asked) >= 8
    assert queue.stored.starts().keys() == set(queue.keys(0, 1))


async def test_a_share_that_somebody_has_set_elsewhere_is_there(queue: Queue) -> None:
    (first, _) = queue.keys(0, 1)
    await queue.stored.initialize(first, 3, 7)
    await queue.beat(0, "orders")
    await queue.until_set_up()
    assert queue.stored.starts()[first] == 7


async def test_a_bug_in_asking_does_not_end_it(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    initialize, calls = queue.stored.initialize, []

    async def failing(*asked: Any) -> None:
        calls.append(asked)
        if len(calls) == 1:
            raise ZeroDivisionError
        await initialize(*asked)

    monkeypatch.setattr(queue.stored, "initialize", failing)
    await queue.beat(0, "orders")
    await queue.until_set_up()
    assert "are not set up yet" in caplog.text


async def test_partitions_that_are_added_begin_with_their_first_record(queue: Queue) -> None:
    await queue.beat(0, "orders")
    await queue.until_set_up()
    desk = queue.house.desk
    desk.change(lambda image: add_partitions(image, "orders", 3, nonce=bytes(16)))
    queue.upkeep.follow(Changed(altered={queue.topic: desk.image.topics["orders"]}))
    await queue.house.settle(lambda: len(queue.stored.starts()) == 3)
    await queue.until_set_up()
    assert queue.stored.starts()[ShareKey(JOBS, queue.topic, 2)] == 0


async def test_another_coordinator_goes_on_where_one_has_stopped(queue: Queue) -> None:
    queue.stored.is_up.clear()
    await queue.beat(0, "orders")
    await queue.house.settle(lambda: len(queue.stored.asked) == 2)
    before = queue.shard
    queue.house.broker.groups.load_again(before)
    queue.stored.is_up.set()
    await queue.house.settle(lambda: queue.shard.is_loaded)
    assert queue.shard is not before
    await queue.until_set_up()
    assert queue.stored.starts().keys() == set(queue.keys(0, 1))


async def test_a_deleted_group_goes_once_its_shares_have(queue: Queue) -> None:
    await queue.beat(0, "orders")
    await queue.until_set_up()
    await queue.beat(-1)
    queue.stored.is_up.clear()
    answer = await queue.ask(DeleteGroupsRequest([JOBS]))
    assert [each.error_code for each in answer.results] == [ErrorCode.NONE]
    assert queue.group is not None
    assert queue.group.is_ending
    assert not (await queue.ask(ListGroupsRequest())).groups
    answer = await queue.beat(0, "orders")
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    queue.stored.is_up.set()
    await queue.house.settle(lambda: queue.group is None)
    assert queue.stored.starts() == {}
    answer = await queue.beat(0, "orders")
    assert answer.error_code == ErrorCode.NONE


async def test_a_group_with_members_is_not_deleted(queue: Queue) -> None:
    await queue.beat(0, "orders")
    answer = await queue.ask(DeleteGroupsRequest([JOBS]))
    assert [each.error_code for each in answer.results] == [ErrorCode.NON_EMPTY_GROUP]


async def test_a_deleted_topic_is_not_waited_for(queue: Queue) -> None:
    queue.stored.refused = [UNAVAILABLE]
    await queue.beat(0, "orders")
    topic = queue.house.desk.image.topics["orders"]
    queue.house.delete_topic("orders")
    queue.upkeep.follow(Changed(deleted={topic.id: topic}))
    await queue.house.settle(lambda: queue.body.begun.is_blank)


async def test_nothing_is_asked_for_before_it_is_decided_for_good(queue: Queue) -> None:
    queue.house.disk.syncs.clear()
    asking = queue.house.door.loop.create_task(queue.beat(0, "orders"))
    await queue.house.settle(lambda: queue.group is not None and queue.body.begun.has_work)
    for _ in range(50):
        await asyncio.sleep(0)
    assert queue.stored.asked == []
    queue.house.disk.syncs.set()
    await asking
    await queue.until_set_up()


async def test_share_groups_are_listed_by_type_and_state(queue: Queue) -> None:
    await queue.beat(0, "orders")
    answer = await queue.ask(ListGroupsRequest(types_filter=["share"]))
    assert [
        (each.group_id, each.protocol_type, each.group_state, each.group_type)
        for each in answer.groups
    ] == [(JOBS, "share", "Stable", "Share")]
    assert not (await queue.ask(ListGroupsRequest(types_filter=["consumer", "classic"]))).groups
    await queue.beat(-1)
    answer = await queue.ask(ListGroupsRequest(states_filter=["Empty"]))
    assert [each.group_id for each in answer.groups] == [JOBS]
