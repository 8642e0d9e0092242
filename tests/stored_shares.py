"""Coordinators of shares in memory: what they decide is decided as in a broker, and applied."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

from penstock.config import BrokerConfig
from penstock.coordination.share import deciding
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import Share, Shares, State, Summary
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.image import Image
from tests.api.desk import CountingChance

R = TypeVar("R")

NOW_MS = 1_750_000_000_000


class StoredShares:
    def __init__(self, image: Image) -> None:
        self._image = image
        self._kept = Shares()
        self.refused: list[ErrorCode] = []
        """What the next who ask are told; the last of them is told for good."""
        self.is_up = asyncio.Event()
        """Who asks waits for this."""
        self.is_up.set()
        self.asked: list[ShareKey] = []

    def starts(self) -> dict[ShareKey, int]:
        """Where each share begins."""
        return {each.key: each.state.start_offset for each in self._kept if each.state is not None}

    async def read(self, key: ShareKey, leader_epoch: int) -> State:
        return await self._run(key, lambda turn, one: deciding.read(turn, one, leader_epoch))

    async def write(self, key: ShareKey, written: Written) -> None:
        await self._run(key, lambda turn, one: deciding.write(turn, one, written))

    async def initialize(self, key: ShareKey, state_epoch: int, start_offset: int) -> None:
        await self._run(
            key, lambda turn, one: deciding.initialize(turn, one, state_epoch, start_offset)
        )

    async def delete(self, key: ShareKey) -> None:
        await self._run(key, deciding.delete)

    async def summaries(self, keys: Iterable[ShareKey]) -> dict[ShareKey, Summary | Refused]:
        return {key: await self._run(key, deciding.summary) for key in keys}

    async def _run(self, key: ShareKey, decide: Callable[[Turn, Share], R]) -> R:
        self.asked.append(key)
        await self.is_up.wait()
        if self.refused:
            code = self.refused.pop(0) if len(self.refused) > 1 else self.refused[0]
            if code:
                raise Refused(code, "as the test wants it")
        turn = Turn(BrokerConfig(), self._image, CountingChance(), NOW_MS, 0.0)
        answer = decide(turn, self._kept.get_or_add(key.name))
        turn.apply(self._kept.apply)
        return answer
