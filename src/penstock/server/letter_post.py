"""Takes dead letters to the partition that is to have them: this broker's own, or another's.

Each share is a producer of its own, with sequence numbers: what is sent again because nobody knows
whether it has arrived is there once. Only a leader that was lost in between may have it twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from penstock.api.sharing.shared import Shared
from penstock.errors import ErrorCode, Refused
from penstock.log.picking import Picked, pick
from penstock.metadata.cluster import Topic
from penstock.metadata.dead_letters import NotNow
from penstock.server.asking import ANSWER_MS_MAX, Asking
from penstock.server.asking_itself import AskingItself
from penstock.server.door import Door
from penstock.sharing.letters import Letter, Origin
from penstock.wire.batch_builder import build_batch
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.wire.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from penstock.world.ports import Network

LETTERS_AT_ONCE = 100
BYTES_AT_ONCE = 512 << 10
"""Of records that are copied, if the first is not larger."""
PRODUCE, INIT_PRODUCER_ID = 12, 5
"""Versions that are asked in."""
ALL_IN_SYNC = -1
SEQUENCE_END = 1 << 31
LOST_COUNT = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)
"""The partition does not know what we know: another producer begins."""


class TooLarge(Exception):
    """One letter, for its topic."""


class Carrier:
    """Asks brokers, each one thing at a time."""

    def __init__(self, network: Network, door: Door) -> None:
        self.door = door
        self.broker = door.broker
        self._itself = AskingItself(door)
        self._asking = Asking(network, door, self._itself)
        self._locks: dict[int, asyncio.Lock] = {}

    def close(self) -> None:
        self._asking.close()

    async def produce(self, node_id: int, request: ProduceRequest) -> PartitionProduceResponse:
        """Raises what `Asking` does."""
        async with self._locks.setdefault(node_id, asyncio.Lock()):
            return await self._asking.ask(node_id, request, PRODUCE, ProduceResponse, _only_answer)

    async def new_producer(self) -> int:
        answer: InitProducerIdResponse = await self._itself.ask(
            InitProducerIdRequest(None), INIT_PRODUCER_ID, lambda answer: answer
        )
        if answer.error_code:
            raise Refused(ErrorCode(answer.error_code), "there is no id for a producer")
        return answer.producer_id


class Post:
    """Of one share."""

    def __init__(self, carrier: Carrier, shared: Shared) -> None:
        self._carrier = carrier
        self._broker = carrier.broker
        self._leader = shared.leader
        self._origin = Origin(shared.key.group, shared.leader.topic, shared.leader.index)
        self._producer_id = -1
        self._sequence = 0
        self._place: tuple[bytes, int] | None = None
        """That the producer writes to."""
        self._unsure: Sequence[Letter] = ()
        """These may be there: they are sent again as they were, and nothing else in their place, or
        it would pass for them."""

    async def send(self, topic: Topic, letters: Sequence[Letter]) -> int:
        """How many of the first are written now. Raises NotNow, TooLarge, and what `Asking`
        does."""
        some = letters[: len(self._unsure) or LETTERS_AT_ONCE]
        if self._unsure and some != self._unsure:
            self._place = None
        picked = await self._originals(some)
        index = self._origin.partition % topic.open_partitions
        await self._be_producer((topic.id, index))
        some, batch = self._batch(topic, some[: picked.done], picked)
        self._unsure = some
        answer = await self._produced(topic, index, batch)
        if not answer.error_code:
            self._sequence += len(some)
            self._unsure = ()
            return len(some)
        code = ErrorCode(answer.error_code)
        if code in LOST_COUNT:
            self._place = None
        raise NotNow(f"{topic.name}-{index} says {code.name}: {answer.error_message or 'no more'}")

    async def _originals(self, letters: Sequence[Letter]) -> Picked:
        config = self._broker.image.settings.of_group(self._origin.group)
        if not config.dead_letters_have_records:
            return Picked({}, len(letters))
        offsets = [letter.offset for letter in letters]
        picked: Picked = await self._broker.in_steps(pick(self._leader.log, offsets, BYTES_AT_ONCE))
        return picked

    async def _be_producer(self, place: tuple[bytes, int]) -> None:
        if self._place != place or self._sequence >= SEQUENCE_END - LETTERS_AT_ONCE:
            self._producer_id = await self._carrier.new_producer()
            self._place, self._sequence = place, 0

    def _batch(
        self, topic: Topic, letters: Sequence[Letter], picked: Picked
    ) -> tuple[Sequence[Letter], bytearray]:
        """As many as its topic takes in one."""
        most = self._broker.image.settings.of_topic(topic).max_message_bytes
        while True:
            batch = self._built(letters, picked)
            if len(batch) <= most:
                return letters, batch
            if len(letters) == 1:
                origin, offset = self._origin, letters[0].offset
                raise TooLarge(
                    f"offset {offset} of {origin.topic}-{origin.partition} takes {len(batch)} "
                    f"bytes, and {topic.name} takes {most}: raise its max.message.bytes"
                )
            letters = letters[: len(letters) // 2]

    def _built(self, letters: Sequence[Letter], picked: Picked) -> bytearray:
        now_ms = self._carrier.door.clock.now_ms()
        records = [
            self._origin.record_of(letter, number, now_ms, picked.records.get(letter.offset))
            for number, letter in enumerate(letters)
        ]
        return build_batch(
            records,
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=self._sequence,
        )

    async def _produced(
        self, topic: Topic, index: int, batch: bytearray
    ) -> PartitionProduceResponse:
        record = self._broker.image.partition(topic.id, index)
        if record is None or record.leader < 0:
            raise NotNow(f"nobody leads {topic.name}-{index}")
        data = [PartitionProduceData(index, memoryview(batch))]
        request = ProduceRequest(
            None, ALL_IN_SYNC, ANSWER_MS_MAX, [TopicProduceData(topic.name, partition_data=data)]
        )
        return await self._carrier.produce(record.leader, request)


def _only_answer(answer: ProduceResponse) -> PartitionProduceResponse:
    return answer.responses[0].partition_responses[0]
