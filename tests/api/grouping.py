"""A broker that looks after groups: time is moved by hand, and syncs happen when they are told to.

Answers wait as they do in a session: woken by what they wait for, and asked again.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from tests.api.desk import NOW_MS, Desk

from penstock.api.call import Call
from penstock.api.coordinator import Coordinator
from penstock.api.outcome import Later, Resume
from penstock.api.shard import Shard
from penstock.coordination.group.groups import Group
from penstock.coordination.pace import Pace
from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import OFFSETS
from penstock.replication.leader import Leader
from penstock.server.steps import carry_out, wait_on
from penstock.wire.codec import Message
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.wire.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored_codec import encode_value

GROUP = "readers"
DELAY_MS, SESSION_MS = 3_000, 10_000
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": str(DELAY_MS),
}
WITH_NAMES: dict[int, int] = {ApiKey.OFFSET_COMMIT: 9, ApiKey.OFFSET_FETCH: 9}
"""The last versions in which topics have names: those that are asked for if none is given."""


class HandClock:
    def __init__(self) -> None:
        self.time_ms = 1_000

    def now_ms(self) -> int:
        return NOW_MS + self.time_ms

    def monotonic_ms(self) -> float:
        return self.time_ms


class Asked:
    """A request, and its answer once that has come."""

    def __init__(self, desk: Desk, call: Call, outcome: Any) -> None:
        self._desk = desk
        self._call = call
        self._later = outcome if isinstance(outcome, Later) else None
        self._outcome: Any = None if self._later else outcome
        self._watch()

    def _watch(self) -> None:
        if self._later is not None:
            for source in self._later.sources:
                source.watch(self._look)

    def _look(self, *, time_is_up: bool = False) -> None:
        if self._later is None:
            return
        try:
            answer = _unwound(self._later.answer(time_is_up))
        except Refused as refused:
            answer = self._call.failure(refused)
        if isinstance(answer, Later):  # and wait for something else
            self._later, answer = answer, None
        if answer is None:
            self._watch()
        else:
            self._outcome, self._later = answer, None

    def time_is_up(self) -> None:
        self._look(time_is_up=True)

    @property
    def is_waiting(self) -> bool:
        return self._later is not None

    @property
    def answer(self) -> Any:
        assert not self.is_waiting
        return self._desk.decoded(self._outcome, self._call.version)

    @property
    def code(self) -> ErrorCode:
        return ErrorCode(self.answer.error_code)


class Room:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.clock = HandClock()
        self.loading: list[Shard[Group]] = []
        self.groups.clock = self.clock
        self.groups.on_new_shard = self.loading.append
        if desk.image.topic(OFFSETS) is None:
            desk.ask(FindCoordinatorRequest(key=GROUP), 0)
        self.groups.follow()

    @property
    def groups(self) -> Coordinator[Group]:
        return self.desk.broker.groups

    def leader(self, group: str = GROUP) -> Leader:
        return self.desk.broker.leader(OFFSETS, self.groups.place(group)[0])

    def shard(self, group: str = GROUP) -> Shard[Group]:
        return self.groups.shard(group)

    # -- what the server does

    def write_out(self) -> None:
        """As at the end of a pass. Nothing is committed by that alone."""
        for leader in self.desk.broker.take_dirty():
            leader.log.write_out()

    def sync(self) -> None:
        self.write_out()
        for leader in self.desk.broker.open_leaders():
            leader.log.end_sync(leader.log.begin_sync())
            if leader.advance() and leader.announce():
                while leader.announce_more():
                    pass
        for shard in self.groups.shards.values():
            while shard.handout.go_on(Pace()):
                pass

    def load(self) -> None:
        while self.loading:
            steps = self.loading.pop().load()
            asyncio.run(carry_out(partial(wait_on, self.desk.disk), steps))

    def wait(self, ms: int) -> None:
        """Time passes, with a look at whatever is due on the way."""
        end_ms = self.clock.time_ms + ms
        while (due_ms := self.groups.next_due_ms) is not None and due_ms <= end_ms:
            self.clock.time_ms = max(self.clock.time_ms, int(due_ms))
            while self.groups.expire():
                pass
            self.sync()
        self.clock.time_ms = end_ms

    def restart(self) -> Room:
        """The same broker after a clean stop, with its groups still to be loaded."""
        return Room(self.desk.restart())

    # -- what clients do

    def ask(self, request: Message, version: int | None = None) -> Asked:
        """What it writes is in the log then, but not committed."""
        call = self.desk.call(request, WITH_NAMES.get(request.KEY) if version is None else version)
        try:
            outcome = call.api.handler(self.desk.broker, call.request, call)
        except Refused as refused:
            outcome = call.failure(refused)
        asked = Asked(self.desk, call, _unwound(outcome))
        self.write_out()
        return asked

    def tell(self, request: Message, version: int | None = None) -> Any:
        """The answer to something that waits for the disk alone."""
        asked = self.ask(request, version)
        self.sync()
        return asked.answer

    def settle(self, count: int = 1, group: str = GROUP) -> list[str]:
        """A stable group of so many members; their ids, the leader's first."""
        joined = [self.ask(join(group), 3) for _ in range(count)]
        self.wait(DELAY_MS)
        ids = [each.answer.member_id for each in joined]
        asked = [self.ask(sync(each, ids if each == ids[0] else (), group)) for each in ids]
        self.sync()
        assert not any(each.is_waiting for each in asked)
        return ids


def _unwound(outcome: Any) -> Any:
    while isinstance(outcome, Resume):
        outcome = outcome.then(asyncio.run(_awaited(outcome)))
    return outcome


async def _awaited(resume: Resume[Any]) -> Any:
    return await resume.work()


def lose_followers(room: Room, group: str = GROUP) -> None:
    leader = room.leader(group)
    leader.replicas, leader.in_sync = (1, 2, 3), frozenset({1})
    leader.min_isr = 2


def join(group: str = GROUP, member_id: str = "", **fields: Any) -> JoinGroupRequest:
    subscription = encode_value(ConsumerProtocolSubscription(["orders"]), 0)
    fields.setdefault("protocol_type", "consumer")
    fields.setdefault("protocols", [JoinGroupRequestProtocol("range", subscription)])
    fields.setdefault("session_timeout_ms", SESSION_MS)
    fields.setdefault("rebalance_timeout_ms", 60_000)
    return JoinGroupRequest(group_id=group, member_id=member_id, **fields)


def sync(
    member_id: str, plan: Any = (), group: str = GROUP, generation: int = 1
) -> SyncGroupRequest:
    """Each member's part is its own id."""
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(each, each.encode()) for each in plan],
    )


def commit(
    offset: int = 5,
    *,
    group: str = GROUP,
    topic: str = "orders",
    partitions: tuple[int, ...] = (0,),
    member_id: str = "",
    generation: int = -1,
    topic_id: bytes = bytes(16),
    part: dict[str, Any] | None = None,
    **fields: Any,
) -> OffsetCommitRequest:
    parts = [OffsetCommitRequestPartition(index, offset, **(part or {})) for index in partitions]
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        topics=[OffsetCommitRequestTopic(topic, topic_id, parts)],
        **fields,
    )
