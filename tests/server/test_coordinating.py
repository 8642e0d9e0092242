"""What a coordinator does beside answering: load, keep time, follow the topics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.api.grouping import GROUP, commit, join, sync
from tests.raw_client import frame_of
from tests.server.house import House, MemoryConnection

from penstock.api.handlers import k42_delete_groups
from penstock.api.shard import Shard
from penstock.coordination.group import offsets
from penstock.coordination.group.groups import Group
from penstock.errors import ErrorCode
from penstock.log.steps import Steps
from penstock.metadata.changes import add_partitions
from penstock.metadata.cluster import Changed
from penstock.metadata.internal_topics import OFFSETS
from penstock.server import coordinating as module
from penstock.server.group_upkeep import GroupUpkeep
from penstock.wire.codec import Message, decode_response
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k11_join_group import JoinGroupResponse
from penstock.wire.messages.k12_heartbeat import HeartbeatRequest
from penstock.wire.messages.k14_sync_group import SyncGroupResponse
from penstock.wire.messages.k42_delete_groups import DeleteGroupsRequest
from penstock.wire.stored.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from penstock.wire.stored_codec import encode_value

DAY_MS = 24 * 3_600_000
QUICK_MS = 20
"""The loop's timers run in real time, whatever the clock says."""


class Coordinated:
    """A house whose broker looks after groups."""

    def __init__(self, house: House) -> None:
        self.house = house
        house.broker.groups.clock = house.clock
        self.upkeep = GroupUpkeep(house.disk, house.door)
        house.desk.create("orders", partitions=2)
        self.connection: MemoryConnection = house.connect()

    async def start(self) -> None:
        self.upkeep.start()
        await self.ask(FindCoordinatorRequest(key=GROUP), 0)
        self.follow()

    async def ask(self, request: Message, version: int | None = None) -> Any:
        return await self.house.ask(self.connection, request, version)

    def follow(self, **changed: Any) -> None:
        self.upkeep.follow(Changed(**changed))

    @property
    def group(self) -> Group | None:
        index = self.house.broker.groups.place(GROUP)[0]
        return self.house.broker.groups.shards[index].kept.get(GROUP)

    @property
    def offsets(self) -> dict[int, int]:
        orders = self.group.offsets.get("orders", {}) if self.group else {}
        return {index: each.offset for index, each in orders.items()}

    async def until(self, is_so: Callable[[], bool]) -> None:
        await self.house.settle(is_so)

    async def settle_group(self, session_ms: int = 60_000) -> str:
        joined = await self.ask(join(session_timeout_ms=session_ms), 3)
        member: str = joined.member_id
        await self.ask(sync(member, [member]), 0)
        return member

    def delete_orders(self) -> dict[bytes, Any]:
        topic = self.house.desk.image.topics["orders"]
        self.house.delete_topic("orders")
        return {topic.id: topic}

    def create_orders(self) -> dict[bytes, Any]:
        topic_id = self.house.desk.create("orders", partitions=2)
        return {topic_id: self.house.desk.image.topics["orders"]}


@pytest.fixture
async def place(make_house: Callable[..., House]) -> AsyncIterator[Coordinated]:
    house = make_house(
        offsets_topic_num_partitions="2",
        group_initial_rebalance_delay_ms="0",
        group_min_session_timeout_ms="1",
        offsets_retention_check_interval_ms="1",
        offsets_retention_minutes="60",
    )
    place = Coordinated(house)
    await place.start()
    yield place
    await place.upkeep.stop()


async def test_the_first_group_that_asks_has_its_offsets_topic_made(place: Coordinated) -> None:
    assert place.house.desk.image.topics[OFFSETS].record.partitions == 2
    assert set(place.house.broker.groups.shards) == {0, 1}


async def test_a_member_that_goes_silent_is_found_without_anyone_asking(
    place: Coordinated,
) -> None:
    await place.settle_group(QUICK_MS)
    place.house.clock.time_ms += 60_000
    await place.until(lambda: place.group is None or place.group.is_empty)


async def test_a_round_ends_when_its_time_is_up_and_the_answers_go_out(
    place: Coordinated,
) -> None:
    member = await place.settle_group(QUICK_MS)
    other = place.house.connect()
    other.give(frame_of(join(), 3))
    place.house.clock.time_ms += 60_000
    await place.house.receive(other, 1)
    answer = await place.ask(HeartbeatRequest(GROUP, 1, member))
    assert answer.error_code


async def test_groups_are_loaded_again_beside_everything_else(place: Coordinated) -> None:
    await place.ask(commit(7), 8)
    groups = place.house.broker.groups
    groups.load_again(groups.shard(GROUP))
    assert place.offsets == {}
    await place.until(lambda: place.offsets == {0: 7})


async def test_a_load_that_fails_is_tried_again(
    place: Coordinated, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await place.ask(commit(7), 8)
    monkeypatch.setattr(module, "RETRY_MS", 1)
    real, failures = Shard.load, iter([OSError("unreadable")])

    def load(shard: Shard[Group]) -> Steps[None]:
        for failure in failures:
            raise failure
        yield from real(shard)

    monkeypatch.setattr(Shard, "load", load)
    groups = place.house.broker.groups
    groups.load_again(groups.shard(GROUP))
    await place.until(lambda: place.offsets == {0: 7})
    assert "is tried again" in caplog.text


async def test_more_partitions_make_members_share_them_anew(place: Coordinated) -> None:
    member = await place.settle_group()
    desk = place.house.desk
    desk.change(lambda image: add_partitions(image, "orders", 5, nonce=desk.chance.uuid()))
    topic = desk.image.topics["orders"]
    place.follow(altered={topic.id: topic})
    await place.until(lambda: place.group is not None and state(place.group) == "JOINING")
    assert (await place.ask(HeartbeatRequest(GROUP, 1, member))).error_code


async def test_other_settings_of_a_topic_disturb_nobody(place: Coordinated) -> None:
    await place.settle_group()
    topic = place.house.desk.image.topics["orders"]
    place.follow(altered={topic.id: topic})
    for _ in range(5):
        await place.ask(FindCoordinatorRequest(key=GROUP), 0)
    assert place.group is not None
    assert state(place.group) == "STABLE"


def state(group: Group) -> str:
    return str(group.body.phase.name)  # type: ignore[union-attr]


async def test_offsets_of_a_deleted_topic_go(place: Coordinated) -> None:
    await place.ask(commit(7), 8)
    place.follow(deleted=place.delete_orders())
    await place.until(lambda: place.group is None)


async def test_offsets_of_a_topic_that_was_deleted_and_made_anew_at_once_go_as_well(
    place: Coordinated,
) -> None:
    await place.ask(commit(7), 8)
    deleted = place.delete_orders()
    place.follow(deleted=deleted, created=place.create_orders())
    place.house.clock.time_ms += 1
    await place.ask(commit(1, partitions=(1,)), 8)
    await place.until(lambda: place.offsets == {1: 1})


async def test_groups_that_are_being_loaded_hear_of_a_deleted_topic_too(
    place: Coordinated,
) -> None:
    await place.ask(commit(7), 8)
    groups = place.house.broker.groups
    shard = groups.shard(GROUP)
    groups.load_again(shard)
    place.follow(deleted=place.delete_orders())
    loading = groups.shards[shard.leader.index]
    assert not loading.is_loaded
    await place.until(lambda: loading.is_loaded and place.group is None)


async def test_offsets_of_a_topic_that_went_before_anyone_was_told_go_when_groups_are_loaded(
    place: Coordinated,
) -> None:
    await place.ask(commit(7), 8)
    place.delete_orders()
    place.create_orders()
    groups = place.house.broker.groups
    shard = groups.shard(GROUP)
    groups.load_again(shard)
    loading = groups.shards[shard.leader.index]
    await place.until(lambda: loading.is_loaded and place.group is None)


async def test_partitions_that_came_before_anyone_was_told_are_shared_when_groups_are_loaded(
    place: Coordinated,
) -> None:
    member = (await place.ask(join(), 3)).member_id
    planned = ConsumerProtocolAssignment([TopicPartition("orders", [0, 1])])
    request = sync(member, [member])
    request.assignments[0].assignment = encode_value(planned, 1)
    await place.ask(request, 0)
    desk, groups = place.house.desk, place.house.broker.groups
    desk.change(lambda image: add_partitions(image, "orders", 5, nonce=desk.chance.uuid()))
    groups.load_again(groups.shard(GROUP))
    await place.until(lambda: place.group is not None and state(place.group) == "JOINING")


async def test_old_offsets_of_an_empty_group_go_in_time(place: Coordinated) -> None:
    await place.ask(commit(7), 8)
    place.house.clock.time_ms += DAY_MS
    await place.until(lambda: place.group is None)


async def test_a_disk_that_fails_under_a_sweep_is_survived(
    place: Coordinated, caplog: pytest.LogCaptureFixture
) -> None:
    await place.ask(commit(7), 8)
    index = place.house.broker.groups.place(GROUP)[0]
    place.house.disk.full_folder = f"{OFFSETS}-{index}"
    place.house.clock.time_ms += DAY_MS
    await place.until(lambda: "could not be written" in caplog.text)
    place.house.disk.full_folder = ""
    await place.until(lambda: place.group is None)


async def test_a_plan_that_could_not_be_written_is_given_to_nobody(place: Coordinated) -> None:
    await place.ask(commit(7), 8)
    house, leader, follower = place.house, place.connection, place.house.connect()
    member = await place.settle_group()
    follower.give(frame_of(join(), 3))
    await place.ask(join(GROUP, member), 3)
    (answer,) = await house.receive(follower, 1)
    other = decode_response(JoinGroupResponse, answer, 3)[1].member_id
    follower.give(frame_of(sync(other, generation=2), 0))
    house.disk.full_folder = f"{OFFSETS}-{house.broker.groups.place(GROUP)[0]}"
    leader.give(frame_of(sync(member, [member, other], generation=2), 0))
    assert leader.is_closed
    house.disk.full_folder = ""
    place.connection = house.connect()
    await place.ask(HeartbeatRequest(GROUP, 1, member))
    (answer,) = await house.receive(follower, 1)
    told = decode_response(SyncGroupResponse, answer, 0)[1]
    assert (told.error_code, told.assignment) == (ErrorCode.NOT_COORDINATOR, b"")
    await place.until(lambda: place.group is not None)
    assert place.group is not None
    assert list(place.group.body.members) == [member], "it is as it was before the round"


async def test_what_a_deletion_has_appended_is_written_out_when_its_client_leaves(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (k42_delete_groups, offsets):
        monkeypatch.setattr(each, "OFFSETS_A_TURN", 10)
    place = Coordinated(house)
    await place.start()
    house.desk.create("wide", partitions=1_000)
    await place.ask(commit(topic="wide", partitions=tuple(range(1_000))), 8)
    log = house.broker.leader(OFFSETS, house.broker.groups.place(GROUP)[0]).log
    leaver = house.connect()
    leaver.give(frame_of(DeleteGroupsRequest([GROUP]), 2))
    await place.until(lambda: bool(house.broker._dirty))
    house.session_of(leaver).close()
    await asyncio.sleep(0)
    assert not house.broker._dirty
    await place.until(lambda: log.synced_end == log.end_offset)
    await place.upkeep.stop()
