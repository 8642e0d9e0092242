"""Brokers that come back: with the folder that they had, with an older copy of it, with none."""

from __future__ import annotations

import asyncio
import errno
import logging
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.node.test_moving import TOPIC_ID, Brokers

from penstock.errors import ErrorCode, Refused
from penstock.log import layout
from penstock.metadata.backup import kept, restored
from penstock.metadata.changes import Commit
from penstock.metadata.cluster_changes import join
from penstock.metadata.election import WantedIsr, change_isr
from penstock.metadata.image import Image
from penstock.metadata.records import broker_key, encode, partition_key
from penstock.metadata.restoring import Restoring
from penstock.metadata.store import Entry
from penstock.metadata.stores.sqlite import SqliteStore
from penstock.node import rejoining, settings
from penstock.node.node import Node
from penstock.wire.batch import size_at
from penstock.world.ports import World
from penstock.world.real import RealChance, RealClock, RealNetwork
from penstock.world.real_disk import RealDisk


@pytest.fixture
async def brokers(tmp_path: Path) -> AsyncIterator[Brokers]:
    made = Brokers(tmp_path)
    yield made
    await made.close()


async def last_in_sync(brokers: Brokers) -> Path:
    """Broker 2 alone has all records, and is stopped; a copy of its folder from before the last
    of them, made while it ran."""
    await brokers.start(1, 2)
    await brokers.create(2, 1)
    await brokers.append(3)
    await brokers.stop(1)
    await brokers.until(lambda: brokers.record.isr == (2,))
    copy = brokers.folder / "copy"
    shutil.copytree(brokers.folder / "2", copy)
    await brokers.append(3)
    await brokers.stop(2)
    return copy


async def test_a_folder_that_was_put_back_from_an_older_copy_is_in_sync_no_more(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    copy = await last_in_sync(brokers)
    shutil.rmtree(brokers.folder / "2")
    copy.rename(brokers.folder / "2")
    with caplog.at_level(logging.WARNING):
        await brokers.start(2)
    assert (brokers.record.leader, brokers.record.isr) == (-1, ())
    assert "is a copy that was made earlier" in caplog.text
    await brokers.stop(2)
    caplog.clear()
    await brokers.start(2)
    assert "made earlier" not in caplog.text, "it is the broker's folder from now on"


async def test_a_broker_is_known_by_another_folder_only_once_it_has_resigned(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a start that ends in between would let the next one pass for well."""
    copy = await last_in_sync(brokers)
    shutil.rmtree(brokers.folder / "2")
    copy.rename(brokers.folder / "2")
    seen = []

    def watched(image: Image, node_id: int, owner: bytes, mark: int) -> Commit[bool]:
        record = image.partition(TOPIC_ID, 0)
        seen.append(record.isr if record else None)
        return join(image, node_id, owner, mark)

    monkeypatch.setattr(rejoining, "join", watched)
    await brokers.start(2)
    assert set(seen) == {()}


async def test_nobody_is_in_sync_by_what_it_had_before_an_older_copy_was_put_back(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader may ask for that between its resigning, with nothing to resign from, and its
    registering: it has caught up under the registration that is there still after a kill."""
    await brokers.start(1, 2)
    await brokers.create(2, 1)
    await brokers.append(3)
    await brokers.until(lambda: 1 in brokers.nodes[2].image.brokers)
    of_before = brokers.nodes[2].image.brokers[1].record
    shutil.copytree(brokers.folder / "1", brokers.folder / "copy")
    await brokers.stop(1)
    await brokers.until(lambda: brokers.record.isr == (2,))
    registration = broker_key(1), encode(of_before)
    await brokers.any.keeper.change(lambda image: Commit(None, puts=[registration]))
    shutil.rmtree(brokers.folder / "1")
    (brokers.folder / "copy").rename(brokers.folder / "1")
    seen = []

    def watched(image: Image, node_id: int, owner: bytes, mark: int) -> Commit[bool]:
        known = image.brokers.get(1)
        joining = {1: known.epoch} if known else {}
        wanted = WantedIsr(brokers.record.leader_epoch, frozenset({1, 2}), joining=joining)
        leader = image.brokers[2].epoch
        seen.append(change_isr(image, 2, {(TOPIC_ID, 0): wanted}, broker_epoch=leader).puts)
        return join(image, node_id, owner, mark)

    monkeypatch.setattr(rejoining, "join", watched)
    await brokers.start(1)
    assert seen
    assert not any(seen)
    await brokers.until(lambda: brokers.record.isr == (2, 1))


async def test_the_same_folder_is_in_sync_as_it_was(brokers: Brokers) -> None:
    await last_in_sync(brokers)
    await brokers.start(2)
    await brokers.until(lambda: brokers.record.leader == 2)
    assert brokers.record.isr == (2,)


async def test_without_syncs_the_last_in_sync_comes_back_with_what_it_has(brokers: Brokers) -> None:
    """Nobody else has more, for all that is known, and all of it survives the process."""
    await brokers.start(1, 2, log_flush_on_acks_all="false")
    await brokers.create(1, 2)
    await brokers.stop(1)
    await brokers.until(lambda: brokers.record.isr == (2,))
    end = await brokers.append(3)
    await brokers.stop(2)
    (brokers.folder / "2" / layout.CLEAN_STOP_FILE).unlink()
    await brokers.start(1, 2, log_flush_on_acks_all="false")
    await brokers.until(lambda: brokers.record.leader == 2)
    assert brokers.nodes[2].log_dir.logs["news", 0].end_offset == end


async def test_who_lost_what_was_not_synced_is_not_eligible_by_a_setting_of_later(
    brokers: Brokers,
) -> None:
    """Broker 2 is eligible; syncs are switched on for the topic while it is down after a power cut,
    and the one that has all goes down."""
    await brokers.start(1, 2, 3)
    await brokers.create(1, 2)
    await brokers.set_topic("flush.on.acks.all", "false")
    await brokers.append(3)
    await brokers.set_topic("min.insync.replicas", "2")
    await brokers.stop(2)
    await brokers.until(lambda: (brokers.record.isr, brokers.record.eligible) == ((1,), (2,)))
    (brokers.folder / "2" / layout.CLEAN_STOP_FILE).unlink()
    await brokers.set_topic("flush.on.acks.all", "true")
    await brokers.stop(1)
    await brokers.start(2)
    assert (brokers.record.isr, brokers.record.eligible) == ((1,), ())
    await brokers.until(lambda: brokers.record.leader == -1)
    assert (brokers.record.isr, brokers.record.eligible) == ((1,), ())
    await brokers.start(1)
    await brokers.until(lambda: brokers.record.leader == 1)


async def test_what_is_missing_is_known_by_the_checkpoints_until_the_broker_has_joined(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a start that ends on the way would let the next one pass for well."""
    await last_in_sync(brokers)
    (brokers.folder / "2" / layout.CLEAN_STOP_FILE).unlink()
    shutil.rmtree(brokers.log_folder(2))
    checkpoint = brokers.folder / "2" / layout.RECOVERY_POINTS_FILE
    seen = []

    def watched(image: Image, node_id: int, owner: bytes, mark: int) -> Commit[bool]:
        seen.append("news 0 6" in checkpoint.read_text())
        return join(image, node_id, owner, mark)

    monkeypatch.setattr(rejoining, "join", watched)
    await brokers.start(2)
    assert set(seen) == {True}
    assert brokers.record.isr == ()
    assert "news 0" not in checkpoint.read_text()


async def test_where_there_is_no_other_replica_an_older_copy_is_better_than_nothing(
    brokers: Brokers,
) -> None:
    await brokers.start(1)
    await brokers.create(1)
    await brokers.append(1)
    shutil.copytree(brokers.folder / "1", brokers.folder / "copy")
    await brokers.append(1)
    await brokers.stop(1)
    shutil.rmtree(brokers.folder / "1")
    (brokers.folder / "copy").rename(brokers.folder / "1")
    await brokers.start(1)
    assert (brokers.record.leader, brokers.record.isr) == (1, (1,))
    await brokers.until(lambda: brokers.record.leader_epoch == 1)  # offsets are used again


async def test_a_mark_is_raised_in_folder_and_store_while_the_broker_runs(brokers: Brokers) -> None:
    await brokers.start(1)
    node = brokers.any
    before = node.log_dir.mark
    await node._marking.raise_once()
    assert node.log_dir.mark == before + 1
    assert node.image.members[1].record.mark == before + 1


class NoMarkDisk(RealDisk):
    """Too full for one file more."""

    def write_whole(self, path: str, data: bytes) -> None:
        if path.endswith(layout.MARK_FILE):
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write_whole(path, data)


async def test_a_broker_starts_and_stops_cleanly_on_a_disk_that_takes_no_mark(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = NoMarkDisk()
    world = World(RealClock(), disk, RealNetwork(), RealChance())
    texts = {"log.dir": str(tmp_path / "data"), "listeners": "127.0.0.1:0"}
    node = Node(world, settings.read({**texts, "disk.free.min.bytes": "0"}))
    await node.start()
    await node.stop()
    disk.close()
    assert "mark cannot be raised" in caplog.text
    assert (tmp_path / "data" / layout.CLEAN_STOP_FILE).exists()


# After the store was put back


async def restore(brokers: Brokers, backup: Sequence[Entry]) -> None:
    """Into another file, which the brokers take for the one they had."""
    for each in brokers.folder.glob("metadata.sqlite*"):
        each.unlink()
    store = await SqliteStore.open(str(brokers.folder / "metadata.sqlite"))
    puts = restored(backup, RealClock().now_ms(), RealChance())
    await Restoring(store, b"run", 0, replace=False).run(puts)
    await store.close()


async def backup_of(brokers: Brokers) -> Sequence[Entry]:
    return kept((await brokers.any.store.list("/"))[0])


async def test_what_was_moved_since_the_backup_is_set_aside_and_not_deleted(
    brokers: Brokers,
) -> None:
    await brokers.start(1, 2)
    await brokers.create(1)
    await brokers.append(3)
    backup = await backup_of(brokers)
    await brokers.move(2)
    await brokers.until(lambda: brokers.has_moved((2,)))
    for node_id in (1, 2):
        await brokers.stop(node_id)
    await restore(brokers, backup)
    await brokers.start(1, 2)
    await brokers.until(lambda: brokers.record.leader == 1)
    assert brokers.record.replicas == (1,)
    (aside,) = (brokers.folder / "2").glob("news-0.*-stray")
    assert list(aside.glob("*.log"))


async def test_a_replica_that_has_more_than_the_leader_of_the_backup_leads(
    brokers: Brokers,
) -> None:
    await brokers.start(1, 2)
    await brokers.create(1, 2)
    await brokers.append(1)
    await brokers.until(lambda: brokers.has_moved((1, 2)))
    backup = await backup_of(brokers)
    await brokers.stop(1)
    await brokers.until(lambda: brokers.record.isr == (2,))
    end = await brokers.append(3)
    await brokers.stop(2)
    await restore(brokers, backup)
    await brokers.start(1)
    assert (brokers.record.leader, brokers.record.isr) == (-1, ()), "it waits for the other"
    await brokers.start(2)
    await brokers.until(lambda: set(brokers.record.isr) == {1, 2})
    assert brokers.record.leader == 2
    await brokers.until(
        lambda: all(
            node.log_dir.logs["news", 0].end_offset == end for node in brokers.nodes.values()
        )
    )


async def test_who_comes_back_after_a_restore_says_what_it_has(brokers: Brokers) -> None:
    """A process that ran on through it does not; its start does, and it has most."""
    await brokers.start(1, 2)
    await brokers.create(1, 2)
    await brokers.until(lambda: brokers.has_moved((1, 2)))
    backup = await backup_of(brokers)
    await brokers.stop(1)
    await brokers.until(lambda: brokers.record.isr == (2,))
    end = await brokers.append(3)
    slept = brokers.nodes.pop(2)
    slept._watches[0].cancel()
    assert isinstance(slept.store, SqliteStore)
    await slept.store.end(int(slept.session.id))
    puts = restored(backup, RealClock().now_ms(), RealChance())
    await Restoring(slept.store, b"run", 0, replace=True).run(puts)
    async with asyncio.timeout(60):
        await slept.membership.stay_registered()
        assert "put back from a backup" in await slept.failed
    await brokers.start(1)
    assert (brokers.record.leader, brokers.record.isr) == (-1, ()), "it waits for the other"
    await slept.stop()
    await brokers.start(2)
    await brokers.until(lambda: brokers.record.leader == 2)
    assert brokers.nodes[2].log_dir.logs["news", 0].end_offset == end


async def test_a_store_put_back_by_other_means_is_told_so_and_nothing_is_written(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    """A copy of its file, from before the leader's last term."""
    await brokers.start(1)
    await brokers.create(1)
    await brokers.append(1)
    await brokers.stop(1)
    shutil.copy(brokers.folder / "metadata.sqlite", brokers.folder / "copy.sqlite")
    await brokers.start(1)
    record = msgspec.structs.replace(brokers.record, leader_epoch=brokers.record.leader_epoch + 1)
    put = partition_key(TOPIC_ID, 0), encode(record)
    await brokers.any.keeper.change(lambda image: Commit(None, puts=[put]))
    await brokers.append(1)
    await brokers.stop(1)
    for each in brokers.folder.glob("metadata.sqlite*"):
        each.unlink()
    (brokers.folder / "copy.sqlite").rename(brokers.folder / "metadata.sqlite")
    await brokers.start(1)
    with pytest.raises(Refused) as refused:
        brokers.any.broker.leader("news", 0)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert "the store is older than the data" in caplog.text


async def test_one_wrong_epoch_in_the_last_batch_leaves_the_partition_as_it_was(
    brokers: Brokers,
) -> None:
    await brokers.start(1)
    await brokers.create(1)
    end = await brokers.append(3)
    await brokers.stop(1)
    (brokers.folder / "1" / layout.CLEAN_STOP_FILE).unlink()
    (brokers.log_folder(1) / layout.EPOCHS_FILE).unlink()
    (path,) = brokers.log_folder(1).glob("*.log")
    data = bytearray(path.read_bytes())
    data[end_of_all_but_one(data) + 14] ^= 8
    path.write_bytes(data)
    await brokers.start(1)
    assert await brokers.append() == end + 1


def end_of_all_but_one(data: bytearray) -> int:
    """Where the last batch begins."""
    position = 0
    while position + size_at(data, position) < len(data):
        position += size_at(data, position)
    return position
