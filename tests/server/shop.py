"""A broker with a topic that has delays, and what can be done with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.api.test_delays import batch_of
from tests.delays.writing import AT, ID, NEXT
from tests.raw_client import produce_of
from tests.server.house import House, MemoryConnection
from tests.server.test_upkeep import upkeep_of

from penstock.delays.schedule import Schedule
from penstock.server.carrying import Carrying
from penstock.server.delivering import Delivering
from penstock.wire.batch import read_header, size_at
from penstock.wire.batch_builder import read_records
from penstock.wire.records import Headers, Record

START_MS = 1_750_000_000_000
"""The house's clock."""
LIMIT = 1 << 24


class Shop:
    """A broker with a topic that has delays, and one client."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.client: MemoryConnection = house.connect()

    @property
    def leader(self) -> Any:
        return self.house.broker.leader("orders", 0)

    @property
    def schedule(self) -> Schedule:
        return self.house.broker.schedules.of(self.leader.log)

    async def send(self, *all_headers: Headers, acks: int = -1, **more: Any) -> Any:
        batch = bytes(batch_of(*all_headers, **more))
        answer = await self.house.ask(self.client, produce_of("orders", batch, acks=acks), 9)
        return answer.responses[0].partition_responses[0]

    async def until(self, holds: Callable[[], bool]) -> None:
        def woken() -> bool:
            if self.delivering is not None:
                for tended in self.delivering._tended.values():
                    tended.wake()
            return holds()

        await self.house.settle(woken)

    delivering: Delivering | None = None

    @asynccontextmanager
    async def tended(self) -> AsyncIterator[Delivering]:
        self.delivering = delivering = Delivering(self.house.door)
        delivering.start()
        try:
            await self.until(lambda: self.house.broker.schedules.knows_all(self.leader))
            yield delivering
        finally:
            self.delivering = None
            await delivering.stop()

    def written(self) -> list[tuple[int, Record]]:
        """All records of the log, with what kind of batch each is in."""
        log, found, offset = self.leader.log, [], self.leader.log.start_offset
        while offset < log.end_offset:
            part = log.read(offset, LIMIT, log.end_offset, cold_ok=True)
            data = part.range.file.read(part.range.position, part.range.length)
            while data:
                batch, data = data[: size_at(data)], data[size_at(data) :]
                kind = read_header(batch).attributes >> 7
                found += [(kind, record) for record in read_records(batch, LIMIT)]
            offset = part.next_offset
        return [each for each in found if each[1].offset >= log.start_offset]

    def delivered(self) -> list[int]:
        """Ids, in the order of delivery."""
        return [int(dict(record.headers)[ID] or b"") for record in self.copies()]

    def copies(self) -> list[Record]:
        return [record for kind, record in self.written() if kind == 2]

    def nexts(self) -> list[float | None]:
        """When they come again, in seconds."""
        found = [dict(record.headers).get(NEXT) for record in self.copies()]
        return [None if each is None else (int(each) - START_MS) / 1000 for each in found]


def at(seconds: float) -> Headers:
    return ((AT, b"%d" % (START_MS + seconds * 1000)),)


async def retain(shop: Shop) -> None:
    """As upkeep does now and then."""
    upkeep = upkeep_of(shop.house)
    upkeep.make_way = Carrying(shop.house.door).make_way
    await upkeep._drop_expired_of(shop.leader, shop.house.clock.now_ms())
    await upkeep.stop()
