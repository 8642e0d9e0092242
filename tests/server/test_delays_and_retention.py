"""What is delivered late, or not known yet, outlives retention."""

from __future__ import annotations

import pytest
from tests.log.timing import newest
from tests.server.house import House
from tests.server.shop import START_MS, Shop, at
from tests.server.test_upkeep import upkeep_of

from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.server.carrying import Carrying

HOUR_MS = 3_600_000


async def _retain(shop: Shop) -> None:
    upkeep = upkeep_of(shop.house)
    upkeep.make_way = Carrying(shop.house.door).make_way
    await upkeep._drop_expired_of(shop.leader, shop.house.clock.now_ms())
    await upkeep.stop()


async def _delivered_late(house: House, late_ms: int) -> Shop:
    """What fell due while nobody was there."""
    house.desk.create("orders", delayed_delivery="true", retention_ms=str(HOUR_MS))
    shop = Shop(house)
    await shop.send(at(60))
    house.clock.time_ms += late_ms
    async with shop.tended():
        await shop.until(lambda: shop.schedule.offset == 2)
    return shop


async def test_what_was_due_long_ago_is_kept_from_when_it_is_delivered(house: House) -> None:
    shop = await _delivered_late(house, 2 * HOUR_MS)
    await _retain(shop)
    assert shop.delivered() == [0]
    house.clock.time_ms += HOUR_MS + 1
    await _retain(shop)
    assert shop.leader.log.start_offset == 2


async def test_what_was_delivered_late_has_the_time_at_which_it_was_due(house: House) -> None:
    shop = await _delivered_late(house, 2 * HOUR_MS)
    [copy] = [record for kind, record in shop.written() if kind == 2]
    assert copy.timestamp == START_MS + 60_000


async def test_the_newest_record_may_be_one_that_was_delivered_late(house: House) -> None:
    """By when it was written, as no record is as new as its batch."""
    shop = await _delivered_late(house, 2 * HOUR_MS)
    found = newest(shop.leader.log)
    assert found is not None
    assert found[:2] == (START_MS + 2 * HOUR_MS, 1)


async def test_nothing_goes_that_could_not_be_looked_through(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a leader that has begun well, and can go no further."""
    house.desk.create(
        "orders", delayed_delivery="true", segment_bytes="1200", retention_bytes="2500"
    )
    shop = Shop(house)
    await shop.send(())
    async with shop.tended():
        await shop.until(lambda: shop.schedule.offset == 1)
    await shop.send(at(100))
    for _ in range(60):
        await shop.send((), (), ())

    def caught_up(_leader: object) -> Steps[None]:
        yield None
        raise Refused(ErrorCode.KAFKA_STORAGE_ERROR)

    with monkeypatch.context() as patch:
        patch.setattr(house.broker.schedules, "caught_up", caught_up)
        await _retain(shop)
    assert shop.leader.log.start_offset <= 1
    async with shop.tended():
        house.clock.time_ms += 100_000
        await shop.until(lambda: shop.delivered() == [1])
