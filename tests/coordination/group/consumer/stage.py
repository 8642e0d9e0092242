"""A coordinator without a broker, for tests: turns are decided, written as bytes, read and applied.
After each of them memory is what a replay of the log would be.

Time is moved by hand. At any moment the coordinator can be lost and loaded again from what a
compacted log would have kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from tests.coordination.group.consumer.replay import check_replay

from penstock.config import BrokerConfig
from penstock.coordination.group import protocols
from penstock.coordination.group.assignors import at_once
from penstock.coordination.group.consumer.heartbeat import heartbeat
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.groups import Group, Groups
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Answer, Event, Turn
from penstock.metadata import store
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import OFFSETS
from penstock.metadata.records import ConfigRecord, TopicRecord, encode, group_config_key, topic_key
from penstock.wire.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from penstock.wire.stored_codec import decode_key, decode_value

R = TypeVar("R")

NAME = "readers"
NOW_MS = 1_750_000_000_000
REPLAYED_MAX = 100
HOST = "/192.0.2.7"


class CountingChance:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def uuid(self) -> bytes:
        return next(self._numbers).to_bytes(16, "big")

    def below(self, limit: int) -> int:
        return next(self._numbers) % limit


class Stage:
    def __init__(self, **settings: Any) -> None:
        self.config = replace(BrokerConfig(), **settings)
        self.image = Image()
        self.chance = CountingChance()
        self.groups = Groups()
        self.time_ms = 1_000.0
        self.log: dict[bytes, bytes | None] = {}
        """The last value of each key, in the order in which they were written."""
        self.written: list[Event] = []
        """By the last turn."""
        self.answers: list[Answer] = []
        self.wake_ms: float | None = None
        self.is_tampered_with = False
        """A test has put into memory what is in no log."""
        self.on_answer: Callable[[Any, Any], None] = lambda reply, answer: None
        """Told of answers to requests that have been waiting."""

    # -- topics

    def create(self, name: str, partitions: int) -> bytes:
        return self._set_topic(name, self.chance.uuid(), partitions)

    def grow(self, name: str, partitions: int) -> None:
        self._set_topic(name, self.image.topics[name].id, partitions)

    def delete(self, name: str) -> None:
        self._change(topic_key(name), None)
        self._tell(name)

    def _set_topic(self, name: str, topic_id: bytes, partitions: int) -> bytes:
        record = TopicRecord(
            name=name,
            topic_id=topic_id,
            partitions=partitions,
            replication_factor=1,
            created_ms=NOW_MS,
        )
        self._change(topic_key(name), encode(record))
        self._tell(name)
        return topic_id

    def configure(self, **configs: str) -> None:
        texts = {name.replace("_", "."): text for name, text in configs.items()}
        self._change(group_config_key(NAME), encode(ConfigRecord(configs=texts)))

    def _change(self, key: str, value: bytes | None) -> None:
        revision = self.image.revision + 1
        entry = None if value is None else store.Entry(key, value, revision)
        self.image.apply([store.Event(key, entry, revision)], revision)

    def _tell(self, topic: str) -> None:
        if self.groups.get(NAME):
            self.run(lambda turn, group: protocols.topics_changed(turn, group, [topic]))

    # -- turns

    @property
    def group(self) -> Group:
        return self.groups.get_or_add(NAME)

    @property
    def body(self) -> Consumer:
        assert isinstance(self.group.body, Consumer)
        return self.group.body

    def run(self, decide: Callable[[Turn, Group], R], reply: object = None) -> R:
        turn = Turn(
            self.config, self.image, self.chance, NOW_MS + int(self.time_ms), self.time_ms, reply
        )
        answer = decide(turn, self.group)
        self.written = turn.events
        self.answers = list(turn.answers)
        for event in turn.events:
            raw, value = event.encoded()
            self.log.pop(raw, None)
            self.log[raw] = value
        if turn.events:
            turn.apply(lambda event: self.groups.apply(_read(*event.encoded())))
        if turn.wake_ms is not None:
            self.wake_ms = min(turn.wake_ms, self.wake_ms or turn.wake_ms)
        if self.group.is_forgotten:
            self.groups.remove(NAME)
        for waiting, late in self.answers:
            self.on_answer(waiting, late)
        self._check_deadlines()
        self._check_replay(turn)
        return answer

    def _check_replay(self, turn: Turn) -> None:
        """Of a group of many only where it becomes another one: that takes long."""
        is_handed_on = any(event.ready is not None for event in turn.events)
        if self.is_tampered_with or not turn.events:
            return
        if is_handed_on or len(self.log) <= REPLAYED_MAX:
            check_replay(self.groups.get(NAME) or Group(NAME), self._replayed())

    def _replayed(self) -> Groups:
        groups = Groups()
        for raw, value in self.log.items():
            groups.apply(_read(raw, value))
        return groups

    def _check_deadlines(self) -> None:
        """Whatever has happened, nobody's time is up before the group is looked at for that."""
        group = self.groups.get(NAME)
        if group is not None and isinstance(group.body, Consumer):
            for each in (group.body.sessions, group.body.rebalances):
                assert all(group.body.due_ms <= due_ms for due_ms in each.values())

    def beat(self, member_id: str, epoch: int, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(NAME, member_id, epoch, **fields)
        return self.run(lambda turn, group: heartbeat(turn, group, request, "client", HOST))

    def join(self, member_id: str, *topics: str, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        fields.setdefault("rebalance_timeout_ms", 30_000)
        fields.setdefault("topic_partitions", [])
        fields.setdefault("subscribed_topic_names", list(topics))
        return self.beat(member_id, 0, **fields)

    def pass_ms(self, ms: float) -> None:
        """Time passes, and the group is looked at whenever it has asked for that."""
        end_ms = self.time_ms + ms
        for _ in range(1_000):
            if self.wake_ms is None or self.wake_ms > end_ms:
                break
            self.time_ms, self.wake_ms = max(self.time_ms, self.wake_ms), None
            self.run(protocols.expire)
        else:
            raise AssertionError("the group asks to be looked at without end")
        self.time_ms = end_ms

    def reload(self, *, keeps_ends: bool = True) -> None:
        """Another coordinator takes over. Ends may have been dropped from the log by now."""
        if not keeps_ends:
            self.log = {key: value for key, value in self.log.items() if value is not None}
        self.groups, self.wake_ms = self._replayed(), None
        found = at_once(protocols.look_at(self.image, self.group, Pace()))
        self.run(lambda turn, group: protocols.begin(turn, group, found))


def _read(raw: bytes, value: bytes | None) -> Event:
    key = decode_key(raw, OFFSETS)
    assert key is not None
    return Event(key, None if value is None else decode_value(key, value))
