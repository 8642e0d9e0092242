"""The client asks a real broker where a share group is, and sets it elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.raw_client import a_batch

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.share_offsets import (
    ShareStart,
    forget_share_topics,
    set_share_starts,
    share_starts,
)
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share import shares
from penstock.coordination.group.share.heartbeat import heartbeat
from penstock.coordination.share.names import ShareKey
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode
from penstock.node import settings
from penstock.node.node import Node
from penstock.wire.batch import read_header
from penstock.wire.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from penstock.world.ports import World
from penstock.world.real import RealChance, RealClock, RealNetwork
from penstock.world.real_disk import RealDisk

T = TypeVar("T")

GROUP, MEMBER = "jobs", "a-member-of-the-group"


class Stage:
    def __init__(self, node: Node) -> None:
        self.node = node
        self.address = f"127.0.0.1:{node.port}"

    async def ask(self, what: Callable[..., T], *arguments: Any) -> T:
        """What a client does, which blocks."""

        def carry_out() -> T:
            with WireClient(self.address, timeout_s=30) as client:
                return what(client, *arguments)

        return await asyncio.to_thread(carry_out)

    async def begin(self) -> None:
        """A topic of two partitions with records, and a group that has begun with one of them."""
        await self.ask(partial(admin.create_topic, name="orders", partitions=2))
        topic_id = self.node.image.topics["orders"].id
        for index in (0, 1):
            leader, batch = (
                self.node.broker.leader("orders", index),
                bytearray(a_batch(*[b"x"] * 9)),
            )
            leader.log.append(batch, read_header(batch), 0, leader.epoch)
            self.node.broker.appended(leader)
        self.node.door.settle()
        with pytest.raises(ClientError):  # and the topic of groups is made
            await self.ask(share_starts, GROUP)
        await self.node.broker.share_states.initialize(ShareKey(GROUP, topic_id, 0), 0, 4)
        self.beat(0, ["orders"])
        self.decide(partial(_initialized, topic_id=topic_id))

    def beat(self, epoch: int, topics: list[str] | None = None) -> None:
        request = ShareGroupHeartbeatRequest(GROUP, MEMBER, epoch, None, topics)
        self.decide(partial(heartbeat, request=request, client_id="test", client_host="/test"))

    def decide(self, decide: Any) -> None:
        self.node.broker.groups.shard(GROUP).decide_part(GROUP, decide)
        self.node.door.settle()


def _initialized(turn: Turn, group: Group, topic_id: bytes) -> bool:
    shares.initialized(turn, group, {topic_id: frozenset({0})})
    return True


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    disk = RealDisk()
    world = World(RealClock(), disk, RealNetwork(), RealChance())
    texts = {"log.dir": str(tmp_path / "data"), "listeners": "127.0.0.1:0"}
    node = Node(world, settings.read(texts))
    await node.start()
    made = Stage(node)
    await made.begin()
    yield made
    await node.stop()
    disk.close()


async def test_a_group_is_told_where_it_begins_and_how_far_it_is_behind(stage: Stage) -> None:
    found = await stage.ask(share_starts, GROUP)
    assert found["orders", 0] == ShareStart(4, 5, 4)


async def test_a_group_that_is_not_there_is_said_to_be_missing(stage: Stage) -> None:
    for asked in (
        partial(share_starts, group="none"),
        partial(set_share_starts, group="none", offsets={("orders", 0): 1}),
        partial(forget_share_topics, group="none", topics=["orders"]),
    ):
        with pytest.raises(ClientError) as caught:
            await stage.ask(asked)
        assert caught.value.code is ErrorCode.GROUP_ID_NOT_FOUND


async def test_a_group_is_set_elsewhere_once_its_members_have_gone(stage: Stage) -> None:
    offsets = {("orders", 0): 0, ("orders", 1): 8}
    with pytest.raises(ClientError, match="stop them") as caught:
        await stage.ask(set_share_starts, GROUP, offsets)
    assert caught.value.code is ErrorCode.NON_EMPTY_GROUP
    stage.beat(-1)
    await stage.ask(set_share_starts, GROUP, offsets)
    assert await stage.ask(share_starts, GROUP) == {
        ("orders", 0): ShareStart(0, 9, 0),
        ("orders", 1): ShareStart(8, 1, 8),
    }


async def test_a_partition_that_cannot_be_set_is_named(stage: Stage) -> None:
    stage.beat(-1)
    with pytest.raises(ClientError, match="orders-0") as caught:
        await stage.ask(set_share_starts, GROUP, {("orders", 0): -5})
    assert caught.value.code is ErrorCode.INVALID_REQUEST


async def test_a_group_forgets_topics_once_its_members_have_gone(stage: Stage) -> None:
    with pytest.raises(ClientError, match="stop them"):
        await stage.ask(forget_share_topics, GROUP, ["orders"])
    stage.beat(-1)
    await stage.ask(forget_share_topics, GROUP, ["orders"])
    assert await stage.ask(share_starts, GROUP) == {}
