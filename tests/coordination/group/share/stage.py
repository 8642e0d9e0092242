"""A coordinator of share groups without a broker: turns are decided, written as bytes, read and
applied. After each of them memory is what a replay of the log would be."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar

from tests.coordination.group.consumer.stage import CountingChance

from penstock.config import BrokerConfig
from penstock.coordination.group import protocols
from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.groups import Group, Groups
from penstock.coordination.group.protocols import Found
from penstock.coordination.group.share import shares
from penstock.coordination.group.share.heartbeat import heartbeat
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.turn import Event, Turn
from penstock.metadata import store
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import OFFSETS
from penstock.metadata.records import (
    ConfigRecord,
    Record,
    TopicRecord,
    ViewRecord,
    encode,
    group_config_key,
    topic_key,
    view_key,
)
from penstock.wire.messages.k76_share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from penstock.wire.stored_codec import decode_key, decode_value

R = TypeVar("R")

NAME = "jobs"
NOW_MS = 1_750_000_000_000
HOST = "/192.0.2.7"


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
        self.wake_ms: float | None = None

    # -- topics

    def create(self, name: str, partitions: int) -> bytes:
        return self._set_topic(name, self.chance.uuid(), partitions)

    def grow(self, name: str, partitions: int) -> None:
        self._set_topic(name, self.image.topics[name].id, partitions)

    def delete(self, name: str) -> None:
        self._change(topic_key(name), None)
        self._tell(name)

    def create_view(self, name: str, of: str) -> None:
        record = ViewRecord(
            name=name,
            view_id=self.chance.uuid(),
            source_id=self.image.topics[of].id,
            where="key = 'a'",
            created_ms=NOW_MS,
        )
        self._change(view_key(name), encode(record))

    def configure(self, **configs: str) -> None:
        texts = {name.replace("_", "."): text for name, text in configs.items()}
        self._change(group_config_key(NAME), encode(ConfigRecord(configs=texts)))

    def _set_topic(self, name: str, topic_id: bytes, partitions: int) -> bytes:
        record: Record = TopicRecord(
            name=name,
            topic_id=topic_id,
            partitions=partitions,
            replication_factor=1,
            created_ms=NOW_MS,
        )
        self._change(topic_key(name), encode(record))
        self._tell(name)
        return topic_id

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
    def body(self) -> ShareGroup:
        assert isinstance(self.group.body, ShareGroup)
        return self.group.body

    def run(self, decide: Callable[[Turn, Group], R]) -> R:
        now_ms = NOW_MS + int(self.time_ms)
        turn = Turn(self.config, self.image, self.chance, now_ms, self.time_ms)
        try:
            answer = decide(turn, self.group)
            self._write(turn)
        finally:
            if self.group.is_forgotten:
                self.groups.remove(NAME)
        if turn.wake_ms is not None:
            self.wake_ms = min(turn.wake_ms, self.wake_ms or turn.wake_ms)
        self._check_replay()
        return answer

    def _write(self, turn: Turn) -> None:
        self.written = turn.events
        for event in turn.events:
            raw, value = event.encoded()
            self.log.pop(raw, None)
            self.log[raw] = value
        turn.apply(lambda event: self.groups.apply(_read(*event.encoded())))

    def _check_replay(self) -> None:
        there, again = self.groups, self._replayed()
        for name in {NAME, *there.at_work, *again.at_work}:
            mine, other = (each.get(name) or Group(name) for each in (there, again))
            assert _facts(mine) == _facts(other)
        assert there.at_work == again.at_work

    def _replayed(self) -> Groups:
        groups = Groups()
        for raw, value in self.log.items():
            groups.apply(_read(raw, value))
        return groups

    # -- what members do

    def beat(self, member_id: str, epoch: int, **fields: Any) -> ShareGroupHeartbeatResponse:
        request = ShareGroupHeartbeatRequest(NAME, member_id, epoch, **fields)
        return self.run(lambda turn, group: heartbeat(turn, group, request, "client", HOST))

    def join(self, member_id: str, *topics: str) -> ShareGroupHeartbeatResponse:
        return self.beat(member_id, 0, subscribed_topic_names=list(topics))

    def meet(self, member_id: str) -> Assignment:
        """A heartbeat of a member that is where it was told to be, and what it has after that."""
        self.beat(member_id, self.body.members[member_id].epoch)
        return self.body.members[member_id].holding.assigned

    # -- what is done for it

    def initialize(self) -> list[tuple[bytes, int, int]]:
        """Set up all shares that are waited for, and say which and where."""
        asked = list(self.body.begun.to_initialize())
        done: dict[bytes, frozenset[int]] = {}
        for topic_id, partition, _ in asked:
            done[topic_id] = done.get(topic_id, frozenset()) | {partition}
        self.run(lambda turn, group: shares.initialized(turn, group, done))
        return asked

    def forget(self, topic_ids: Collection[bytes]) -> None:
        self.run(lambda turn, group: shares.deleted(turn, group, topic_ids))

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
        self.run(lambda turn, group: protocols.begin(turn, group, Found()))


def told(answer: ShareGroupHeartbeatResponse) -> dict[bytes, set[int]] | None:
    """None where the answer leaves it as it was."""
    if answer.assignment is None:
        return None
    return {each.topic_id: set(each.partitions) for each in answer.assignment.topic_partitions}


def _facts(group: Group) -> Any:
    """All that is stored."""
    body = group.body
    if not isinstance(body, ShareGroup):
        return type(body)
    epochs = body.epoch, body.target_epoch, body.metadata_hash
    return body.members, body.target, epochs, body.begun, body.names


def _read(raw: bytes, value: bytes | None) -> Event:
    key = decode_key(raw, OFFSETS)
    assert key is not None
    return Event(key, None if value is None else decode_value(key, value))
