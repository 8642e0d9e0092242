"""Held records are delivered by the leader, once, whatever fails; and they outlive retention."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.api.test_delays import batch_of
from tests.delays.writing import AT, CANCEL, entries, put, put_copies
from tests.raw_client import frame_of, produce_of
from tests.server.house import House
from tests.server.shop import START_MS, Shop, at, retain

from penstock.delays import copies as copying
from penstock.delays import stored
from penstock.delays.pending import Entry
from penstock.delays.schedule import Schedule
from penstock.errors import ErrorCode
from penstock.log.damage import Damage
from penstock.server.delivering import Delivering
from penstock.wire.compression import Codec


@pytest.fixture
async def shop(house: House) -> Shop:
    house.desk.create("orders", delayed_delivery="true")
    return Shop(house)


async def test_records_are_delivered_when_they_are_due_and_not_before(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(at(20), at(10), (), at(10))
        shop.house.clock.time_ms += 9_999
        await shop.until(lambda: len(shop.schedule.pending) == 3)
        assert shop.delivered() == []
        shop.house.clock.time_ms += 1
        await shop.until(lambda: len(shop.schedule.pending) == 1)
        assert shop.delivered() == [1, 3]
        shop.house.clock.time_ms += 10_000
        await shop.until(lambda: len(shop.schedule.pending) == 0)
    assert shop.delivered() == [1, 3, 0]
    copies = [record for kind, record in shop.written() if kind == 2]
    assert [each.timestamp - START_MS for each in copies] == [10_000, 10_000, 20_000]


async def test_copies_that_the_disk_did_not_take_are_tried_again(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(at(1), at(1))
        shop.house.disk.full_folder = "orders-0"
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: shop.house.broker.disk_is_full)
        assert shop.delivered() == []
        shop.house.disk.full_folder = ""
        shop.house.broker.disk_is_full = False
        await shop.until(lambda: len(shop.schedule.pending) == 0)
    assert shop.delivered() == [0, 1]


async def test_nothing_is_delivered_without_a_lease(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(at(0))
        await shop.until(lambda: shop.delivered() == [0])
        await shop.send(at(1))
        shop.house.broker.has_lease = lambda: False
        shop.house.clock.time_ms += 5000
        await asyncio.sleep(0.05)
        assert shop.delivered() == [0]
        shop.house.broker.has_lease = lambda: True
        await shop.until(lambda: len(shop.delivered()) == 2)


async def test_what_another_leader_has_delivered_is_not_delivered_again(shop: Shop) -> None:
    await shop.send(at(0), at(0), at(0))
    log = shop.leader.log
    put_copies(log, [Entry(1, START_MS, 1)], still_held=False)
    shop.leader.epoch_start = log.end_offset
    shop.house.broker.appended(shop.leader)
    shop.house.door.settle()
    async with shop.tended():
        await shop.until(lambda: shop.schedule.is_read and not len(shop.schedule.pending))
    assert shop.delivered() == [1, 0, 2]


async def test_a_leader_does_nothing_before_it_knows_what_was_there_when_its_term_began(
    shop: Shop,
) -> None:
    await shop.send(at(0))
    leader = shop.leader
    leader.epoch_start = leader.log.end_offset + 1
    async with asyncio.timeout(30):
        delivering = Delivering(shop.house.door)
        delivering.start()
        while not shop.schedule.is_read or shop.schedule.offset < leader.log.end_offset:
            await asyncio.sleep(0)
        await asyncio.sleep(0.02)
    assert shop.delivered() == []
    await delivering.stop()


async def test_what_is_being_delivered_cannot_be_cancelled(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(at(1))
        shop.house.disk.syncs.clear()  # so that the copy is not committed
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: shop.delivered() == [0])
        answer = await shop.send(((CANCEL, b"0"),), acks=1)
        assert answer.error_code == ErrorCode.INVALID_RECORD
        shop.house.disk.syncs.set()
        await shop.until(lambda: len(shop.schedule.pending) == 0)


async def test_a_cancel_that_is_not_committed_yet_counts(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(at(1), at(1))
        shop.house.disk.syncs.clear()
        assert (await shop.send(((CANCEL, b"0"),), acks=1)).error_code == 0
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: shop.delivered() == [1])
        shop.house.disk.syncs.set()
        await shop.until(lambda: len(shop.schedule.pending) == 0)
    assert shop.delivered() == [1]


async def test_a_cancel_that_the_disk_did_not_take_does_not_count(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(at(1))
        shop.house.disk.full_folder = "orders-0"
        shop.client.give(_frame(batch_of(((CANCEL, b"0"),))))
        await shop.until(lambda: shop.client.is_closed or shop.house.broker.disk_is_full)
        shop.house.disk.full_folder = ""
        shop.house.broker.disk_is_full = False
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: shop.delivered() == [0])


def _frame(batch: bytearray) -> bytes:
    return frame_of(produce_of("orders", bytes(batch)), 9)


async def test_large_records_are_copied_a_few_at_a_time(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "READ_BYTES_MAX", 200)
    monkeypatch.setattr(copying, "BATCH_BYTES", 100)
    async with shop.tended():
        for _ in range(4):
            await shop.send(*([at(1), at(2)] * 10), codec=Codec.LZ4)
        shop.house.clock.time_ms += 5000
        await shop.until(lambda: len(shop.schedule.pending) == 0)
    assert shop.delivered() == [*range(0, 80, 2), *range(1, 80, 2)]


async def test_a_damaged_record_is_told_of_and_keeps_no_other_waiting(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    async with shop.tended():
        await shop.send(at(1))
        await shop.send(at(1))
        await shop.until(lambda: len(shop.schedule.pending) == 2)
        shop.leader.log.damage = [Damage(0, 1, 0, 0, 10)]
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: len(shop.schedule.pending) == 1)
        shop.leader.log.damage = []
    assert "the record at 0 is due, and cannot be read" in caplog.text
    assert shop.delivered() == [1]


async def test_deleted_records_are_not_delivered(shop: Shop) -> None:
    async with shop.tended():
        await shop.send(at(1), at(1), at(1))
        await shop.until(lambda: len(shop.schedule.pending) == 3)
        shop.house.broker.delete_to(shop.leader, 2)
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: len(shop.schedule.pending) == 0)
    assert shop.delivered() == [2]


# -- kept beside the log


async def test_a_start_goes_on_from_what_was_written_down(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop.tended():
        await shop.send(at(1), at(2))
        await shop.until(lambda: shop.schedule.offset == 2)
    path = Path(shop.leader.log.folder) / stored.FILE
    assert path.exists()
    shop.house.broker.schedules.forget(shop.leader.log)
    await shop.send(at(3))
    read_from: list[int] = []
    begun = Schedule.begin

    def begin(schedule: Schedule, offset: int) -> None:
        read_from.append(offset)
        begun(schedule, offset)

    monkeypatch.setattr(Schedule, "begin", begin)
    async with shop.tended():
        await shop.until(lambda: len(shop.schedule.pending) == 3)
    assert read_from[-1] == 2


@pytest.mark.parametrize("harm", ["damage", "loss"])
async def test_what_was_written_down_is_made_anew_where_it_is_lost_or_damaged(
    shop: Shop, harm: str
) -> None:
    async with shop.tended():
        await shop.send(at(1), at(2))
        await shop.until(lambda: len(shop.schedule.pending) == 2)
    path = Path(shop.leader.log.folder) / stored.FILE
    if harm == "loss":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    shop.house.broker.schedules.forget(shop.leader.log)
    async with shop.tended():
        await shop.until(lambda: len(shop.schedule.pending) == 2)
        assert [each.id for each in entries(shop.schedule)] == [0, 1]


# -- retention


@pytest.fixture
async def old_shop(house: House) -> Shop:
    house.desk.create(
        "orders", delayed_delivery="true", segment_bytes="1200", retention_bytes="2500"
    )
    return Shop(house)


async def test_held_records_are_carried_forward_before_their_segment_goes(old_shop: Shop) -> None:
    shop = old_shop
    async with shop.tended():
        await shop.send(at(100), ((b"x", b"y"), *at(50)), ())
        for _ in range(60):
            await shop.send((), (), ())
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
        await retain(shop)
        assert shop.leader.log.start_offset > 2
        assert [each.id for each in entries(shop.schedule)] == [0, 1]
        assert all(each.place > 180 for each in entries(shop.schedule))
        shop.house.clock.time_ms += 100_000
        await shop.until(lambda: len(shop.schedule.pending) == 0)
    assert shop.delivered() == [1, 0]
    first = next(record for kind, record in shop.written() if kind == 2)
    assert (first.key, first.value) == (b"k", b"v1")
    assert first.headers == ((b"x", b"y"), (b"penstock-scheduled-id", b"1"))


async def test_a_log_from_which_originals_are_gone_is_folded_to_the_same(old_shop: Shop) -> None:
    shop = old_shop
    async with shop.tended():
        await shop.send(at(100), (), ())
        for _ in range(60):
            await shop.send((), (), ())
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
        await retain(shop)
        before = entries(shop.schedule)
    (Path(shop.leader.log.folder) / stored.FILE).unlink()
    shop.house.broker.schedules.forget(shop.leader.log)
    async with shop.tended():
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
        assert entries(shop.schedule) == before
        assert [each.id for each in before] == [0]


async def test_a_segment_that_is_mostly_held_stays(
    old_shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    shop = old_shop
    caplog.set_level(logging.INFO)
    async with shop.tended():
        for _ in range(12):
            await shop.send(at(100), at(100), at(100))
        for _ in range(60):
            await shop.send((), (), ())
        await shop.until(lambda: shop.schedule.offset == shop.leader.log.end_offset)
        end = shop.leader.log.end_offset
        await retain(shop)
        assert shop.leader.log.start_offset == 0
        assert shop.leader.log.end_offset == end
        assert "stays, as most of it is still to be delivered" in caplog.text
        shop.house.clock.time_ms += 100_000
        await shop.until(lambda: len(shop.schedule.pending) == 0)
        await retain(shop)
        assert shop.leader.log.start_offset > 0
    assert len(caplog.records) > 0


async def test_nothing_goes_while_it_is_not_known_what_is_held(old_shop: Shop) -> None:
    shop = old_shop
    await shop.send(at(100), (), ())
    for _ in range(60):
        await shop.send((), (), ())
    await retain(shop)
    assert shop.leader.log.start_offset == 0


async def test_what_an_open_transaction_holds_does_not_go(old_shop: Shop) -> None:
    shop = old_shop
    leader = shop.leader
    of: dict[str, Any] = {
        "producer_id": 7,
        "producer_epoch": 0,
        "base_sequence": 0,
        "transactional": True,
    }
    put(leader.log, [((AT, b"5"),)], **of)
    shop.house.broker.appended(leader)
    async with shop.tended():
        for _ in range(60):
            await shop.send((), (), ())
        await shop.until(lambda: shop.schedule.offset == leader.log.end_offset)
        await retain(shop)
        assert leader.log.start_offset == 0
