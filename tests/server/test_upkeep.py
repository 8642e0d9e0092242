"""What is done beside serving, and goes on being done when the disk does not play along."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest
from tests.raw_client import a_batch
from tests.server.house import House

from penstock.server.archive_hold import ArchiveHold
from penstock.server.reserve import NEEDED_BYTES, RESERVE_BYTES, Reserve
from penstock.server.steps import carry_out, wait_on
from penstock.server.upkeep import Upkeep
from penstock.wire.batch import read_header
from penstock.world.real import RealNetwork
from penstock.world.real_file import RealFile


def upkeep_of(house: House) -> Upkeep:
    reserve = Reserve(house.disk, house.broker.config.data_dir)
    hold = ArchiveHold(RealNetwork(), house.door)
    return Upkeep(house.clock, house.disk, house.broker, house.door, house.syncer, reserve, hold)


async def test_a_segment_that_is_ended_without_an_append_is_synced(house: House) -> None:
    house.desk.create("news", flush_on_acks_all="false")
    house.desk.append("news")
    log = house.broker.leader("news", 0).log
    log.roll()
    assert log.rolled
    for _ in upkeep_of(house)._flush_due():
        pass
    await house.syncer.drain()
    assert not log.rolled


@pytest.mark.parametrize(
    ("problem", "has_trace"),
    [(OSError(errno.ENOSPC, "no space left"), False), (ValueError("a bug"), True)],
)
async def test_upkeep_that_fails_is_tried_again_and_says_so_once_with_a_trace_only_of_a_bug(
    house: House, problem: Exception, has_trace: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[int] = []

    def work() -> Iterable[None]:
        tries.append(len(tries))
        if len(tries) in (1, 2, 3, 5):
            raise problem
        return ()

    upkeep = upkeep_of(house)
    with caplog.at_level(logging.WARNING):
        upkeep._every(0, "the work", work)
        await house.settle(lambda: len(tries) > 6)
    await upkeep.stop()
    failed = f"the work failed, and is tried again every 0 ms: {problem}"
    assert [line.message for line in caplog.records] == [failed, "the work works again"] * 2
    assert bool(caplog.records[0].exc_info) == has_trace


async def test_writes_are_tried_again_while_the_disk_has_what_it_must_have(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.broker.disk_is_full = True  # as the door notes it when a write has failed
    with caplog.at_level(logging.WARNING):
        upkeep_of(house).check_room()
    assert not house.broker.disk_is_full
    assert "writes are tried again" in caplog.text


async def test_that_writes_are_tried_again_is_told_once_while_there_is_no_more_room_for_them(
    make_house: Callable[..., House],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = make_house(disk_free_min_bytes="0")
    upkeep = upkeep_of(house)
    await upkeep.keep_room()
    for free in (9, 9, 8, 10, 0, 0, 9):
        monkeypatch.setattr(house.disk, "free_bytes", lambda path, free=free: free)
        house.broker.disk_is_full |= free > 0  # a write has failed again
        upkeep.check_room()
    told = [line.message.removeprefix("the disk has ") for line in caplog.records]
    assert told == [
        "9 bytes left: writes are tried again",
        "10 bytes left: writes are tried again",
        "0 bytes left: writes are refused",
        "9 bytes left: writes are tried again",
    ]


# -- the reserve


async def test_records_are_refused_while_the_reserve_cannot_be_held(
    make_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = make_house(disk_free_min_bytes="1000")
    upkeep = upkeep_of(house)
    reserve = Path(house.broker.config.data_dir, "reserve")

    async def is_full(free: int) -> bool:
        monkeypatch.setattr(house.disk, "free_bytes", lambda path: free)
        await upkeep.keep_room()
        return house.broker.disk_is_full

    assert await is_full(NEEDED_BYTES - 1)
    assert not reserve.exists()
    assert not await is_full(NEEDED_BYTES)
    assert reserve.stat().st_size == RESERVE_BYTES
    assert not await is_full(1000)
    assert await is_full(999)
    assert upkeep._reserve.give_up()
    assert not upkeep._reserve.give_up()
    assert await is_full(1000)
    assert await is_full(1000 + RESERVE_BYTES)


async def test_a_reserve_that_there_is_no_room_for_leaves_nothing_behind(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    upkeep = upkeep_of(house)
    folder = Path(house.broker.config.data_dir)
    before = sorted(folder.iterdir())
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        await upkeep.keep_room()
    assert sorted(folder.iterdir()) == before


# -- removing


async def test_what_delete_records_drops_is_removed_without_waiting_for_retention(
    house: House,
) -> None:
    house.desk.create("news", segment_bytes="1024", file_delete_delay_ms="0")
    log = house.broker.leader("news", 0).log
    while len(log.segments) < 3:
        house.desk.append("news", count=5)
    files = [Path(segment.file.path) for segment in log.segments]
    house.broker.advance_start(house.broker.leader("news", 0), log.end_offset)
    upkeep = upkeep_of(house)
    upkeep.start()
    folder = Path(log.folder)
    await house.settle(lambda: not list(folder.glob("*.deleted")))
    assert [file.exists() for file in files] == [False, False, True]
    await upkeep.stop()


# -- retention


async def test_retention_keeps_no_file_open_of_a_log_that_nobody_uses(
    make_house: Callable[..., House],
) -> None:
    house = make_house()
    house.desk.create("news", partitions=3)
    for index in range(3):
        house.desk.append("news", index)
    house.desk = house.desk.restart()
    house.broker = house.desk.broker
    used = house.broker.leader("news", 1).log
    await upkeep_of(house)._drop_expired()
    logs = house.desk.log_dir.logs
    assert all(log.is_open for log in logs.values())
    open_files = [file() for file in house.disk._open.values()]
    assert [file.path for file in open_files if file] == [used.segments[0].file.path]


async def test_a_log_that_retention_opened_and_others_write_to_stays_open(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.desk.create("news")
    house.desk.append("news")
    leader = house.broker.leader("news", 0)
    batch = bytearray(a_batch(b"v"))
    leader.log.append(batch, read_header(batch), 0, leader.epoch)
    leader.log.write_out()
    monkeypatch.setattr(house.broker, "open_leaders", list)
    await upkeep_of(house)._drop_expired()
    file = leader.log.segments[0].file
    assert isinstance(file, RealFile)
    assert file.unsynced


async def test_followers_are_told_of_what_retention_has_dropped(house: House) -> None:
    house.desk.create("news", retention_ms="1", segment_bytes="1024")
    for _ in range(5):
        house.desk.append("news", count=50)
    woken: list[int] = []
    leader = house.broker.leader("news", 0)
    leader.grown.watch(lambda: woken.append(leader.log.start_offset))
    house.clock.time_ms += 1 << 40
    await upkeep_of(house)._drop_expired()
    assert woken
    assert woken[0] > 0


async def test_a_failed_sync_of_retention_is_as_fatal_as_any_other(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for = partial(wait_on, house.disk, syncer=house.syncer)
    monkeypatch.setattr(house.broker, "in_steps", partial(carry_out, wait_for))
    house.desk.create("news", retention_ms="1")
    house.desk.append("news")
    house.clock.time_ms += 1 << 40
    house.disk.sync_fails = True
    await upkeep_of(house)._drop_expired()
    assert [str(failure) for failure in house.failures] == ["[Errno 5] Input/output error"]
