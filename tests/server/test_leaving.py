"""What becomes of a log whose partition others hold now, by what their leader says of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.server.house import House
from tests.server.test_fetchers import LEADER, LeadersEnd

from penstock.errors import ErrorCode
from penstock.metadata.records import PartitionRecord, encode, partition_key
from penstock.metadata.store import Entry, Event
from penstock.server import leaving
from penstock.server.leaving import Leaving
from penstock.wire.codec import request_header
from penstock.wire.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from penstock.world.ports import Connection


class Network:
    """To a leader that is away, or answers with where its history of epoch 0 ends."""

    def __init__(self) -> None:
        self.answer: EpochEndOffset | None = None
        self.tries = 0

    async def connect(self, host: str, port: int) -> Connection:
        self.tries += 1
        if self.answer is None:
            raise ConnectionRefusedError("nobody is there")
        return AskedEnd(self.answer)


class AskedEnd(LeadersEnd):
    def __init__(self, answer: EpochEndOffset) -> None:
        super().__init__()
        self._answer = answer

    def _handle(self, data: bytes) -> None:
        header, _ = request_header(data)
        if header.api_key != OffsetForLeaderEpochRequest.KEY:
            super()._handle(data)
            return
        topic = OffsetForLeaderTopicResult("news", [self._answer])
        answer = OffsetForLeaderEpochResponse(topics=[topic])
        self.reply(answer, header.api_version, header.correlation_id)


class Stage:
    """Broker 1 has three committed records of a partition that broker 2 leads alone by now."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.network = Network()
        self.doomed: list[str] = []
        self.leaving = Leaving(self.network, house.door, self._remove)  # type: ignore[arg-type]
        house.desk.register(LEADER)
        self.place = house.desk.create("news"), 0
        house.desk.append("news", count=3)

    def _remove(self) -> None:
        self.doomed += self.house.broker.log_dir.folders.take_doomed()

    def leave(self) -> None:
        record = PartitionRecord(replicas=(LEADER,), leader=LEADER, isr=(LEADER,), leader_epoch=1)
        image, key = self.house.desk.image, partition_key(*self.place)
        revision = image.revision + 1
        image.apply([Event(key, Entry(key, encode(record), revision), revision)], revision)
        self.house.broker.follow_partition(*self.place)
        self.leaving.look_at([self.place])

    def told(self, end: int, error: ErrorCode = ErrorCode.NONE) -> None:
        self.network.answer = EpochEndOffset(error, 0, 0, end)

    async def gone(self) -> None:
        await self.house.settle(lambda: not self.house.broker.has_left(self.place))

    def folders(self) -> list[str]:
        return [each.name for each in Path(self.house.desk.log_dir.path).glob("news-*")]


@pytest.fixture
async def stage(house: House, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setattr(leaving, "RETRY_MS", 1)
    stage = Stage(house)
    yield stage
    await stage.leaving.stop()


async def test_what_the_leader_has_goes(stage: Stage) -> None:
    stage.told(end=3)
    stage.leave()
    await stage.gone()
    await stage.house.settle(lambda: bool(stage.doomed))
    (folder,) = stage.doomed
    assert folder.endswith("-delete")


async def test_what_the_leader_never_got_is_set_aside(stage: Stage) -> None:
    stage.told(end=0)
    stage.leave()
    await stage.gone()
    (name,) = stage.folders()
    assert name.startswith("news-0.")
    assert name.endswith("-stray")
    assert not stage.doomed


@pytest.mark.parametrize("error", [None, ErrorCode.UNKNOWN_LEADER_EPOCH])
async def test_what_is_left_stays_until_the_leader_can_be_asked(
    stage: Stage, error: ErrorCode | None
) -> None:
    if error is not None:
        stage.told(end=-1, error=error)
    stage.leave()
    await stage.house.settle(lambda: stage.network.tries > (2 if error is None else 0))
    assert stage.folders() == ["news-0"]
    stage.told(end=3)
    if error is not None:
        stage.leaving._asking.close()  # the next try comes by another connection
    await stage.gone()


async def test_who_has_come_back_keeps_its_log(stage: Stage) -> None:
    stage.leave()
    await stage.house.settle(lambda: stage.network.tries > 0)
    image, key = stage.house.desk.image, partition_key(*stage.place)
    record = PartitionRecord(replicas=(LEADER, 1), leader=LEADER, isr=(LEADER,), leader_epoch=1)
    revision = image.revision + 1
    image.apply([Event(key, Entry(key, encode(record), revision), revision)], revision)
    stage.told(end=0)
    await stage.house.settle(lambda: not stage.leaving._places)
    assert stage.folders() == ["news-0"]
