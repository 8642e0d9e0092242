"""A leader's view of the coordinators of shares on other brokers, which are paused and killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cluster_process import QUICK_CLUSTER, Cluster, Member
from tests.raw_client import RawClient, a_batch

from penstock.api.sharing.states import UNCERTAIN, ShareStates
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import State, Summary
from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import SHARES
from penstock.node import settings
from penstock.node.node import Node
from penstock.wire.delivery import StateBatch
from penstock.world.ports import World
from penstock.world.real import RealChance, RealClock, RealNetwork
from penstock.world.real_disk import RealDisk

OPTIONS = ("--set", "share.coordinator.state.topic.num.partitions=6")
PARTITIONS = 12
LIMIT_S = 60


class Stage:
    """Two brokers in processes of their own, and one here, which asks."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster(folder, options=OPTIONS)
        self._disk = RealDisk()
        self._texts = {
            "node.id": "9",
            "log.dir": str(folder / "data-9"),
            "listeners": "127.0.0.1:0",
            "metadata.store": self.cluster.store,
            **_settings((*QUICK_CLUSTER, *OPTIONS)),
        }
        self.node: Node

    async def begin(self) -> None:
        await asyncio.to_thread(self.cluster.start, 2)
        await self.start_node()
        await asyncio.to_thread(self._wait_known)
        await asyncio.to_thread(self.cluster.create, "orders", PARTITIONS)
        await until(lambda: "orders" in self.node.image.topics)

    def _wait_known(self) -> None:
        members = self.cluster.members.values()
        self.cluster.wait(lambda: all(9 in each.knows() for each in members), "all know 9")

    async def start_node(self) -> None:
        world = World(RealClock(), self._disk, RealNetwork(), RealChance())
        self.node = Node(world, settings.read(self._texts))
        await self.node.start()

    async def end(self) -> None:
        await self.node.stop()
        await asyncio.to_thread(self.cluster.end)
        self._disk.close()
        self.cluster.check_lines()

    @property
    def shares(self) -> ShareStates:
        return self.node.broker.share_states

    @property
    def keys(self) -> list[ShareKey]:
        topic_id = self.node.image.topics["orders"].id
        return [ShareKey("jobs", topic_id, index) for index in range(PARTITIONS)]

    def coordinator_id(self, key: ShareKey) -> int:
        return self.node.broker.shares.place(key.name)[1].leader

    async def key_elsewhere(self) -> tuple[ShareKey, Member]:
        """A share that another broker looks after."""
        await until(lambda: {self.coordinator_id(key) for key in self.keys} >= {1, 2, 9})
        key = next(key for key in self.keys if self.coordinator_id(key) != 9)
        return key, self.cluster[self.coordinator_id(key)]

    async def in_sync(self) -> None:
        await asyncio.to_thread(self.cluster.wait_in_sync, SHARES, 3)


def _settings(options: tuple[str, ...]) -> dict[str, str]:
    texts = [option for option in options if option != "--set"]
    return dict(text.split("=", 1) for text in texts)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    made = Stage(tmp_path)
    try:
        await made.begin()
        yield made
    finally:
        await made.end()


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not holds():
            await asyncio.sleep(0.02)


async def insisting(ask: Callable[[], Awaitable[Any]]) -> Any:
    """As a leader does: again, for as long as nobody knows."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                return await ask()
            except Refused as refused:
                if refused.code not in UNCERTAIN:
                    raise
            await asyncio.sleep(0.05)


def written(start: int, *batches: StateBatch, leader_epoch: int = 0) -> Written:
    return Written(0, leader_epoch, start, 0, batches)


async def test_coordinators_elsewhere_are_asked_as_the_own_one_is(stage: Stage) -> None:
    keys, shares = stage.keys, stage.shares
    await asyncio.gather(*(shares.initialize(key, 0, 3) for key in keys))
    assert {stage.coordinator_id(key) for key in keys} == {1, 2, 9}
    batch = StateBatch(40, 44, 0, 5, rejected_after=2)
    await asyncio.gather(*(shares.write(key, written(10, batch)) for key in keys))
    for key in keys:
        assert await shares.read(key, 5) == State(0, 5, 10, -1, (batch,))
        with pytest.raises(Refused) as caught:
            await shares.write(key, written(11, leader_epoch=4))
        assert caught.value.code is ErrorCode.FENCED_LEADER_EPOCH
    assert await shares.summaries(keys) == {key: Summary(0, 5, 10, 0, (), 45) for key in keys}
    await asyncio.gather(*(shares.delete(key) for key in keys[:6]))
    found = await shares.summaries(keys)
    assert [found[key].start_offset for key in keys] == [-1] * 6 + [10] * 6  # type: ignore[union-attr]


async def test_ends_and_starts_are_known_wherever_they_are_kept(stage: Stage) -> None:
    keys, admin = stage.keys, stage.node.broker.share_admin
    topic = stage.node.image.topics["orders"]
    records = {key.partition: topic.partition(key.partition) for key in keys}
    leaders = {index: record.leader for index, record in records.items() if record is not None}
    assert set(leaders.values()) == {1, 2, 9}
    ports = {1: stage.cluster[1].port, 2: stage.cluster[2].port, 9: stage.node.port}
    for index, leader in leaders.items():
        values = [b"x"] * (index + 1)
        await asyncio.to_thread(produce, ports[leader], index, values)
    ends = await admin.ends([("orders", key.partition) for key in keys] + [("none", 0)])
    assert ends == {("orders", key.partition): key.partition + 1 for key in keys}
    set_to = await admin.set_to({key: key.partition for key in keys})
    assert set_to == dict.fromkeys(keys)
    assert await stage.shares.summaries(keys) == {
        key: Summary(1, 0, key.partition, 0, (), key.partition) for key in keys
    }


def produce(port: int, partition: int, values: list[bytes]) -> None:
    with RawClient(port) as client:
        assert client.produce("orders", a_batch(*values), partition=partition).error_code == 0


async def test_a_write_that_its_coordinator_is_killed_over_is_uncertain_or_there(
    stage: Stage,
) -> None:
    await asyncio.gather(*(stage.shares.initialize(key, 0, 0) for key in stage.keys))
    await stage.in_sync()
    key, member = await stage.key_elsewhere()
    await stage.shares.write(key, written(5))
    await asyncio.to_thread(member.pause)
    task = asyncio.create_task(stage.shares.write(key, written(6)))
    for _ in range(20):  # until it is sent
        await asyncio.sleep(0)
    await asyncio.to_thread(member.kill)
    with pytest.raises(Refused) as caught:
        await task
    assert caught.value.code in UNCERTAIN
    state = await insisting(lambda: stage.shares.read(key, 0))
    assert state.start_offset in (5, 6)
    await insisting(lambda: stage.shares.write(key, written(7)))
    assert (await stage.shares.read(key, 0)).start_offset == 7


async def test_what_was_answered_is_there_after_every_failover(stage: Stage) -> None:
    keys = stage.keys
    await asyncio.gather(*(stage.shares.initialize(key, 0, 0) for key in keys))
    await stage.in_sync()
    tried, kept = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    is_over = asyncio.Event()

    async def write_on(key: ShareKey) -> None:
        while not is_over.is_set():
            tried[key] += 1
            try:
                await stage.shares.write(key, written(tried[key]))
                kept[key] = tried[key]
            except Refused as refused:
                if refused.code not in UNCERTAIN:
                    raise
                await asyncio.sleep(0.02)

    tasks = [asyncio.create_task(write_on(key)) for key in keys]
    for node_id in (1, 2):
        before = dict(kept)
        await until(lambda before=before: all(kept[key] > before[key] + 5 for key in keys))  # type: ignore[misc]
        member = stage.cluster[node_id]
        await asyncio.to_thread(member.kill)
        before = dict(kept)
        await until(lambda before=before: all(kept[key] > before[key] + 5 for key in keys))  # type: ignore[misc]
        await asyncio.to_thread(member.start)
        await stage.in_sync()
    is_over.set()
    await asyncio.gather(*tasks)
    for key in keys:
        state = await insisting(lambda key=key: stage.shares.read(key, 0))  # type: ignore[misc]
        assert kept[key] <= state.start_offset <= tried[key]


async def test_a_coordinator_that_stands_still_holds_up_no_other(stage: Stage) -> None:
    await asyncio.gather(*(stage.shares.initialize(key, 0, 0) for key in stage.keys))
    key, member = await stage.key_elsewhere()
    own = next(each for each in stage.keys if stage.coordinator_id(each) == 9)
    task = None
    try:
        await asyncio.to_thread(member.pause)
        task = asyncio.create_task(stage.shares.write(key, written(6)))
        await insisting(lambda: stage.shares.write(own, written(8)))
        with pytest.raises(Refused) as caught:
            await task
        assert caught.value.code in UNCERTAIN
    finally:
        await asyncio.to_thread(member.wake)
        if task is not None:
            with suppress(Refused):
                await task
    await insisting(lambda: stage.shares.write(key, written(7)))
    state = await insisting(lambda: stage.shares.read(key, 0))
    assert state.start_offset == 7


async def test_shares_outlive_a_restart_of_their_coordinator(stage: Stage) -> None:
    keys = stage.keys
    await asyncio.gather(*(stage.shares.initialize(key, 0, 0) for key in keys))
    await asyncio.gather(
        *(stage.shares.write(key, written(4, StateBatch(6, 6, 2, 0))) for key in keys)
    )
    await stage.node.stop()
    await stage.start_node()
    for key in keys:
        state = await insisting(lambda key=key: stage.shares.read(key, 1))  # type: ignore[misc]
        assert state == State(0, 1, 4, -1, (StateBatch(6, 6, 2, 0),))
