"""Held records whose log is damaged: what can be delivered still is, once."""

from __future__ import annotations

import asyncio

import pytest
from tests.delays.writing import entries, put
from tests.server.house import House
from tests.server.shop import Shop, at, retain

from penstock.log.damage import Damage
from penstock.server import delivering


@pytest.fixture
async def shop(house: House) -> Shop:
    house.desk.create("orders", delayed_delivery="true")
    return Shop(house)


async def test_however_many_cannot_be_read_others_are_delivered(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "IN_FLIGHT_MAX", 2)
    async with shop.tended():
        for seconds in (1, 1, 2):
            await shop.send(at(seconds))
        await shop.until(lambda: len(shop.schedule.pending) == 3)
        shop.leader.log.damage = [Damage(0, 2, 0, 0, 10)]
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: not any(map(shop.schedule.pending.is_waiting, (0, 1))))
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: len(shop.schedule.pending) == 2)
        shop.leader.log.damage = []
    assert shop.delivered() == [2]


async def test_a_log_with_a_damaged_end_is_gone_through_once(shop: Shop) -> None:
    """Else what was on its way would be forgotten, and sent again."""
    await shop.send(at(1))
    leader, log = shop.leader, shop.leader.log
    first_size = log.segments[0].size
    put(log, [()], epoch=3)
    leader.epoch, leader.epoch_start = 3, log.end_offset
    shop.house.broker.appended(leader)
    shop.house.door.settle()
    log.damage = [Damage(1, 2, 0, first_size, 10)]
    async with shop.tended():
        shop.house.disk.syncs.clear()  # so that the copy is not committed
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: log.end_offset > 2)
        for _ in range(100):
            await asyncio.sleep(0)
        shop.house.disk.syncs.set()
        await shop.until(lambda: len(shop.schedule.pending) == 0)
        log.damage = []
        assert shop.delivered() == [0]


@pytest.fixture
async def old_shop(house: House) -> Shop:
    house.desk.create(
        "orders", delayed_delivery="true", segment_bytes="1200", retention_bytes="2500"
    )
    return Shop(house)


def harm(shop: Shop, first: int, end: int) -> None:
    """Some offsets of the first segment cannot be read any more."""
    shop.leader.log.damage = [Damage(first, end, 0, 0, 10)]


async def fill(shop: Shop) -> None:
    """So much that retention is to drop the first segments."""
    for _ in range(60):
        await shop.send((), (), ())
    await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)


async def test_what_is_due_and_cannot_be_read_keeps_no_segment(
    old_shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    """It would for ever, and the log grow without end."""
    shop = old_shop
    async with shop.tended():
        await shop.send(at(1))
        await shop.send(at(1000))
        await fill(shop)
        harm(shop, 0, 1)
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: not shop.schedule.pending.is_waiting(0))
        await retain(shop)
        assert shop.leader.log.start_offset > 2
        await shop.until(lambda: shop.schedule.floor == shop.leader.log.start_offset)
        assert [each.id for each in entries(shop.schedule)] == [1]
    assert "the record at 0 was due, cannot be read, and goes with its segment" in caplog.text


async def test_what_is_not_due_yet_keeps_its_segment_though_it_cannot_be_read(
    old_shop: Shop,
) -> None:
    """Until then another replica may have become leader, which can read it."""
    shop = old_shop
    async with shop.tended():
        await shop.send(at(1000))
        await fill(shop)
        harm(shop, 0, 1)
        await retain(shop)
        assert shop.leader.log.start_offset == 0


async def test_what_can_be_read_again_is_delivered_though_its_segment_is_to_go(
    old_shop: Shop,
) -> None:
    shop = old_shop
    async with shop.tended():
        await shop.send(at(1))
        await fill(shop)
        harm(shop, 0, 1)
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: not shop.schedule.pending.is_waiting(0))
        shop.leader.log.damage = []
        await retain(shop)
        assert shop.leader.log.start_offset > 0
        await shop.until(lambda: shop.delivered() == [0])
