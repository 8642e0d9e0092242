"""Who is the controller, and what becomes of its work when it goes; on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.metadata.staging import ID, broker

from penstock.metadata.changes import create_topic
from penstock.metadata.cluster_changes import join, register_broker
from penstock.metadata.image import Image
from penstock.metadata.keeper import Keeper
from penstock.metadata.records import TermRecord
from penstock.metadata.store import Session
from penstock.metadata.stores.sqlite import SqliteStore
from penstock.server.controlling import Controlling

LEASE_MS = 2000


class Mate:
    """As much of a broker as a controller needs."""

    def __init__(self, folder: Path, node_id: int) -> None:
        self._path = str(folder / "metadata.db")
        self.node_id = node_id
        self.image = Image(node_id)
        self.session: Session
        self.controlling: Controlling

    async def start(self) -> None:
        self.store = await SqliteStore.open(self._path)
        self.keeper = Keeper(self.store, self.image)
        await self.keeper.start("cluster", b"secret")
        await self.register()
        self.controlling = Controlling(self.keeper, self.node_id, lambda: self.session)
        self.keeper.on_change = self.controlling.follow
        self.controlling.start()

    async def register(self) -> None:
        self.session = session = await self.store.session(LEASE_MS)
        record = broker(self.node_id)
        await self.keeper.change(lambda image: join(image, record.node_id, record.owner))
        await self.keeper.change(lambda image: register_broker(image, record, session.id))

    async def stop(self) -> None:
        await self.controlling.stop()
        await self.session.close()
        await self.keeper.close()
        await self.store.close()

    @property
    def term(self) -> tuple[int, int]:
        """Who is in it, and which it is."""
        held = self.image.single(TermRecord)
        return (held.record.node_id, held.record.epoch) if held else (-1, 0)

    @property
    def leaders(self) -> list[int]:
        records = self.image.topics["orders"].partitions
        return [record.leader for record in records if record]


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


@pytest.fixture
async def mates(tmp_path: Path) -> AsyncIterator[list[Mate]]:
    made = [Mate(tmp_path, node_id) for node_id in (1, 2, 3)]
    for each in made:
        await each.start()
        await until(lambda: made[0].term[0] == 1)
    await until(lambda: all(len(each.image.brokers) == 3 for each in made))
    yield made
    for each in made:
        await each.stop()


async def create(mate: Mate) -> None:
    await mate.keeper.change(
        lambda image: create_topic(
            image, "orders", topic_id=ID, now_ms=0, assignments={0: [1, 2, 3], 1: [2, 3, 1]}
        )
    )


async def test_one_broker_is_the_controller_and_stays_so(mates: list[Mate]) -> None:
    await until(lambda: {each.term for each in mates} == {(1, 1)})
    await create(mates[1])
    await until(lambda: all(each.image.topics for each in mates))
    assert {each.term for each in mates} == {(1, 1)}


async def test_when_the_controller_goes_another_one_takes_its_place_and_its_work(
    mates: list[Mate],
) -> None:
    await create(mates[0])
    await mates[0].controlling.stop()
    await mates[0].session.close()
    await until(lambda: mates[1].term[1] == 2)
    await until(lambda: 1 not in mates[1].leaders)
    await until(lambda: mates[2].leaders == mates[1].leaders)
    await mates[0].register()


async def test_a_controller_that_was_deposed_without_knowing_it_writes_nothing(
    mates: list[Mate],
) -> None:
    """It was held up for longer than its lease, and goes on as if nothing were."""
    await create(mates[0])
    old = mates[0]
    old.keeper.on_change = lambda changed: None
    await old.session.close()
    await until(lambda: old.term[1] == 2)
    before = old.leaders
    old.controlling._look_at_all = True
    await old.controlling.work()
    assert old.leaders == before
    assert old.term[1] == 2
    await old.register()
