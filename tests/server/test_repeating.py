"""Records that repeat: each time once, whatever fails, until they are cancelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.delays.writing import CANCEL, CRON, ID, NEXT, append, entries
from tests.server.house import House
from tests.server.shop import LIMIT, START_MS, Shop, at, retain

from penstock.delays import copies as copying
from penstock.delays import stored
from penstock.delays.asking import ask
from penstock.errors import ErrorCode
from penstock.server import carrying
from penstock.wire.batch_builder import build_batch
from penstock.wire.records import Headers, Record

SECOND = START_MS // 1000 % 60
"""Of the minute in which the house's clock begins."""


def every(text: str) -> Headers:
    return ((CRON, text.encode()),)


@pytest.fixture
async def shop(house: House) -> Shop:
    house.desk.create("orders", delayed_delivery="true")
    return Shop(house)


async def test_a_repeating_record_comes_each_time_and_says_when_it_comes_next(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(((b"tier", b"gold"), *every("* * * * *")))
        for count in (1, 2, 3):
            shop.house.clock.time_ms = START_MS + (60 * count - SECOND) * 1000 - 1
            await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
            assert len(shop.delivered()) == count - 1
            shop.house.clock.time_ms += 1
            await shop.until(lambda: len(shop.delivered()) >= count)  # noqa: B023 (at once)
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
        assert len(shop.schedule.pending) == 1
    assert shop.delivered() == [0, 0, 0]
    assert shop.nexts() == [60 * count - SECOND for count in (2, 3, 4)]
    times = [(each.timestamp - START_MS) / 1000 for each in shop.copies()]
    assert times == [60 * count - SECOND for count in (1, 2, 3)]
    names = [name for name, _ in shop.copies()[0].headers]
    assert names == [b"tier", ID, NEXT]


async def test_what_was_missed_comes_once(shop: Shop) -> None:
    await shop.send(every("* * * * *"))
    shop.house.clock.time_ms += 3_600_000
    async with shop.tended():
        await shop.until(lambda: len(shop.delivered()) == 1)
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
        assert len(shop.schedule.pending) == 1
    assert shop.delivered() == [0]
    assert shop.nexts() == [3660 - SECOND]


async def test_a_repeating_record_that_has_no_next_time_within_a_year_ends(shop: Shop) -> None:
    leap_day_ms = 1_709_164_800_000
    record = Record(0, leap_day_ms - 1, None, b"v", every("0 0 29 2 *"))
    put_record(shop, record)
    async with shop.tended():
        await shop.until(lambda: shop.delivered() == [0] and not len(shop.schedule.pending))
    assert shop.nexts() == [None]


def put_record(shop: Shop, record: Record) -> None:
    batch = build_batch([record])
    ask(batch, START_MS, LIMIT, append_time=False)
    append(shop.leader.log, batch)
    shop.house.broker.appended(shop.leader)
    shop.house.door.settle()


async def test_a_repeating_record_can_be_cancelled_while_it_is_delivered(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(every("* * * * *"), at(1))
        shop.house.disk.syncs.clear()  # so that the copies are not committed
        shop.house.clock.time_ms += 60_000
        await shop.until(lambda: sorted(shop.delivered()) == [0, 1])
        assert (await shop.send(((CANCEL, b"0"),), acks=1)).error_code == 0
        twice = await shop.send(((CANCEL, b"0"),), acks=1)
        assert twice.error_code == ErrorCode.INVALID_RECORD
        shop.house.clock.time_ms += 600_000
        shop.house.disk.syncs.set()
        await shop.until(lambda: len(shop.schedule.pending) == 0)
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
    assert sorted(shop.delivered()) == [0, 1]


async def test_copies_of_repeating_records_that_the_disk_did_not_take_are_tried_again(
    shop: Shop,
) -> None:
    async with shop.tended():
        await shop.send(every("* * * * *"))
        shop.house.disk.full_folder = "orders-0"
        shop.house.clock.time_ms += 60_000
        await shop.until(lambda: shop.house.broker.disk_is_full)
        assert shop.delivered() == []
        shop.house.disk.full_folder = ""
        shop.house.broker.disk_is_full = False
        await shop.until(lambda: shop.delivered() == [0])
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
        assert len(shop.schedule.pending) == 1


async def test_a_start_goes_on_with_what_repeats_where_it_was(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(every("* * * * *"))
        shop.house.clock.time_ms += 60_000
        await shop.until(lambda: shop.delivered() == [0])
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
        before = entries(shop.schedule)
    for is_kept in (True, False):
        if not is_kept:
            (Path(shop.leader.log.folder) / stored.FILE).unlink()
        shop.house.broker.schedules.forget(shop.leader.log)
        async with shop.tended():
            await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
            assert entries(shop.schedule) == before
    assert shop.delivered() == [0]


# -- retention


@pytest.fixture
async def old_shop(house: House) -> Shop:
    house.desk.create(
        "orders", delayed_delivery="true", segment_bytes="1200", retention_bytes="2500"
    )
    return Shop(house)


async def test_a_repeating_record_outlives_retention_and_its_deliveries(old_shop: Shop) -> None:
    shop = old_shop
    async with shop.tended():
        await shop.send(every("* * * * *"), ())
        for next_s in (120, 180):
            shop.house.clock.time_ms += 60_000
            await shop.until(lambda: shop.nexts()[-1:] == [next_s - SECOND])  # noqa: B023
            for _ in range(60):
                await shop.send((), (), ())
            await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
            (before,) = entries(shop.schedule)
            await retain(shop)
            (after,) = entries(shop.schedule)
            assert (after.id, after.due_ms) == (0, before.due_ms)
            assert after.place >= shop.leader.log.start_offset > before.place
        shop.house.clock.time_ms += 60_000
        await shop.until(lambda: shop.nexts()[-1:] == [240 - SECOND])
        assert shop.delivered()[-1] == 0
    last = shop.copies()[-1]
    assert (last.key, last.value) == (b"k", b"v0")
    assert [name for name, _ in last.headers] == [ID, NEXT]


async def test_what_was_delivered_since_it_was_read_is_not_carried(
    old_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be due as before, and come twice."""
    shop = old_shop
    async with shop.tended():
        await shop.send(every("* * * * *"), ())
        for _ in range(60):
            await shop.send((), (), ())
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
        (before,) = entries(shop.schedule)

        def delivered_meanwhile(*given: Any) -> Any:
            shop.schedule.pending.move(0, before.due_ms + 60_000, before.place)
            return copying.carried(*given)

        monkeypatch.setattr(carrying, "carried", delivered_meanwhile)
        end = shop.leader.log.end_offset
        await retain(shop)
        assert shop.leader.log.end_offset == end
        assert shop.leader.log.start_offset == 0
