"""Asks one broker's handlers directly: no sockets, and metadata kept in memory.

Requests and answers go through the codec in the version that is asked for, so what a version cannot
say is missing here as well.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Change, Resume
from penstock.api.table import APIS, answered
from penstock.config import BROKER_SETTINGS, BrokerConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.log_dir import LogDir
from penstock.metadata.changes import Commit, create_topic
from penstock.metadata.cluster_changes import found_cluster, join, register_broker
from penstock.metadata.features import SUPPORTED
from penstock.metadata.image import Image
from penstock.metadata.records import BrokerRecord, encode, partition_key
from penstock.metadata.store import Entry, Event, Put
from penstock.metadata.terms import begin_term, take_lease
from penstock.metadata.topic_settings import shared
from penstock.server.steps import carry_out, wait_on
from penstock.server.syncer import Syncer
from penstock.settings import read_settings
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import build_batch
from penstock.wire.codec import Message
from penstock.wire.records import Record
from penstock.world.ports import FileRange
from penstock.world.real import RealClock
from penstock.world.real_disk import RealDisk

T = TypeVar("T")

NODE_ID = 1
NOW_MS = 1_750_000_000_000
CLUSTER_ID = "a-cluster-for-tests-xx"


class CountingChance:
    """Ids that are never the same, and the same in every run."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def uuid(self) -> bytes:
        return next(self._numbers).to_bytes(16, "big")

    def below(self, limit: int) -> int:
        return next(self._numbers) % limit


class Desk:
    def __init__(self, disk: RealDisk, folder: Path, texts: dict[str, str]) -> None:
        self.disk = disk
        texts = {"node.id": str(NODE_ID), "log.dir": str(folder), **texts}
        own = {name: text for name, text in texts.items() if name in BROKER_SETTINGS}
        config = read_settings(BrokerConfig, BROKER_SETTINGS, own)
        self.image = Image(NODE_ID, texts)
        self.commits: list[Commit[Any]] = []
        self.log_dir = LogDir(disk, str(folder), cluster_id=CLUSTER_ID, node_id=NODE_ID)
        self.chance = CountingChance()
        self.broker = Broker(
            config,
            self.image,
            self.log_dir,
            disk,
            self.chance,
            RealClock(),
            answered(),
            in_steps=partial(carry_out, partial(wait_on, disk, syncer=Syncer(disk, print))),
        )
        self._texts = texts
        self._revisions: dict[str, int] = {}
        self.change(lambda image: found_cluster(image, CLUSTER_ID, b"secret", shared(texts)))
        self.register(NODE_ID)
        self.change(lambda image: take_lease(image, NODE_ID, "session"))
        self.change(lambda image: begin_term(image, NODE_ID, "session"))
        self.commits.clear()

    def change(self, decide: Any) -> Any:
        """What the keeper does, with one broker alone: decide, check, write, replay."""
        commit = decide(self.image)
        if not commit.puts and not commit.deletes:
            return commit.answer
        for key, expected in commit.checks:
            assert self._revisions.get(key, 0) == expected, key
        self._write(commit.ahead, (), None)
        self._write(commit.puts, commit.deletes, commit.session)
        self._write((), commit.behind, None)
        self.commits.append(commit)
        return commit.answer

    def _write(self, puts: Sequence[Put], deletes: Sequence[str], session: str | None) -> None:
        revision = self.image.revision + 1
        events = [Event(key, None, revision) for key in deletes]
        for key, value in puts:
            events.append(Event(key, Entry(key, value, revision, session), revision))
        for event in events:
            self._revisions[event.key] = revision if event.entry else 0
        self.image.apply(events, revision)

    def register(self, node_id: int, host: str = "broker.test", rack: str = "") -> None:
        record = BrokerRecord(
            node_id=node_id, host=host, port=9092, rack=rack, features=dict(SUPPORTED)
        )
        self.change(lambda image: join(image, node_id, b""))
        self.change(lambda image: register_broker(image, record, "session"))

    def new_term(self, topic: str, index: int = 0) -> None:
        """The partition's leader is elected anew."""
        known = self.image.topics[topic]
        record = known.partition(index)
        assert record is not None
        again = msgspec.structs.replace(record, leader_epoch=record.leader_epoch + 1)
        put = partition_key(known.id, index), encode(again)
        self.change(lambda image: Commit(None, puts=[put]))

    def restart(self) -> Desk:
        """The same broker after a clean stop, with the metadata that it had."""
        self.log_dir.close()
        again = Desk(self.disk, Path(self.log_dir.path), self._texts)
        for key, record, revision in self.image.held():
            entry = Entry(key, encode(record), revision)
            again.image.apply([Event(key, entry, revision)], self.image.revision)
            again._revisions[key] = revision
        for topic in again.image.topics.values():
            for index in range(topic.record.partitions):
                if again.log_dir.has_folder(topic.name, index):
                    config = again.image.settings.of_topic(topic)
                    again.log_dir.log_for(topic.name, index, topic.log_id(index), config)
        self.log_dir = again.log_dir
        return again

    def create(self, name: str, partitions: int = 1, replication: int = 1, **configs: str) -> bytes:
        """Settings are given with underscores in place of dots; the topic's id."""
        topic_id = self.chance.uuid()
        self.change(
            lambda image: create_topic(
                image,
                name,
                topic_id=topic_id,
                now_ms=NOW_MS,
                partitions=partitions,
                replication=replication,
                configs={key.replace("_", "."): value for key, value in configs.items()},
            )
        )
        return topic_id

    def append(self, topic: str, index: int = 0, *, count: int = 1, **batch: Any) -> None:
        """Records of one batch, a millisecond apart, in the log and committed."""
        leader = self.broker.leader(topic, index)
        first_ms = batch.pop("first_ms", NOW_MS)
        records = [Record(n, first_ms + n, b"key", b"value") for n in range(count)]
        built = build_batch(records, **batch)
        leader.log.append(built, read_header(memoryview(built)), NOW_MS, leader.epoch)
        leader.log.write_out()
        leader.log.end_sync(leader.log.begin_sync())
        leader.advance()

    def ask(self, request: Message, version: int | None = None) -> Any:
        """The answer, once all that it waits for has been done."""
        call = self.call(request, version)
        try:
            outcome = call.api.handler(self.broker, call.request, call)
            while isinstance(outcome, Change | Resume):
                if isinstance(outcome, Resume):
                    outcome = outcome.then(asyncio.run(_awaited(outcome)))
                else:
                    outcome = self._changed(outcome)
        except Refused as refused:
            outcome = call.failure(refused)
        return self.decoded(outcome, call.version)

    def _changed(self, change: Change[Any]) -> Any:
        try:
            answer = self.change(change.decide)
        except Refused as refused:
            if change.otherwise is None:
                raise
            return change.otherwise(refused)
        return change.then(answer)

    async def ask_and_wait(self, request: Message, version: int | None = None) -> Any:
        """For what has work to do off the loop before it can answer."""
        call = self.call(request, version)
        outcome = call.api.handler(self.broker, call.request, call)
        while isinstance(outcome, Resume):
            outcome = outcome.then(await outcome.work())
        return self.decoded(outcome, call.version)

    def call(self, request: Message, version: int | None = None) -> Call:
        api = APIS[request.KEY]
        version = api.versions.max if version is None else version
        sent = api.request.decode(memoryview(bytearray(request.encode(version))), version)
        return Call(api, version, 1, "test", "peer", NOW_MS, sent)

    @staticmethod
    def decoded(answer: Message, version: int) -> Any:
        parts = [
            part.file.read(part.position, part.length) if isinstance(part, FileRange) else part
            for part in answer.encode_parts(version)
        ]
        return type(answer).decode(memoryview(b"".join(parts)), version)


def refuse_second_change(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the store falls silent in the middle of a request."""
    change, tries = desk.change, itertools.count(1)

    def refusing(decide: Any) -> Any:
        if next(tries) == 2:
            raise Refused(ErrorCode.REQUEST_TIMED_OUT, "the store is busy")
        return change(decide)

    monkeypatch.setattr(desk, "change", refusing)


async def _awaited(resume: Resume[Any]) -> Any:
    return await resume.work()
