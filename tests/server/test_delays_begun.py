"""A topic gets delays when it is large already: it is used as before while it is gone through."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.api.test_delays import batch_of
from tests.raw_client import fetch_of, partition_of
from tests.server.house import House
from tests.server.shop import Shop, at

from penstock.log.steps import BATCHES_A_SLICE
from penstock.metadata.config_changes import replace_topic_configs
from penstock.server.delivering import Delivering
from penstock.wire.batch import read_header

SLICES = 40
FETCH_VERSION = 12


async def test_a_topic_is_written_and_read_while_it_is_gone_through_for_what_is_held(
    house: House,
) -> None:
    house.desk.create("orders")
    shop = Shop(house)
    leader = shop.leader
    for _ in range(SLICES * BATCHES_A_SLICE):
        batch = batch_of(())
        leader.log.append(batch, read_header(batch), house.clock.now_ms(), leader.epoch)
    leader.log.write_out()
    await shop.send(())
    before = leader.log.end_offset
    begin_delays(house)
    delivering = Delivering(house.door)
    delivering.start()
    try:
        while not shop.schedule.offset:
            await asyncio.sleep(0)
        await shop.send((), at(1))
        answer = await house.ask(shop.client, fetch_of("orders", before), FETCH_VERSION)
        records: Any = partition_of(answer).records
        assert read_header(records).record_count == 1
        assert 0 < shop.schedule.offset < before
        house.clock.time_ms += 1000
        shop.delivering = delivering
        await shop.until(lambda: shop.schedule.offset == before + 3)
        assert shop.delivered() == [before + 1]
    finally:
        await delivering.stop()


def begin_delays(house: House) -> None:
    settings = {"delayed.delivery": "true"}
    given: dict[str, Any] = {"nonce": b"n" * 16, "now_ms": house.clock.now_ms()}
    house.desk.change(lambda image: replace_topic_configs(image, "orders", settings, **given))
    house.broker.reconfigure(house.desk.image.topics["orders"])
