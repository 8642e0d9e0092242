"""Held records whose log is damaged: what can be delivered still is, once."""

from __future__ import annotations

import asyncio

import pytest
from tests.delays.writing import put
from tests.server.house import House
from tests.server.shop import Shop, at

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
