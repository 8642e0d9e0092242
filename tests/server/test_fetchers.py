"""A follower at work against a leader that answers as it is told to, well or badly."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from tests.raw_client import a_batch
from tests.server.house import House, MemoryConnection, content

from penstock.api import trust
from penstock.errors import ErrorCode
from penstock.metadata.records import PartitionRecord, encode, partition_key
from penstock.metadata.store import Entry, Event
from penstock.server import fetchers
from penstock.server.fetchers import Fetchers
from penstock.wire.batch import stamp
from penstock.wire.codec import Message, encode_response, request_header
from penstock.wire.messages.k01_fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.wire.messages.k17_sasl_handshake import SaslHandshakeResponse
from penstock.wire.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from penstock.world.ports import Connection, Part

LEADER = 2
SECRET = b"secret"


class LeadersEnd(MemoryConnection):
    """The connection to a leader. Its fetches wait here until the test answers them."""

    def __init__(self, secret: bytes = SECRET) -> None:
        super().__init__()
        self.fetches: deque[tuple[FetchRequest, int, int]] = deque()
        self._secret = secret
        self._hello: trust.Hello | None = None
        self._sent = bytearray()

    def send(self, parts: Sequence[Part]) -> int:
        data = b"".join(content(part) for part in parts)
        self._sent += data
        while len(self._sent) >= 4:
            end = 4 + int.from_bytes(self._sent[:4], "big")
            if len(self._sent) < end:
                break
            request = bytes(self._sent[4:end])
            del self._sent[:end]
            asyncio.get_running_loop().call_soon(self._handle, request)
        return len(data)

    def _handle(self, data: bytes) -> None:
        header, at = request_header(data)
        body, version = memoryview(data)[at:], header.api_version
        if header.api_key == FetchRequest.KEY:
            request = FetchRequest.decode(body, version)
            self.fetches.append((request, version, header.correlation_id))
        elif header.api_key == SaslAuthenticateRequest.KEY:
            proof = bytes(SaslAuthenticateRequest.decode(body, version).auth_bytes)
            self.reply(self._authenticated(proof), version, header.correlation_id)
        else:
            self.reply(SaslHandshakeResponse(0, [trust.MECHANISM]), version, header.correlation_id)

    def _authenticated(self, data: bytes) -> SaslAuthenticateResponse:
        if self._hello is not None:
            return SaslAuthenticateResponse()
        self._hello = trust.read_hello(data)
        client = trust.Client("")
        challenge = trust.answer_hello(client, self._hello, bytes(16), self._secret)
        return SaslAuthenticateResponse(auth_bytes=trust.encode(challenge))

    def reply(self, message: Message, version: int, number: int) -> None:
        if not self.is_closed:
            self.give(b"".join(content(part) for part in encode_response(message, version, number)))


class LeadersNetwork:
    """Every connection is a new one to the same leader."""

    def __init__(self) -> None:
        self.made: list[LeadersEnd] = []
        self.secret = SECRET

    async def connect(self, host: str, port: int) -> Connection:
        self.made.append(LeadersEnd(self.secret))
        return self.made[-1]


class Stage:
    """Broker 1 follows what broker 2 leads."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.network = LeadersNetwork()
        self.fetchers = Fetchers(self.network, house.door)  # type: ignore[arg-type]
        house.desk.register(LEADER)
        self.ids: dict[str, bytes] = {}

    def create(self, name: str, leader: int = LEADER, epoch: int = 0) -> bytes:
        self.ids[name] = self.house.desk.create(name)
        self.lead(name, leader, epoch)
        return self.ids[name]

    def lead(self, name: str, leader: int, epoch: int) -> None:
        """What the cluster says from now on."""
        place = self.ids[name], 0
        record = PartitionRecord(
            replicas=(1, LEADER), leader=leader, isr=(leader,), leader_epoch=epoch
        )
        image, key = self.house.desk.image, partition_key(*place)
        revision = image.revision + 1
        image.apply([Event(key, Entry(key, encode(record), revision), revision)], revision)
        self.house.broker.follow_partition(*place)
        self.fetchers.look_at([place])

    async def asked(self) -> FetchRequest:
        """The next request; it is still to be answered."""
        await self.house.settle(lambda: any(each.fetches for each in self.network.made))
        return self._waiting().fetches[0][0]

    async def asked_for(self, name: str) -> int:
        """The offset of the next request that names this topic; others get an empty answer."""
        while True:
            request = await self.asked()
            for topic in request.topics:
                if topic.topic_id == self.ids[name]:
                    return topic.partitions[0].fetch_offset
            await self.answer()

    def _waiting(self) -> LeadersEnd:
        return next(each for each in self.network.made if each.fetches)

    async def answer(self, *parts: tuple[str, PartitionData], error: int = 0) -> None:
        await self.asked()
        connection = self._waiting()
        _, version, number = connection.fetches.popleft()
        topics = [FetchableTopicResponse(topic_id=self.ids[n], partitions=[p]) for n, p in parts]
        connection.reply(
            FetchResponse(error_code=error, session_id=7, responses=topics), version, number
        )

    def end_of(self, name: str) -> int:
        return self.house.broker.follower((self.ids[name], 0)).log.end_offset

    def stored(self, name: str) -> bytes:
        log = self.house.broker.follower((self.ids[name], 0)).log
        return b"".join(segment.file.read(0, segment.size) for segment in log.segments)


@pytest.fixture
async def stage(house: House) -> AsyncIterator[Stage]:
    stage = Stage(house)
    yield stage
    await stage.fetchers.stop()


def batch_at(offset: int, *values: bytes, epoch: int = 0) -> bytes:
    batch = bytearray(a_batch(*values))
    stamp(batch, offset, epoch)  # type: ignore[arg-type]
    return bytes(batch)


def records(*batches: bytes, high_watermark: int = 0, **more: Any) -> PartitionData:
    return PartitionData(
        records=b"".join(batches), high_watermark=high_watermark, log_start_offset=0, **more
    )


async def test_what_the_leader_has_is_copied_and_told_of_once_it_is_synced(stage: Stage) -> None:
    stage.create("news")
    assert await stage.asked_for("news") == 0
    stage.house.disk.syncs.clear()
    await stage.answer(("news", records(batch_at(0, b"a", b"b"), high_watermark=1)))
    await stage.house.settle(lambda: stage.end_of("news") == 2)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not any(each.fetches for each in stage.network.made), "it is not synced yet"
    stage.house.disk.syncs.set()
    assert await stage.asked_for("news") == 2
    assert stage.house.broker.follower((stage.ids["news"], 0)).high_watermark == 1


async def test_a_partition_that_is_refused_waits_and_the_others_go_on(stage: Stage) -> None:
    stage.create("news")
    stage.create("mail")
    refused = PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await stage.house.settle(lambda: len(stage.house.broker._followers) == 2)
    await stage.asked_for("mail")
    await stage.answer(("news", refused), ("mail", records(batch_at(0, b"a"))))
    assert await stage.asked_for("mail") == 1
    stage.house.clock.time_ms += 300
    assert await stage.asked_for("news") == 0


@pytest.mark.parametrize("damage", ["crc", "cut header", "offset"])
async def test_batches_before_a_bad_one_are_kept_and_those_after_it_are_not(
    stage: Stage, damage: str
) -> None:
    """And other partitions of the same answer lose nothing by it."""
    good, later = batch_at(0, b"a", b"b"), batch_at(4, b"e")
    bad = bytearray(batch_at(2, b"c", b"d"))
    if damage == "crc":
        bad[-1] ^= 1
    elif damage == "offset":
        stamp(bad, 0, 0)  # type: ignore[arg-type]
    else:
        bad[8:12] = (20).to_bytes(4, "big")
    stage.create("mail")
    stage.create("news")
    await stage.house.settle(lambda: len(stage.house.broker._followers) == 2)
    await stage.asked_for("news")
    mail = batch_at(0, b"m" * 100)
    await stage.answer(
        ("mail", records(mail)),
        ("news", records(good, bytes(bad), later)),
    )
    stage.house.door.buffer[:] = bytes(len(stage.house.door.buffer))  # as the next to receive does
    stage.house.clock.time_ms += 300
    assert await stage.asked_for("news") == 2
    assert stage.stored("news") == good
    assert stage.stored("mail") == mail


async def test_an_answer_from_before_a_change_of_leaders_is_not_appended(stage: Stage) -> None:
    stage.create("news")
    await stage.asked_for("news")
    stage.lead("news", leader=1, epoch=1)
    await stage.answer(("news", records(batch_at(0, b"a"))))
    await asyncio.sleep(0)
    leader = stage.house.broker.leader("news", 0)
    assert (leader.log.end_offset, leader.epoch) == (0, 1)


async def test_an_answer_from_an_earlier_term_of_the_same_leader_is_not_appended(
    stage: Stage,
) -> None:
    stage.create("news")
    await stage.asked_for("news")
    stage.lead("news", leader=1, epoch=1)
    stage.lead("news", leader=LEADER, epoch=2)
    await stage.house.settle(lambda: bool(stage.house.broker._followers))
    await stage.answer(("news", records(batch_at(0, b"a"))))
    assert await stage.asked_for("news") == 0
    assert stage.end_of("news") == 0
    request = await stage.asked()
    assert request.topics[0].partitions[0].current_leader_epoch == 2


async def test_where_histories_part_the_log_is_cut_off_and_asked_for_again(stage: Stage) -> None:
    stage.create("news")
    await stage.asked_for("news")
    await stage.answer(("news", records(batch_at(0, b"a"), batch_at(1, b"b"))))
    assert await stage.asked_for("news") == 2
    parting = PartitionData(diverging_epoch=EpochEndOffset(0, 1), log_start_offset=0)
    await stage.answer(("news", parting))
    assert await stage.asked_for("news") == 1


async def test_a_leader_that_refuses_all_is_asked_again_over_a_new_connection(
    stage: Stage,
) -> None:
    stage.create("news")
    await stage.asked_for("news")
    await stage.answer(error=ErrorCode.STALE_BROKER_EPOCH)
    assert await stage.asked_for("news") == 0
    assert len(stage.network.made) == 2
    assert stage.network.made[0].is_closed


def close(connection: LeadersEnd) -> None:
    connection.is_reset = True
    assert connection.readable is not None
    connection.readable()


@pytest.mark.parametrize(
    "harm",
    [
        lambda connection: connection.give(b"\xff\xff\xff\xff"),
        lambda connection: connection.give(b"\x7f\xff\xff\xff"),
        lambda connection: connection.give(b"\x00\x00\x00\x05\x00\x00\x00\x63\x00"),
        close,
    ],
    ids=["negative length", "huge length", "other number", "closed"],
)
async def test_after_nonsense_from_a_leader_all_is_asked_for_anew(
    stage: Stage, harm: Callable[[LeadersEnd], object]
) -> None:
    stage.create("news")
    await stage.asked_for("news")
    await stage.answer(("news", records(batch_at(0, b"a"))))
    assert await stage.asked_for("news") == 1
    first = stage.network.made[0]
    first.fetches.clear()
    harm(first)
    assert await stage.asked_for("news") == 1
    request = await stage.asked()
    assert (request.session_id, request.session_epoch) == (0, 0)


async def test_a_leader_that_does_not_answer_is_asked_over_a_new_connection(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetchers, "ANSWER_MS_MAX", 1)
    stage.create("news")
    await stage.house.settle(lambda: len(stage.network.made) > 1)
    assert stage.network.made[0].is_closed


async def test_who_does_not_know_the_secret_is_asked_for_nothing(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.network.secret = b"another"
    stage.create("news")
    await stage.house.settle(lambda: len(stage.network.made) == 2)
    assert all(not each.fetches for each in stage.network.made)
    assert "does not know the secret" in caplog.text


async def test_a_log_that_cannot_be_written_is_tried_again_but_not_at_once(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    stage.create("news")
    stage.create("mail")
    await stage.house.settle(lambda: len(stage.house.broker._followers) == 2)
    stage.house.disk.full_folder = "news-0"
    await stage.asked_for("mail")
    both = [(name, records(batch_at(0, b"a"))) for name in ("news", "mail")]
    await stage.answer(*both)
    assert await stage.asked_for("mail") == 1
    assert "news-0 waits" in caplog.text
    assert stage.end_of("news") == 0
    stage.house.disk.full_folder = ""
    stage.house.broker.disk_is_full = False
    stage.house.clock.time_ms += 1100
    await stage.answer()
    assert await stage.asked_for("news") == 0
    await stage.answer(("news", records(batch_at(0, b"a"))))
    assert await stage.asked_for("news") == 1
