"""A door with share groups behind it. Their coordinators are in memory: they decide as real ones
do, and a test says when they answer, and what."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.coordination.share.stage import Stage
from tests.raw_client import frame_of
from tests.server.house import House, MemoryConnection

from penstock.api.sharing.shared import Shared
from penstock.api.table import APIS
from penstock.coordination.share import deciding
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import State, Summary
from penstock.errors import Refused
from penstock.metadata.changes import Commit
from penstock.metadata.config_changes import replace_group_configs
from penstock.metadata.records import FEATURES, FeaturesRecord, encode
from penstock.server.announcing import announce
from penstock.server.sharing import Sharing
from penstock.sharing.partition import SharePartition
from penstock.wire.batch_builder import read_records
from penstock.wire.codec import Message, decode_response
from penstock.wire.messages import k78_share_fetch as k78
from penstock.wire.messages import k79_share_acknowledge as k79
from penstock.world.real import RealNetwork

GROUP, TOPIC = "jobs", "orders"
ACCEPT, RELEASE, REJECT, RENEW, GAP = 1, 2, 3, 4, 0


class MemoryStates:
    """The coordinators of all shares."""

    def __init__(self, house: House) -> None:
        self.stage = Stage()
        self.stage.image = house.desk.image
        self.open = asyncio.Event()
        """Writes wait for this."""
        self.open.set()
        self.refusals: list[Refused] = []
        """What the next writes are answered with."""
        self.writes: list[Written] = []
        self.reads = 0

    def state(self, key: ShareKey) -> State | None:
        return self.stage.kept.get_or_add(key.name).state

    async def read(self, key: ShareKey, leader_epoch: int) -> State:
        await asyncio.sleep(0)
        self.reads += 1
        return self.stage.run(lambda turn, one: deciding.read(turn, one, leader_epoch), key)

    async def write(self, key: ShareKey, written: Written) -> None:
        await asyncio.sleep(0)
        await self.open.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        self.stage.run(lambda turn, one: deciding.write(turn, one, written), key)
        self.writes.append(written)

    async def initialize(self, key: ShareKey, state_epoch: int, start_offset: int) -> None:
        await asyncio.sleep(0)
        self.begin(key, state_epoch, start_offset)

    def begin(self, key: ShareKey, state_epoch: int = 0, start_offset: int = -1) -> None:
        self.stage.run(
            lambda turn, one: deciding.initialize(turn, one, state_epoch, start_offset), key
        )

    async def delete(self, key: ShareKey) -> None:
        self.stage.run(deciding.delete, key)

    async def summaries(self, keys: Iterable[ShareKey]) -> dict[ShareKey, Summary | Refused]:
        found: dict[ShareKey, Summary | Refused] = {}
        for key in keys:
            try:
                found[key] = self.stage.run(deciding.summary, key)
            except Refused as refused:
                found[key] = refused
        return found


class Ack(NamedTuple):
    first: int
    last: int
    types: Sequence[int]
    delay_ms: int = 0


class ShareHouse(House):
    def __init__(self, folder: Path, **texts: str) -> None:
        super().__init__(folder, **texts)
        self.broker.monotonic_ms = self.clock.monotonic_ms
        self.set_level(1)
        self.states = MemoryStates(self)
        self.broker.share_states = self.states
        self.sharing = Sharing(RealNetwork(), self.door)
        self.sharing.start()

    def set_level(self, level: int) -> None:
        """Of share groups, for the whole cluster."""
        levels = {**self.desk.image.finalized_features, "share.version": level}
        record = FeaturesRecord(levels, self.desk.image.features_epoch + 1)
        self.desk.change(lambda image: Commit(None, puts=[(FEATURES, encode(record))]))

    def queue(self, topic: str = TOPIC, partitions: int = 1, **configs: str) -> bytes:
        """A topic with which the group is about to begin, at its start."""
        topic_id = self.desk.create(topic, partitions, 1, **configs)
        for index in range(partitions):
            self.states.begin(ShareKey(GROUP, topic_id, index), start_offset=0)
        return topic_id

    def configure(self, group: str = GROUP, **configs: str) -> None:
        """Settings of a group, with underscores in place of dots."""
        named: dict[str, str | None] = {k.replace("_", "."): v for k, v in configs.items()}
        self.desk.change(lambda image: replace_group_configs(image, group, named))

    def append(self, topic: str = TOPIC, index: int = 0, *, count: int = 1, **batch: Any) -> None:
        """And whoever waits for it is woken."""
        self.desk.append(topic, index, count=count, **batch)
        announce(self.broker.leader(topic, index))

    def shared(self, topic: str = TOPIC, index: int = 0, group: str = GROUP) -> Shared:
        return self.broker.shared.of(group, self.broker.leader(topic, index))

    async def ready(self, topic: str = TOPIC, index: int = 0) -> SharePartition:
        """Once it is known what is stored of it."""
        await self.settle(lambda: self.shared(topic, index).share is not None)
        return self.share(topic, index)

    def share(self, topic: str = TOPIC, index: int = 0) -> SharePartition:
        found = self.shared(topic, index).share
        assert found is not None
        return found

    def member(self, name: str, *topic_ids: bytes, group: str = GROUP) -> Member:
        return Member(self, name, group, [(topic_id, 0) for topic_id in topic_ids])

    async def close(self) -> None:
        self.states.open.set()
        await self.sharing.stop()
        await super().close()


class Member:
    """Of a share group. Each has a connection of its own."""

    def __init__(
        self, house: ShareHouse, name: str, group: str, places: Sequence[tuple[bytes, int]]
    ) -> None:
        self._house = house
        self.name = name
        self.group = group
        self.places = places
        self.epoch = 0
        self.connection: MemoryConnection = house.connect()

    # -- requests

    def fetching(
        self,
        *acks: Ack,
        places: Sequence[tuple[bytes, int]] | None = None,
        forgotten: Sequence[tuple[bytes, int]] = (),
        epoch: int | None = None,
        **fields: Any,
    ) -> k78.ShareFetchRequest:
        """Of all its partitions at first; then only acknowledgements, of the first of them."""
        if places is None:
            places = self.places if self.epoch == 0 else ()
        named = dict.fromkeys([*places, *(self.places[:1] if acks else ())])
        topics = [
            k78.FetchTopic(
                topic_id,
                [
                    k78.FetchPartition(
                        index,
                        [
                            k78.AcknowledgementBatch(*ack[:2], list(ack.types), ack.delay_ms)
                            for ack in acks
                        ]
                        if (topic_id, index) == self.places[0]
                        else [],
                    )
                ],
            )
            for topic_id, index in named
        ]
        given = {"max_wait_ms": 0, "max_records": 100, "max_bytes": 1 << 20, **fields}
        return k78.ShareFetchRequest(
            self.group,
            self.name,
            self._next() if epoch is None else epoch,
            topics=topics,
            forgotten_topics_data=[k78.ForgottenTopic(each, [index]) for each, index in forgotten],
            **given,
        )

    def acknowledging(self, *acks: Ack, epoch: int | None = None) -> k79.ShareAcknowledgeRequest:
        batches = [
            k79.AcknowledgementBatch(*ack[:2], list(ack.types), ack.delay_ms) for ack in acks
        ]
        topic_id, index = self.places[0]
        parts = [k79.AcknowledgePartition(index, batches)] if batches else []
        return k79.ShareAcknowledgeRequest(
            self.group,
            self.name,
            self._next() if epoch is None else epoch,
            topics=[k79.AcknowledgeTopic(topic_id, parts)],
        )

    def _next(self) -> int:
        self.epoch += 1
        return self.epoch - 1

    # -- and their answers

    async def fetch(self, *acks: Ack, version: int = 2, **fields: Any) -> k78.ShareFetchResponse:
        answer = await self.ask(self.fetching(*acks, **fields), version)
        assert isinstance(answer, k78.ShareFetchResponse)
        return answer

    async def take(self, *acks: Ack, **fields: Any) -> list[tuple[int, int, int]]:
        """What it is given of its only partition: first, last, and how often."""
        answer = await self.fetch(*acks, **fields)
        assert not answer.error_code
        return acquired(answer)

    async def acknowledge(self, *acks: Ack, epoch: int | None = None) -> int:
        """What is answered of its partition, or of all."""
        answer = await self.ask(self.acknowledging(*acks, epoch=epoch), 2)
        assert isinstance(answer, k79.ShareAcknowledgeResponse)
        return answer.error_code or sum(
            part.error_code for topic in answer.responses for part in topic.partitions
        )

    async def ask(self, request: Message, version: int = 2) -> Any:
        return await self._house.ask(self.connection, request, version)

    def poll(self, *acks: Ack, **fields: Any) -> None:
        """Asks, and does not wait for the answer."""
        request = self.fetching(*acks, **{"max_wait_ms": 30_000, **fields})
        self.connection.give(frame_of(request, 2))

    async def polled(self) -> list[tuple[int, int, int]]:
        return acquired(await self.answer())

    async def answer(self) -> k78.ShareFetchResponse:
        """Of what was asked."""
        (answer,) = await self._house.receive(self.connection, 1)
        decoded = decode_response(APIS[78].response, answer, 2)[1]
        assert isinstance(decoded, k78.ShareFetchResponse)
        return decoded

    @property
    def is_answered(self) -> bool:
        self.connection.step()
        return bool(self.connection.taken)

    def hang_up(self) -> None:
        self._house.session_of(self.connection).close()


def records_of(answer: k78.ShareFetchResponse) -> list[int]:
    """The offsets of all that was sent of the only partition."""
    (part,) = parts_of(answer)
    assert isinstance(part.records, memoryview | bytes)
    return [record.offset for record in read_records(part.records, 1 << 20)]


def parts_of(answer: k78.ShareFetchResponse) -> list[k78.PartitionData]:
    return [part for topic in answer.responses for part in topic.partitions]


def acquired(answer: k78.ShareFetchResponse) -> list[tuple[int, int, int]]:
    found = []
    for part in parts_of(answer):
        assert not part.error_code, part
        assert not part.acknowledge_error_code, part
        found += [
            (each.first_offset, each.last_offset, each.delivery_count)
            for each in part.acquired_records
        ]
    return found
