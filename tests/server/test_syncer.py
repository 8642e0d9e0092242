"""Rounds of sync, when the disk fails them."""

from __future__ import annotations

import errno

import pytest
from tests.raw_client import a_batch, frame_of, produce_of
from tests.server.house import House

from penstock.log.partition_log import PartitionLog


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
