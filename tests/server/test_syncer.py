"""Rounds of sync, when the disk fails them."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable

import pytest
from tests.raw_client import a_batch, frame_of, produce_of
from tests.server.house import House

from penstock.log.partition_log import PartitionLog
from penstock.replication.leader import Leader
from penstock.server import syncer
from penstock.wire.batch import read_header


async def test_who_waits_for_the_last_round_is_told_that_it_failed(house: House) -> None:
    house.desk.create("news")
    house.disk.syncs.clear()
    house.connect().give(frame_of(produce_of("news", a_batch(b"v")), 9))
    house.disk.sync_fails = True
    house.disk.syncs.set()
    with pytest.raises(OSError, match="Input/output error") as caught:
        await house.syncer.drain()
    assert caught.value.errno == errno.EIO
    assert house.failures == [caught.value]


async def test_a_bug_in_a_round_is_as_fatal_as_a_failed_disk(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.desk.create("news")

    def broken(log: PartitionLog) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(PartitionLog, "begin_sync", broken)
    house.connect().give(frame_of(produce_of("news", a_batch(b"v")), 9))
    with pytest.raises(ValueError, match="a bug") as caught:
        await house.syncer.drain()
    assert house.failures == [caught.value]


async def test_nothing_that_was_wanted_is_left_after_a_drain(house: House) -> None:
    house.desk.create("news")
    house.connect().give(frame_of(produce_of("news", a_batch(b"v")), 9))
    await house.syncer.drain()
    log = house.broker.leader("news", 0).log
    assert log.synced_end == log.end_offset == 1
    await house.syncer.drain()


async def test_what_nobody_waits_for_is_synced_with_what_comes_next(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.desk.create("news")
    leader = house.broker.leader("news", 0)
    monkeypatch.setattr(syncer, "SOON_MS", 60_000)
    appended(house, leader)
    house.door.settle(patient=leader)
    for _ in range(20):
        await asyncio.sleep(0)
    assert (leader.log.written_end, leader.log.synced_end) == (1, 0)
    appended(house, leader)
    house.door.settle()
    await house.settle(lambda: leader.high_watermark == 2)


async def test_what_nobody_waits_for_is_synced_soon_all_the_same(house: House) -> None:
    house.desk.create("news")
    leader = house.broker.leader("news", 0)
    appended(house, leader)
    house.door.settle(patient=leader)
    assert leader.log.synced_end == 0
    await house.settle(lambda: leader.high_watermark == 1)


async def test_a_drain_does_not_leave_out_what_nobody_waits_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.desk.create("news")
    leader = house.broker.leader("news", 0)
    monkeypatch.setattr(syncer, "SOON_MS", 60_000)
    appended(house, leader)
    house.door.settle(patient=leader)
    await house.syncer.drain()
    assert leader.log.synced_end == leader.log.end_offset == 1


async def test_who_is_patient_has_no_syncs_where_there_are_none(
    make_house: Callable[..., House],
) -> None:
    house = make_house(log_flush_on_acks_all="false")
    house.desk.create("news")
    leader = house.broker.leader("news", 0)
    appended(house, leader)
    house.door.settle(patient=leader)
    assert leader.high_watermark == 1
    await house.syncer.drain()
    assert leader.log.synced_end == 0


def appended(house: House, leader: Leader) -> None:
    batch = bytearray(a_batch(b"v"))
    leader.log.append(batch, read_header(batch), house.clock.now_ms(), leader.epoch)
    house.broker.appended(leader)
