from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.api.desk import Desk
from tests.api.slow_logs import PRODUCERS, make_slow_to_open

from penstock.api.opening import NotOpen
from penstock.errors import Refused
from penstock.log import layout
from penstock.log.partition_log import PartitionLog
from penstock.server.opener import Opener
from penstock.world.real_disk import RealDisk

LONG_MS = 60_000


@pytest.fixture
def orders(tmp_path: Path) -> Iterator[Desk]:
    """Three partitions that take long to open."""
    disk = RealDisk()
    desk = Desk(disk, tmp_path, {})
    desk.create("orders", partitions=3)
    for index in range(3):
        make_slow_to_open(desk, "orders", index)
    yield desk.restart()
    desk.log_dir.abandon()
    disk.close()


@pytest.fixture
def opener(orders: Desk) -> Opener:
    opening = orders.broker.opening
    opener = Opener(opening)
    opening.soon, opening.ended = opener.soon, opener.ended
    return opener


def closed(desk: Desk, index: int) -> PartitionLog:
    with pytest.raises(NotOpen) as not_open:
        desk.broker.leader("orders", index)
    return not_open.value.log


async def test_one_step_of_one_log_is_taken_between_two_turns_of_others(
    orders: Desk, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [closed(orders, index) for index in range(3)]
    turns: list[int | None] = []
    a_little = PartitionLog.open_a_little

    def noting(log: PartitionLog) -> bool:
        turns.append(logs.index(log))
        return a_little(log)

    monkeypatch.setattr(PartitionLog, "open_a_little", noting)
    waiting = asyncio.create_task(opener.ended(logs, LONG_MS))
    while not waiting.done():
        await asyncio.sleep(0)
        turns.append(None)
    taken = [turn for turn in turns if turn is not None]
    assert taken[:6] == [0, 1, 2, 0, 1, 2]
    assert all(None in pair for pair in pairwise(turns))
    assert {orders.broker.leader("orders", index).log.end_offset for index in range(3)} == {
        PRODUCERS
    }


async def test_a_wait_ends_when_its_time_is_up(orders: Desk, opener: Opener) -> None:
    log = closed(orders, 0)
    await opener.ended([log], 0)
    assert not log.is_open
    await opener.ended([log], LONG_MS)
    assert log.is_open


async def test_a_log_that_cannot_be_opened_ends_the_wait_and_keeps_no_other_closed(
    orders: Desk, opener: Opener
) -> None:
    logs = [closed(orders, 0), closed(orders, 1)]
    orders.disk.write_whole(f"{logs[0].folder}/{layout.EPOCHS_FILE}", b"99\n0\n")
    await opener.ended(logs, LONG_MS)
    with pytest.raises(Refused, match="cannot be read"):
        orders.broker.leader("orders", 0)
    assert orders.broker.leader("orders", 1).log.is_open


async def test_a_stop_leaves_a_log_that_is_half_open_as_it_was(
    orders: Desk, opener: Opener
) -> None:
    log = closed(orders, 0)
    await opener.stop()
    assert not log.is_open
    again = orders.restart()
    assert again.broker.leader("orders", 0).log.end_offset == PRODUCERS
