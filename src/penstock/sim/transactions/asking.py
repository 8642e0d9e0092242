"""A simulated client's way to coordinators and leaders: impatient, over connections that hold up
what it has given up already."""

from __future__ import annotations

from math import exp, log
from typing import TypeVar

from penstock.errors import ErrorCode
from penstock.sim.client import Address, SimClient, Unreached, answered
from penstock.sim.exchange import Exchange
from penstock.sim.groups.asking import NOBODY_KNOWS
from penstock.sim.transactions.habits import Habits
from penstock.wire.codec import Message
from penstock.wire.messages.k10_find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

M = TypeVar("M", bound=Message)

FIND_VERSION = 2
OF_GROUP, OF_TRANSACTION = 0, 1
PATIENCE_S = (1.0, 8.0)


class Asking:
    def __init__(self, client: SimClient, habits: Habits) -> None:
        self.client = client
        self.habits = habits
        self.is_steady = False
        """It is in no hurry any more."""
        self._coordinators: dict[int, Address] = {}

    async def ask(self, exchange: Exchange, request: Message, version: int, kind: type[M]) -> M:
        """Raises Unreached if no answer came in time: what was asked may yet arrive."""
        random = self.client.random
        patience_s = random.uniform(*PATIENCE_S)
        late = self.habits.late_of.get(type(request), self.habits.late)
        if not self.is_steady and random.random() < late:
            held_s = self.some_time_s()
            exchange.hold_up(held_s, answers=random.random() < 0.3)
            patience_s = min(patience_s, held_s * random.random())
            self.client.note(f"{type(request).__name__} comes {held_s:.3f}s late")
        return await answered(exchange, exchange.ask(request, version, kind), patience_s)

    def some_time_s(self) -> float:
        shortest_s, longest_s = self.habits.late_s
        return exp(self.client.random.uniform(log(shortest_s), log(longest_s)))

    async def ask_coordinator(
        self, sort: int, key: str, request: Message, version: int, kind: type[M]
    ) -> M:
        try:
            if sort not in self._coordinators:
                self._coordinators[sort] = await self._find(sort, key)
            exchange = await self.client.exchange(self._coordinators[sort])
            return await self.ask(exchange, request, version, kind)
        except Unreached:
            self.forget_coordinators()
            raise

    async def _find(self, sort: int, key: str) -> Address:
        request = FindCoordinatorRequest(key=key, key_type=sort)
        answer = await self.client.ask_any(request, FIND_VERSION, FindCoordinatorResponse)
        self.judge(answer.error_code, request)
        return answer.host, answer.port

    def judge(self, error_code: int, request: Message) -> None:
        """Nothing if all is well, else Unreached: it is to be asked again."""
        code = ErrorCode(error_code)
        if code is ErrorCode.NONE:
            return
        if code not in NOBODY_KNOWS:
            self.client.complain(f"{code.name} to {type(request).__name__}")
        self.forget_coordinators()
        raise Unreached(code.name)

    def forget_coordinators(self) -> None:
        self._coordinators.clear()
