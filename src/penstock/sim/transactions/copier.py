"""Reads what is committed, copies it, and commits in the same transaction how far it has read."""

from __future__ import annotations

import asyncio

from penstock.errors import ErrorCode
from penstock.sim.client import RETRY_S, Unreached
from penstock.sim.transactions.asking import OF_GROUP, Asking
from penstock.sim.transactions.fetching import fetch
from penstock.sim.transactions.history import Place, Transaction, TransactionHistory, Write
from penstock.sim.transactions.life import Life
from penstock.sim.transactions.topics import COPIES, GROUP, PARTITIONS, SOURCE
from penstock.sim.transactions.verdicts import MustAbort
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

FETCH_VERSION = 9
RECORDS_MAX = 6


class Copier(Life):
    positions: dict[int, int]
    is_at_the_end = False
    """It has copied all that there was when it looked last."""

    async def prepare(self) -> None:
        """Where the group is; only its transactions move that."""
        places = await find_places(self.asking, self.history)
        self.history.places += places
        self.positions = {place.partition: max(place.offset, 0) for place in places}

    async def turn(self) -> None:
        transaction = self.history.begin(self.session.name)
        values = await self._read(transaction)
        self.is_at_the_end = not transaction.offsets
        if self.is_at_the_end:
            return
        try:
            await self._copy(transaction, values)
            await self.may_fail()
        except MustAbort as why:
            await self.abort(transaction, why)
        else:
            await self.end(transaction)
        await self.prepare()

    async def _read(self, transaction: Transaction) -> dict[int, list[int]]:
        random = self.client.random
        values = {}
        for partition in random.sample(range(PARTITIONS), random.randint(1, PARTITIONS)):
            position = self.positions[partition]
            try:
                fetched = await fetch(self.client, SOURCE, partition, position)
            except Unreached:
                self.client.forget_leaders()
                continue
            some = fetched.reads[: random.randint(1, RECORDS_MAX)]
            is_all = len(some) == len(fetched.reads)
            following = fetched.following if is_all else some[-1].offset + 1
            if following > position:
                transaction.offsets[partition] = following
            if some:
                values[partition] = [read.value for read in some]
        return values

    async def _copy(self, transaction: Transaction, values: dict[int, list[int]]) -> None:
        is_first = self.client.random.random() < 0.5
        if is_first:
            await self.session.commit_offsets(transaction)
            await self.pause()
        if values:
            await self._write(transaction, values)
            await self.pause()
        if not is_first:
            await self.session.commit_offsets(transaction)

    async def _write(self, transaction: Transaction, values: dict[int, list[int]]) -> None:
        for partition, some in values.items():
            transaction.writes += [Write(COPIES, partition, value) for value in some]
        await self.session.write(COPIES, values)


async def find_places(asking: Asking, history: TransactionHistory) -> list[Place]:
    while True:
        try:
            return await _places(asking, history)
        except Unreached:
            await asyncio.sleep(RETRY_S)


async def _places(asking: Asking, history: TransactionHistory) -> list[Place]:
    known = [history.known_place(partition) for partition in range(PARTITIONS)]
    wanted = [OffsetFetchRequestTopics(SOURCE, partition_indexes=list(range(PARTITIONS)))]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(GROUP, topics=wanted)], require_stable=True
    )
    answer = await asking.ask_coordinator(
        OF_GROUP, GROUP, request, FETCH_VERSION, OffsetFetchResponse
    )
    told = answer.groups[0]
    asking.judge(told.error_code, request)
    places = []
    for part in told.topics[0].partitions:
        if part.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
            raise Unreached("its offsets are under way")
        asking.judge(part.error_code, request)
        number = int(part.metadata or -1)
        index = part.partition_index
        places.append(Place(index, part.committed_offset, number, known[index]))
    return places
