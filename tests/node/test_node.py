"""A broker as a whole: how it stops, and how it comes back when its lease has ended."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.raw_client import a_batch

from penstock.errors import Unusable
from penstock.log import layout
from penstock.metadata.changes import Commit, create_topic, delete_topic
from penstock.metadata.records import encode, partition_key
from penstock.metadata.store import NoRoom, Unavailable
from penstock.metadata.stores.sqlite import SqliteStore
from penstock.node import membership, settings
from penstock.node.node import Node
from penstock.wire.batch import read_header
from penstock.world.ports import File, World
from penstock.world.real import RealChance, RealClock, RealNetwork
from penstock.world.real_disk import RealDisk

StartNode = Callable[[RealDisk], Awaitable[Node]]


class OnceFailingDisk(RealDisk):
    """Tells of a failed writeback as kernels do: the first who asks, and nobody after."""

    def __init__(self) -> None:
        super().__init__()
        self.failing = asyncio.Event()
        self.fails_next = False

    async def sync_all(self, files: Sequence[File], folders: Sequence[str]) -> None:
        if self.fails_next:
            self.fails_next = False
            await self.failing.wait()
            raise OSError(errno.EIO, "writeback failed")
        await super().sync_all(files, folders)


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[StartNode]:
    disks: list[RealDisk] = []

    async def start_node(disk: RealDisk) -> Node:
        disks.append(disk)
        world = World(RealClock(), disk, RealNetwork(), RealChance())
        texts = {
            "log.dir": str(tmp_path / "data"),
            "listeners": "127.0.0.1:0",
            "broker.session.timeout.ms": "2000",
            "disk.free.min.bytes": "0",
        }
        made = Node(world, settings.read(texts))
        await made.start()
        return made

    yield start_node
    for disk in disks:
        disk.close()


async def test_a_broker_that_is_not_registered_yet_has_no_lease(
    start: StartNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    register = membership.Membership.register

    async def watched(self: membership.Membership) -> None:
        seen.append(self.has_lease)
        await register(self)

    monkeypatch.setattr(membership.Membership, "register", watched)
    node = await start(RealDisk())
    assert seen == [False]
    assert node.broker.has_lease()
    await node.stop()


def is_marked_clean(node: Node) -> bool:
    return Path(node.config.data_dir, layout.CLEAN_STOP_FILE).exists()


async def append(node: Node) -> None:
    await node.keeper.change(
        lambda image: create_topic(
            image, "news", topic_id=b"n" * 16, now_ms=0, partitions=1, replication=1
        )
    )
    leader = node.broker.leader("news", 0)
    batch = bytearray(a_batch(b"v"))
    leader.log.append(batch, read_header(batch), 0, leader.epoch)
    node.broker.appended(leader)
    node.door.write_out()


# -- starting


async def test_a_new_data_folder_has_checkpoints_from_the_beginning(
    start: StartNode, tmp_path: Path
) -> None:
    """So that a folder without them has lost them, and it is not known what was synced."""
    running = await start(RealDisk())
    names = {path.name for path in (tmp_path / "data").iterdir()}
    assert {layout.RECOVERY_POINTS_FILE, layout.TOPIC_IDS_FILE} <= names
    await running.stop()


async def test_a_start_that_cannot_write_checkpoints_goes_on(
    start: StartNode, caplog: pytest.LogCaptureFixture
) -> None:
    class NoCheckpoints(RealDisk):
        def write_whole(self, path: str, data: bytes) -> None:
            if path.endswith(layout.RECOVERY_POINTS_FILE) and not self.may_write:
                raise OSError(errno.ENOSPC, "no space left")
            super().write_whole(path, data)

        may_write = False

    disk = NoCheckpoints()
    running = await start(disk)
    assert "no checkpoint could be written at the start" in caplog.text
    disk.may_write = True
    await running.stop()


# -- following the cluster


async def test_a_partition_that_is_in_use_follows_its_epoch(start: StartNode) -> None:
    running = await start(RealDisk())
    topic_id = bytes(15) + b"t"
    await running.keeper.change(
        lambda image: create_topic(
            image, "news", topic_id=topic_id, now_ms=1, partitions=1, replication=1
        )
    )
    leader = running.broker.leader("news", 0)
    record = running.image.partition(topic_id, 0)
    assert record is not None
    again = encode(msgspec.structs.replace(record, leader_epoch=1))
    await running.keeper.change(
        lambda image: Commit(None, puts=[(partition_key(topic_id, 0), again)])
    )
    assert running.broker.leader("news", 0) is leader
    assert leader.epoch == 1
    await running.stop()


# -- stopping


async def test_a_stop_that_went_well_is_marked_clean(start: StartNode) -> None:
    running = await start(RealDisk())
    await append(running)
    await running.stop()
    assert is_marked_clean(running)


async def test_a_stop_while_a_sync_fails_is_not_marked_clean(start: StartNode) -> None:
    disk = OnceFailingDisk()
    running = await start(disk)
    disk.fails_next = True
    await append(running)
    await asyncio.sleep(0)  # the round has begun
    stopping = asyncio.create_task(running.stop())
    await asyncio.sleep(0)
    disk.failing.set()
    with pytest.raises(Unusable, match="writeback failed"):
        await stopping
    assert not is_marked_clean(running)
    again = await start(RealDisk())
    assert not again.log_dir.was_clean
    await again.stop()


async def test_a_stop_whose_own_sync_fails_is_not_marked_clean(start: StartNode) -> None:
    disk = OnceFailingDisk()
    disk.failing.set()
    running = await start(disk)
    await append(running)
    await running.syncer.drain()
    disk.fails_next = True
    with pytest.raises(Unusable, match="not clean"):
        await running.stop()
    assert not is_marked_clean(running)


async def test_a_stop_is_clean_though_others_keep_the_store_locked(start: StartNode) -> None:
    running = await start(RealDisk())
    store = running.store
    assert isinstance(store, SqliteStore)
    await store._thread.run(lambda: store._opened._db.execute("PRAGMA busy_timeout=50"))
    blocker = sqlite3.connect(store._path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    await running.stop()
    blocker.close()
    assert is_marked_clean(running)


# -- a full disk


class FullDisk(RealDisk):
    """Full, as far as it says so."""

    def free_bytes(self, path: str) -> int:
        return 0


async def test_a_broker_on_a_full_disk_starts_with_its_reserve_and_refuses_records(
    start: StartNode,
) -> None:
    running = await start(RealDisk())
    await running.stop()
    assert running.reserve.is_held
    running = await start(FullDisk())
    assert not running.reserve.is_held
    assert running.broker.disk_is_full
    await running.stop()


async def test_a_broker_stops_cleanly_with_its_reserve(start: StartNode) -> None:
    running = await start(FullDisk())
    running.reserve.make()
    await running.stop()
    assert not running.reserve.is_held
    assert is_marked_clean(running)


async def test_a_topic_is_deleted_with_the_reserve_and_records_are_refused_until_it_is_held_again(
    start: StartNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = await start(RealDisk())
    await append(running)
    commit = running.store.commit

    async def commit_if_there_is_room(*arguments: Any) -> int:
        if running.reserve.is_held:
            raise NoRoom("the disk is full")
        return await commit(*arguments)

    monkeypatch.setattr(running.store, "commit", commit_if_there_is_room)
    await running.keeper.change(lambda image: delete_topic(image, "news", nonce=b"1"))
    assert not running.image.topics
    assert is_refusing_records(running)
    running.reserve.make()
    running.upkeep.check_room()
    assert not is_refusing_records(running)
    await running.stop()


def is_refusing_records(running: Node) -> bool:
    return running.broker.disk_is_full


# -- staying registered


class BusyStore:
    """Refuses some commits that are bound to a session, as a store does that others keep busy."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.refusals = 0
        self.sessions: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def session(self, ttl_ms: int) -> Any:
        self.sessions.append(await self._store.session(ttl_ms))
        return self.sessions[-1]

    async def commit(
        self,
        checks: Sequence[Any],
        puts: Sequence[Any],
        deletes: Sequence[str] = (),
        session: str | None = None,
    ) -> int:
        if session is not None and self.refusals:
            self.refusals -= 1
            raise Unavailable("the database is locked")
        return await self._store.commit(checks, puts, deletes, session)


async def test_a_broker_whose_store_is_busy_goes_on_until_it_is_registered_again(
    start: StartNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "RETRY_MS", 1)
    running = await start(RealDisk())
    busy = BusyStore(running.store)  # type: ignore[arg-type]
    busy.refusals = 3
    running.membership._store = running.keeper.store = busy
    old = running.session
    await busy.end(int(old.id))
    async with asyncio.timeout(60):
        while running.session is old and not running.failed.done():
            await asyncio.sleep(0.01)
    assert not running.failed.done()
    assert running.image.brokers[1].session == running.session.id
    *before, last = [session.lost for session in busy.sessions]
    assert before
    assert all(before)
    assert not last
    await running.stop()
