"""Several brokers in one process: replicas that come, go, and are lost."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest
from tests.raw_client import a_batch

from penstock.metadata.changes import create_topic, delete_topic
from penstock.metadata.config_changes import change_broker_configs, change_topic_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.internal_topics import OFFSETS, create_internal_topic
from penstock.metadata.leadership import elect, preferred
from penstock.metadata.reassignment import reassign
from penstock.metadata.records import PartitionRecord
from penstock.node import settings
from penstock.node.node import Node
from penstock.wire.batch import read_header
from penstock.world.ports import World
from penstock.world.real import RealChance, RealClock, RealNetwork
from penstock.world.real_disk import RealDisk

WAIT_S = 30
TOPIC_ID = b"n" * 16


class Brokers:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes: dict[int, Node] = {}
        self._disks: list[RealDisk] = []

    async def start(self, *node_ids: int, **texts: str) -> None:
        for node_id in node_ids:
            disk = RealDisk()
            self._disks.append(disk)
            world = World(RealClock(), disk, RealNetwork(), RealChance())
            given = {
                "node.id": str(node_id),
                "log.dir": str(self.folder / str(node_id)),
                "metadata.store": f"sqlite:{self.folder / 'metadata.sqlite'}",
                "listeners": "127.0.0.1:0",
                "disk.free.min.bytes": "0",
                "offsets.topic.num.partitions": "4",
                **{name.replace("_", "."): text for name, text in texts.items()},
            }
            self.nodes[node_id] = Node(world, settings.read(given))
            await self.nodes[node_id].start()
        await self.until(self._know_each_other)

    def _know_each_other(self) -> bool:
        return all(node.image.brokers.keys() >= self.nodes.keys() for node in self.nodes.values())

    async def stop(self, node_id: int) -> None:
        await self.nodes.pop(node_id).stop()

    async def close(self) -> None:
        for node_id in list(self.nodes):
            await self.stop(node_id)
        for disk in self._disks:
            disk.close()

    @property
    def any(self) -> Node:
        return next(iter(self.nodes.values()))

    async def create(self, *replicas: int) -> None:
        await self.any.keeper.change(
            lambda image: create_topic(
                image, "news", topic_id=TOPIC_ID, now_ms=1, assignments={0: replicas}
            )
        )
        await self.until(lambda: all(node.image.topic("news") for node in self.nodes.values()))

    async def set_topic(self, name: str, text: str) -> None:
        change = ConfigChange(name, Operation.SET, text)
        await self.any.keeper.change(
            lambda image: change_topic_configs(image, "news", [change], nonce=b"s", now_ms=1)
        )
        await self.until(lambda: all(self._has(node, name, text) for node in self.nodes.values()))

    @staticmethod
    def _has(node: Node, name: str, text: str) -> bool:
        return node.image.topics["news"].record.configs.get(name) == text

    async def append(self, count: int = 1) -> int:
        """Records that are committed; the end of the log."""
        await self.until(self._leader_knows)
        node = self.nodes[self.record.leader]
        leader = node.broker.leader("news", 0)
        for _ in range(count):
            batch = bytearray(a_batch(b"v"))
            leader.log.append(batch, read_header(batch), 0, leader.epoch)
        node.broker.appended(leader)
        leader.grown.fire()
        node.door.settle()
        end = leader.log.end_offset
        await self.until(lambda: leader.high_watermark == end)
        return end

    def _leader_knows(self) -> bool:
        leader = self.nodes.get(self.record.leader)
        return leader is not None and leader.image.partition(TOPIC_ID, 0) == self.record

    async def move(self, *replicas: int) -> None:
        await self.any.keeper.change(lambda image: reassign(image, "news", 0, replicas, nonce=b"m"))

    def has_moved(self, replicas: tuple[int, ...]) -> bool:
        return self.record.replicas == replicas and set(self.record.isr) == set(replicas)

    @property
    def record(self) -> PartitionRecord:
        found = self.any.image.partition(TOPIC_ID, 0)
        assert found is not None
        return found

    def log_folder(self, node_id: int) -> Path:
        return self.folder / str(node_id) / "news-0"

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not holds():
                await asyncio.sleep(0.02)


@pytest.fixture
async def brokers(tmp_path: Path) -> AsyncIterator[Brokers]:
    made = Brokers(tmp_path)
    yield made
    await made.close()


async def test_a_partition_moves_with_all_its_records_and_is_deleted_where_it_was(
    brokers: Brokers,
) -> None:
    await brokers.start(1, 2, 3)
    await brokers.create(1, 2)
    end = await brokers.append(20)
    await brokers.move(3)
    await brokers.until(lambda: brokers.record.replicas == (3,))
    assert (brokers.record.leader, brokers.record.isr) == (3, (3,))
    await brokers.until(lambda: brokers.nodes[3].image.partition(TOPIC_ID, 0) == brokers.record)
    leader = brokers.nodes[3].broker.leader("news", 0)
    assert (leader.log.start_offset, leader.log.end_offset) == (0, end)
    await brokers.until(lambda: not any(brokers.log_folder(node).exists() for node in (1, 2)))
    await brokers.append()


async def test_a_topic_that_is_deleted_is_asked_for_no_more(brokers: Brokers) -> None:
    await brokers.start(1, 2)
    await brokers.create(1, 2)
    await brokers.append()
    copying = brokers.nodes[3 - brokers.record.leader].fetchers
    assert copying._sources.keys() == {(TOPIC_ID, 0)}
    await brokers.any.keeper.change(lambda image: delete_topic(image, "news", nonce=b"d"))
    await brokers.until(lambda: not copying._sources)
    for each in copying._fetchers.values():
        assert not each._has_something()
        assert not each._paused


async def test_a_broker_that_was_down_during_the_move_deletes_its_log_when_it_is_back(
    brokers: Brokers,
) -> None:
    await brokers.start(1, 2, 3)
    await brokers.create(1, 2)
    await brokers.append(5)
    await brokers.stop(2)
    await brokers.move(1, 3)
    await brokers.until(lambda: brokers.record.replicas == (1, 3))
    assert brokers.log_folder(2).exists()
    await brokers.start(2)
    await brokers.until(lambda: not brokers.log_folder(2).exists())
    assert ("news", 0) not in brokers.nodes[2].log_dir.logs


async def test_who_gets_a_partition_back_begins_anew_and_has_all_of_it_in_the_end(
    brokers: Brokers,
) -> None:
    await brokers.start(1, 2)
    await brokers.create(1, 2)
    await brokers.append(5)
    for replicas in ((1,), (1, 2), (2,), (2, 1)):
        await brokers.move(*replicas)
        await brokers.until(partial(brokers.has_moved, replicas))
        end = await brokers.append(3)
    logs = [node.log_dir.logs["news", 0] for node in brokers.nodes.values()]
    await brokers.until(lambda: all((log.start_offset, log.end_offset) == (0, end) for log in logs))


async def test_a_replica_whose_folder_was_lost_is_copied_again_from_the_beginning(
    brokers: Brokers,
) -> None:
    await brokers.start(1, 2)
    await brokers.create(1, 2)
    end = await brokers.append(7)
    await brokers.stop(2)
    shutil.rmtree(brokers.log_folder(2))
    await brokers.start(2)
    await brokers.until(lambda: set(brokers.record.isr) == {1, 2})
    log = brokers.nodes[2].log_dir.logs["news", 0]
    assert (log.start_offset, log.end_offset) == (0, end)


async def test_a_leader_whose_folder_was_lost_leads_no_more(brokers: Brokers) -> None:
    await brokers.start(1, 2)
    await brokers.create(1, 2)
    end = await brokers.append(7)
    await brokers.stop(1)
    shutil.rmtree(brokers.log_folder(1))
    await brokers.start(1)
    await brokers.until(lambda: set(brokers.record.isr) == {1, 2})
    assert brokers.record.leader == 2
    assert brokers.nodes[2].broker.leader("news", 0).log.end_offset == end
    await brokers.any.keeper.change(lambda image: elect(image, "news", 0, preferred, nonce=b"e"))
    await brokers.until(lambda: brokers.nodes[1].image.partition(TOPIC_ID, 0) == brokers.record)
    assert brokers.record.leader == 1
    assert brokers.nodes[1].broker.leader("news", 0).log.start_offset == 0


async def test_the_topic_of_groups_gets_replicas_as_brokers_join(brokers: Brokers) -> None:
    await brokers.start(1)
    config = brokers.any.config
    await brokers.any.keeper.change(
        lambda image: create_internal_topic(image, OFFSETS, config, topic_id=b"o" * 16, now_ms=1)
    )
    await brokers.start(2, 3)

    def factor() -> int:
        topic = brokers.any.image.topic(OFFSETS)
        assert topic is not None
        return topic.record.replication_factor

    await brokers.until(lambda: factor() == 3)
    topic = brokers.any.image.topics[OFFSETS]
    assert all(each and len(each.isr) == 3 for each in topic.partitions)


async def test_preferred_leaders_lead_again_by_themselves(brokers: Brokers) -> None:
    often = {"leader_imbalance_check_interval_seconds": "1"}
    await brokers.start(1, 2, **often)
    await brokers.create(1, 2)
    await brokers.append()
    await brokers.stop(1)
    await brokers.until(lambda: brokers.record.leader == 2)
    await brokers.start(1, **often)
    await brokers.until(lambda: brokers.record.leader == 1)


async def test_a_follower_copies_no_faster_than_it_may_until_it_is_in_sync(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    await brokers.start(1, 2)
    await brokers.create(1)
    await brokers.append(50)
    size = brokers.nodes[1].log_dir.logs["news", 0].size_bytes
    change = ConfigChange("follower.replication.throttled.rate", Operation.SET, str(size))
    await brokers.any.keeper.change(lambda image: change_broker_configs(image, 2, [change]))
    took: list[int] = []
    throttle = brokers.nodes[2].fetchers._throttle
    count = type(throttle).took

    def counted(self: object, size: int, now_ms: float, rate: int) -> float:
        took.append(size)
        return count(throttle, size, now_ms, rate)

    monkeypatch.setattr(type(throttle), "took", counted)
    await brokers.move(1, 2)
    await brokers.until(lambda: set(brokers.record.isr) == {1, 2})
    assert sum(took) == size
    await brokers.until(lambda: brokers.nodes[2].image.partition(TOPIC_ID, 0) == brokers.record)
    await brokers.append(10)
    assert sum(took) == size


async def test_what_was_set_while_a_broker_ran_holds_when_it_starts_again(
    brokers: Brokers,
) -> None:
    await brokers.start(1)
    change = ConfigChange("leader.imbalance.per.broker.percentage", Operation.SET, "33")
    await brokers.any.keeper.change(lambda image: change_broker_configs(image, 1, [change]))
    await brokers.stop(1)
    await brokers.start(1)
    assert brokers.any.broker.config.leader_imbalance_percent == 33
