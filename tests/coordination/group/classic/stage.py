"""A coordinator of classic groups without a broker: turns are decided, written as bytes, read, and
applied. Time is moved by hand, and at any moment the coordinator can be lost and loaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tests.api.desk import CountingChance

from penstock.config import BrokerConfig
from penstock.coordination.group import protocols
from penstock.coordination.group.assignors import at_once
from penstock.coordination.group.classic import leaving, syncing
from penstock.coordination.group.classic.joining import Joiner, join
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.groups import Group, Groups
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Event, Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import OFFSETS
from penstock.wire.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.wire.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored_codec import decode_key, decode_value, encode_key, encode_value

NAME = "readers"
NOW_MS = 1_750_000_000_000
SESSION_MS, REBALANCE_MS, DELAY_MS = 10_000, 60_000, 3_000
NEW_MEMBER_MS = 300_000

Protocols = Mapping[str, bytes]


def reads(*topics: str, user_data: bytes = b"") -> bytes:
    """What a consumer says of itself."""
    return encode_value(ConsumerProtocolSubscription(list(topics), user_data), 0)


RANGE: Protocols = {"range": reads("orders")}


class Reply:
    """Whoever has asked something: what it was told, once it was."""

    def __init__(self) -> None:
        self.answer: Any = None
        self.code = ErrorCode.NONE
        self.is_waiting = True

    def give(self, answer: Any, code: int) -> None:
        assert self.is_waiting, "answered twice"
        self.answer, self.code, self.is_waiting = answer, ErrorCode(code), False

    @property
    def member_id(self) -> str:
        member_id: str = self.answer.member_id
        return member_id


class Stage:
    def __init__(self, **settings: Any) -> None:
        settings.setdefault("group_initial_rebalance_delay_ms", DELAY_MS)
        self.config = replace(BrokerConfig(), **settings)
        self.image = Image()
        self.chance = CountingChance()
        self.groups = Groups()
        self.time_ms = 1_000.0
        self.log: dict[bytes, bytes | None] = {}
        """The last value of each key, in the order in which they were written."""
        self.written: list[Event] = []
        """By the last turn."""
        self.waiting: dict[Reply, None] = {}
        self.phases: list[str] = []
        """That the group was seen in, after each turn."""
        self.disk_fails = False

    @property
    def group(self) -> Group:
        return self.groups.get_or_add(NAME)

    @property
    def body(self) -> Classic:
        assert isinstance(self.group.body, Classic)
        return self.group.body

    # -- turns

    def turn(self, reply: Reply | None = None) -> Turn:
        now_ms = NOW_MS + int(self.time_ms)
        return Turn(self.config, self.image, self.chance, now_ms, self.time_ms, reply)

    def run(self, decide: Callable[[Turn, Group], Any], reply: Reply | None = None) -> Any:
        """Carry out a turn as a shard does; the answer, if there is one by then."""
        group, turn = self.group, self.turn(reply)
        try:
            answer = decide(turn, group)
        except Refused:
            if group.is_forgotten:
                self.groups.remove(NAME)
            raise
        self.written = turn.events
        if turn.events and self.disk_fails:
            self.reload()
            raise Refused(ErrorCode.NOT_COORDINATOR, "the disk has failed")
        for event in turn.events:
            self._write(event)
        if turn.wake_ms is not None:
            group.wake_ms = min(turn.wake_ms, group.wake_ms or turn.wake_ms)
        for waiting, late in turn.answers:
            assert isinstance(waiting, Reply)
            self.waiting.pop(waiting, None)
            waiting.give(late, late.error_code)
        self.phases.append(self.body.phase.name)
        if group.is_forgotten:
            self.groups.remove(NAME)
        return answer

    def _write(self, event: Event) -> None:
        raw = encode_key(event.key)
        value = None if event.value is None else encode_value(event.value, event.version)
        self.log.pop(raw, None)
        self.log[raw] = value
        self.groups.apply(_read(raw, value))

    def ask(self, decide: Callable[[Turn, Group], Any]) -> Reply:
        """A request; its reply may have to wait."""
        reply = Reply()
        self.waiting[reply] = None
        try:
            answer = self.run(decide, reply)
        except Refused as refused:
            if reply.is_waiting:
                self._answer(reply, None, refused.code)
            return reply
        if answer is not None:
            self._answer(reply, answer, answer.error_code)
        return reply

    def _answer(self, reply: Reply, answer: Any, code: int) -> None:
        self.waiting.pop(reply, None)
        reply.give(answer, code)

    def wait(self, ms: float) -> None:
        """Time passes, and the group is looked at whenever it has asked for that."""
        end_ms = self.time_ms + ms
        for _ in range(1_000):
            group = self.groups.get(NAME)
            if group is None or group.wake_ms is None or group.wake_ms > end_ms:
                break
            self.time_ms, group.wake_ms = max(self.time_ms, group.wake_ms), None
            with suppress(Refused):  # the disk has failed
                self.run(protocols.expire)
        else:
            raise AssertionError("the group asks to be looked at without end")
        self.time_ms = end_ms

    def reload(self) -> None:
        """Another coordinator takes over. Who waits is told, and the round that went on is lost."""
        for reply in list(self.waiting):
            self._answer(reply, None, ErrorCode.NOT_COORDINATOR)
        self.groups, self.disk_fails = Groups(), False
        for raw, value in self.log.items():
            self.groups.apply(_read(raw, value))
        if self.groups.get(NAME):
            found = at_once(protocols.look_at(self.image, self.group, Pace()))
            self.run(lambda turn, group: protocols.begin(turn, group, found))

    # -- what members ask

    def join(
        self,
        member_id: str = "",
        protocols: Protocols = RANGE,
        *,
        instance: str | None = None,
        kind: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        id_first: bool = False,
        can_skip: bool = True,
    ) -> Reply:
        proposed = [JoinGroupRequestProtocol(name, data) for name, data in protocols.items()]
        request = JoinGroupRequest(
            NAME, session_ms, rebalance_ms, member_id, instance, kind, proposed
        )
        joiner = Joiner("client", "/192.0.2.7", id_first, can_skip)
        return self.ask(lambda turn, group: join(turn, group, self.body, request, joiner))

    def sync(
        self,
        joined: Reply,
        plan: Mapping[str, bytes] | None = None,
        *,
        instance: str | None = None,
        **fields: Any,
    ) -> Reply:
        """With a plan, if it is the leader's."""
        parts = [SyncGroupRequestAssignment(who, part) for who, part in (plan or {}).items()]
        request = SyncGroupRequest(
            group_id=NAME,
            generation_id=fields.pop("generation", joined.answer.generation_id),
            member_id=joined.member_id,
            group_instance_id=instance,
            assignments=parts,
            **fields,
        )
        return self.ask(lambda turn, group: syncing.sync(turn, group, self.body, request))

    def heartbeat(
        self, member_id: str, generation: int | None = None, *, instance: str | None = None
    ) -> ErrorCode:
        generation = self.body.generation if generation is None else generation
        return self._code(
            lambda turn, group: syncing.heartbeat(turn, self.body, member_id, instance, generation)
        )

    def leave(self, member_id: str, *, instance: str | None = None) -> ErrorCode:
        return self._code(
            lambda turn, group: leaving.leave(turn, group, self.body, member_id, instance)
        )

    def commit(self, member_id: str, generation: int, *, instance: str | None = None) -> ErrorCode:
        return self._code(
            lambda turn, group: protocols.check_may_commit(
                turn, group, member_id, instance, generation
            )
        )

    def _code(self, decide: Callable[[Turn, Group], None]) -> ErrorCode:
        try:
            self.run(decide)
        except Refused as refused:
            return refused.code
        return ErrorCode.NONE

    # -- groups that have settled

    def settle(self, count: int = 1, *, instances: tuple[str, ...] = ()) -> list[str]:
        """A stable group of so many members, static ones last; their ids, the leader's first."""
        names: list[str | None] = [*[None] * count, *instances]
        joined = [self.join(instance=name) for name in names]
        self.wait(DELAY_MS)
        return self.plan(joined)

    def plan(self, joined: list[Reply]) -> list[str]:
        """Everyone who has joined syncs; each part of the plan is its member's id."""
        joined = sorted(joined, key=lambda each: not leads(each))
        ids = [each.member_id for each in joined]
        for each in [*joined[1:], joined[0]]:
            self.sync(each, {who: who.encode() for who in ids} if leads(each) else None)
        assert self.body.phase.name == "STABLE"
        return ids


def leads(joined: Reply) -> bool:
    return bool(joined.answer.leader == joined.answer.member_id)


def _read(raw: bytes, value: bytes | None) -> Event:
    key = decode_key(raw, OFFSETS)
    assert key is not None
    return Event(key, None if value is None else decode_value(key, value))
