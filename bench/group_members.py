"""Members of groups, played by one process: each with a connection of its own.

Their heartbeats are spread over the interval, as those of processes that do not know each other.
"""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Callable
from typing import Any, TypeVar

from bench.raw_client import join
from penstock.errors import ErrorCode
from penstock.wire.codec import Message, decode_response, encode_request
from penstock.wire.messages import message_types
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from penstock.wire.messages.k12_heartbeat import HeartbeatRequest
from penstock.wire.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from penstock.wire.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

R = TypeVar("R", bound=Message)

SESSION_MS = 6_000
REBALANCE_MS = 60_000
FIND_VERSION, JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, NEW_VERSION = 4, 7, 5, 4, 1

OnSettled = Callable[["ClassicMember | NewMember"], None]


class Link:
    """One connection, one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, host: str, port: int) -> Link:
        return cls(*await asyncio.open_connection(host, port))

    async def ask(self, request: Message, version: int) -> Any:
        self._writer.write(join(encode_request(request, version, 1, "bench")))
        (length,) = struct.unpack(">i", await self._reader.readexactly(4))
        body = await self._reader.readexactly(length)
        return decode_response(message_types(request.KEY)[1], body, version)[1]

    def close(self) -> None:
        self._writer.close()


async def find_coordinator(host: str, port: int, group: str) -> None:
    """Makes the offsets topic, and waits until the group is looked after."""
    link = await Link.open(host, port)
    request = FindCoordinatorRequest(coordinator_keys=[group])
    while (await link.ask(request, FIND_VERSION)).coordinators[0].error_code:
        await asyncio.sleep(0.05)
    link.close()


class ClassicMember:
    """Joins, syncs, heartbeats; whoever leads gives every member an equal number of bytes."""

    def __init__(self, link: Link, group: str, interval_ms: int, on_settled: OnSettled) -> None:
        self._link = link
        self._group = group
        self._interval_ms = interval_ms
        self._on_settled = on_settled
        self.id = ""
        self.generation = -1
        self.last_heartbeat = 0.0

    async def run(self) -> None:
        while True:
            await self._join()
            await asyncio.sleep(random.random() * self._interval_ms / 1000)
            while not await self._must_rejoin():
                await asyncio.sleep(self._interval_ms / 1000)

    async def _join(self) -> None:
        while True:
            answer: JoinGroupResponse = await self._link.ask(
                JoinGroupRequest(
                    self._group,
                    SESSION_MS,
                    REBALANCE_MS,
                    self.id,
                    protocol_type="consumer",
                    protocols=[JoinGroupRequestProtocol("range", b"\0\1")],
                ),
                JOIN_VERSION,
            )
            self.id = answer.member_id or self.id
            if not answer.error_code and await self._sync(answer):
                return

    async def _sync(self, joined: JoinGroupResponse) -> bool:
        plan = [SyncGroupRequestAssignment(each.member_id, bytes(120)) for each in joined.members]
        answer = await self._link.ask(
            SyncGroupRequest(
                self._group,
                joined.generation_id,
                self.id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=plan,
            ),
            SYNC_VERSION,
        )
        if answer.error_code:
            return False
        self.generation = joined.generation_id
        self._on_settled(self)
        return True

    async def _must_rejoin(self) -> bool:
        self.last_heartbeat = asyncio.get_running_loop().time()
        request = HeartbeatRequest(self._group, self.generation, self.id)
        answer = await self._link.ask(request, HEARTBEAT_VERSION)
        return bool(answer.error_code)

    def close(self) -> None:
        self._link.close()


class NewMember:
    """A member of KIP-848 that does at once what it is told to."""

    def __init__(
        self, link: Link, group: str, name: str, topics: list[str], on_settled: OnSettled
    ) -> None:
        self._link = link
        self._group = group
        self._topics = topics
        self._on_settled = on_settled
        self.id = name
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}
        self.interval_ms = 500
        self.last_heartbeat = 0.0
        self.changes = 0
        """How often it was told of another assignment."""

    @property
    def size(self) -> int:
        return sum(map(len, self.owned.values()))

    async def run(self) -> None:
        await self._heartbeat(is_full=True)
        await asyncio.sleep(random.random() * self.interval_ms / 1000)
        is_news = True
        while True:
            if not is_news:
                await asyncio.sleep(self.interval_ms / 1000)
            is_news = await self._heartbeat(is_full=is_news)

    async def _heartbeat(self, *, is_full: bool) -> bool:
        """Whether there was an assignment: what became of it is told in another one, at once."""
        is_first = self.epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            self._group,
            self.id,
            self.epoch,
            rebalance_timeout_ms=REBALANCE_MS if is_first else -1,
            subscribed_topic_names=self._topics if is_first else None,
            topic_partitions=(
                [TopicPartitions(topic, each) for topic, each in self.owned.items()]
                if is_full or is_first
                else None
            ),
        )
        self.last_heartbeat = asyncio.get_running_loop().time()
        answer: ConsumerGroupHeartbeatResponse = await self._link.ask(request, NEW_VERSION)
        assert answer.error_code == ErrorCode.NONE, answer
        self.epoch, self.interval_ms = answer.member_epoch, answer.heartbeat_interval_ms
        assignment = answer.assignment
        is_news = False
        if assignment is not None:
            told = {each.topic_id: list(each.partitions) for each in assignment.topic_partitions}
            is_news = told != self.owned
            self.changes += is_news
            self.owned = told
        self._on_settled(self)
        return is_news

    def close(self) -> None:
        self._link.close()
