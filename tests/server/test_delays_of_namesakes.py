"""What was written down of a topic's held records is never taken for that of its namesake.

A topic that is deleted and made anew has the same folders, offsets and epochs as before: nothing
but the topic's id tells the two apart.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path

import pytest
from tests.delays.writing import entries
from tests.server.house import House
from tests.server.shop import Shop, at

from penstock.delays import stored
from penstock.server import delivering as delivering_module


@pytest.fixture
async def shop(house: House) -> Shop:
    house.desk.create("orders", delayed_delivery="true")
    return Shop(house)


def made_anew(shop: Shop) -> None:
    shop.house.delete_topic("orders")
    shop.house.desk.create("orders", delayed_delivery="true")


async def test_a_schedule_of_a_deleted_topic_says_nothing_of_its_namesake(
    shop: Shop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with shop.tended():
        await shop.send((), (), at(1))
        await shop.until(lambda: len(shop.schedule.pending) == 1)
    shutil.copy(Path(shop.leader.log.folder) / stored.FILE, tmp_path / "old")
    made_anew(shop)
    await shop.send(at(1), (), ())
    shutil.copy(tmp_path / "old", Path(shop.leader.log.folder) / stored.FILE)
    async with shop.tended():
        await shop.until(lambda: shop.schedule.offset == 3)
        assert [each.id for each in entries(shop.schedule)] == [0]
        shop.house.clock.time_ms += 1000
        await shop.until(lambda: len(shop.schedule.pending) == 0)
    assert shop.delivered() == [0]
    assert "is made anew: it is of another topic" in caplog.text


async def test_a_schedule_that_is_being_written_when_its_topic_goes_is_not_left_to_the_next(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = shop.house.disk.write_whole
    begun, let_go, done = threading.Event(), threading.Event(), threading.Event()

    def late(path: str, data: bytes) -> None:
        if stored.FILE not in path:
            write(path, data)
            return
        begun.set()
        assert let_go.wait(30)
        try:
            write(path, data)
        finally:
            done.set()

    monkeypatch.setattr(shop.house.disk, "write_whole", late)
    monkeypatch.setattr(delivering_module, "KEPT_BYTES", 1)
    monkeypatch.setattr(delivering_module, "KEPT_LOOK", 1)
    async with shop.tended() as delivering:
        await shop.send((), (), at(1))
        await shop.until(begun.is_set)
        topic = shop.house.desk.image.topics["orders"]
        made_anew(shop)
        delivering._end((topic.id, 0))
        await shop.send(at(1), (), ())
        let_go.set()
        await asyncio.to_thread(done.wait, 30)
        left = [each.name for each in Path(shop.leader.log.folder).iterdir()]
    assert stored.FILE not in left
