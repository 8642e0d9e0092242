"""A coordinator of shares without a broker: turns are decided, and appended as bytes. At any moment
it can be lost, and another one loads what is in the log; compaction may have been there before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from tests.api.desk import CountingChance

from penstock.config import BrokerConfig
from penstock.coordination.loading import Gathered
from penstock.coordination.share import deciding
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import Share, Shares, State, Summary
from penstock.coordination.turn import Event, Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import create_topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import SHARES
from penstock.metadata.records import BrokerRecord, broker_key, encode
from penstock.metadata.store import Entry
from penstock.metadata.store import Event as StoreEvent
from penstock.wire.batch import Offset, stamp
from penstock.wire.batch_builder import build_batch
from penstock.wire.delivery import StateBatch
from penstock.wire.records import Record
from penstock.wire.stored_codec import decode_key, decode_value

R = TypeVar("R")

NOW_MS = 1_750_000_000_000
TOPIC_ID = bytes(range(16))
KEY = ShareKey("jobs", TOPIC_ID, 0)
PARTITIONS = 2


class Stage:
    def __init__(self, **settings: Any) -> None:
        self.config = replace(BrokerConfig(), **settings)
        self.image = image_with_topic()
        self.chance = CountingChance()
        self.kept = Shares()
        self.now_ms = NOW_MS
        self.log: list[list[tuple[bytes, bytes | None]]] = []

    @property
    def share(self) -> Share:
        return self.kept.get_or_add(KEY.name)

    @property
    def state(self) -> State | None:
        return self.share.state

    def run(self, decide: Callable[[Turn, Share], R], key: ShareKey = KEY) -> R:
        share = self.kept.get_or_add(key.name)
        turn = Turn(self.config, self.image, self.chance, self.now_ms, 0.0)
        try:
            answer = decide(turn, share)
            if turn.events:
                self.log.append([event.encoded() for event in turn.events])
            for raw, value in self.log[-1] if turn.events else ():
                self.kept.apply(_read(raw, value))
        finally:
            if share.is_forgotten:
                self.kept.remove(share.name)
        return answer

    def reload(self) -> None:
        """Another coordinator takes over, which reads the log as loading does."""
        gathered = Gathered()
        for number, records in enumerate(self.log):
            batch = build_batch([Record(at, NOW_MS, *each) for at, each in enumerate(records)])
            stamp(batch, Offset(10 * number), 0)
            gathered.add(memoryview(batch))
        self.kept = Shares()
        for raw, value in gathered.latest.items():
            self.kept.apply(_read(raw, value))

    def compact(self) -> None:
        """Of each key only the last record stays."""
        latest = {raw: number for number, records in enumerate(self.log) for raw, _ in records}
        self.log = [
            kept
            for number, records in enumerate(self.log)
            if (kept := [each for each in records if latest[each[0]] == number])
        ]

    # -- what is asked for

    def initialize(self, state_epoch: int = 0, start_offset: int = 0) -> None:
        self.run(lambda turn, one: deciding.initialize(turn, one, state_epoch, start_offset))

    def read(self, leader_epoch: int = 0) -> State:
        return self.run(lambda turn, one: deciding.read(turn, one, leader_epoch))

    def write(
        self,
        *batches: StateBatch,
        start: int = -1,
        count: int = -1,
        state_epoch: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        written = Written(state_epoch, leader_epoch, start, count, batches)
        self.run(lambda turn, one: deciding.write(turn, one, written))

    def delete(self) -> None:
        self.run(deciding.delete)

    def summary(self) -> Summary:
        return self.run(deciding.summary)


def refusal(call: Callable[[], object]) -> ErrorCode:
    try:
        call()
    except Refused as refused:
        return refused.code
    return ErrorCode.NONE


def image_with_topic() -> Image:
    image = Image()
    put(image, broker_key(1), encode(BrokerRecord(1, "h", 1)))
    commit = create_topic(
        image, "orders", topic_id=TOPIC_ID, now_ms=NOW_MS, partitions=PARTITIONS, replication=1
    )
    for key, value in (*commit.ahead, *commit.puts):
        put(image, key, value)
    return image


def put(image: Image, key: str, value: bytes | None) -> None:
    revision = image.revision + 1
    entry = None if value is None else Entry(key, value, revision)
    image.apply([StoreEvent(key, entry, revision)], revision)


def _read(raw: bytes, value: bytes | None) -> Event:
    key = decode_key(raw, SHARES)
    assert key is not None
    return Event(key, None if value is None else decode_value(key, value))
