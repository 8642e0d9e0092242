"""A simulated client's way to a group's coordinator, and what its answers mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from penstock.errors import ErrorCode
from penstock.sim.client import Address, SimClient, Unreached, answered
from penstock.sim.groups.history import Found
from penstock.wire.codec import Message
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartitions,
)
from penstock.wire.messages.k10_find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

M = TypeVar("M", bound=Message)

FIND_VERSION, FETCH_VERSION = 2, 9
NO_EPOCH = -1
NOBODY_KNOWS = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Whoever gets one of these asks again."""
OUT = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
BEHIND = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.STALE_MEMBER_EPOCH})


class Out(Exception):
    """Who asked is not a member any more, so nothing is its own."""


class Behind(Exception):
    """It is a member still, but there is something that it has to learn first."""


class Asking:
    def __init__(self, client: SimClient, group: str) -> None:
        self.client = client
        self.group = group
        self._coordinator: Address | None = None

    async def ask(self, request: Message, version: int, kind: type[M]) -> M:
        """The coordinator, as far as it is known."""
        try:
            if self._coordinator is None:
                self._coordinator = await self._find()
            exchange = await self.client.exchange(self._coordinator)
            return await answered(exchange, exchange.ask(request, version, kind))
        except Unreached:
            self._coordinator = None
            raise

    async def _find(self) -> Address:
        request = FindCoordinatorRequest(key=self.group)
        answer = await self.client.ask_any(request, FIND_VERSION, FindCoordinatorResponse)
        self.judge(answer.error_code)
        return answer.host, answer.port

    async def places(
        self,
        topic: str,
        partitions: Sequence[int],
        member: str | None = None,
        epoch: int = NO_EPOCH,
    ) -> list[Found]:
        """Where the group is."""
        wanted = [OffsetFetchRequestTopics(topic, partition_indexes=list(partitions))]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(self.group, member, epoch, wanted)]
        )
        asked_s = self.client.loop.time()
        answer = (await self.ask(request, FETCH_VERSION, OffsetFetchResponse)).groups[0]
        self.judge(answer.error_code)
        return [self._found(each, asked_s) for each in answer.topics[0].partitions]

    def _found(self, told: OffsetFetchResponsePartitions, asked_s: float) -> Found:
        self.judge(told.error_code)
        number = int(told.metadata or NO_EPOCH)
        return Found(self.client.name, told.partition_index, told.committed_offset, number, asked_s)

    def judge(self, error_code: int) -> None:
        """Nothing if all is well; else Unreached, Out or Behind."""
        code = ErrorCode(error_code)
        if code is ErrorCode.NONE:
            return
        if code in OUT:
            raise Out
        if code in BEHIND:
            raise Behind
        if code not in NOBODY_KNOWS:
            self.client.complain(f"{code.name} to one who asked for {self.group}")
        self._coordinator = None
        raise Unreached(code.name)
