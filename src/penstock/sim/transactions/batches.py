"""Records of a transaction under way: one batch at a time for each partition, each until it is
acknowledged, and those of one leader in one request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.coordination.transaction.state import NOBODY, Identity
from penstock.errors import ErrorCode
from penstock.sim.client import Unreached
from penstock.sim.exchange import Exchange
from penstock.sim.transactions.asking import Asking
from penstock.sim.transactions.verdicts import Fenced, MustAbort, judge
from penstock.sim.world import BEGINNING_MS
from penstock.wire.batch_builder import build_batch
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.wire.records import Headers, Record

HeadersOf = Callable[[int], Headers]
"""Of a value."""


def without_headers(_value: int) -> Headers:
    return ()


Spot = tuple[str, int]
PRODUCE_TIMEOUT_MS = 5000
TOPIC_IDS_SINCE = 13


@dataclass(slots=True)
class Batch:
    spot: Spot
    count: int
    data: bytes


class Batches:
    def __init__(self, asking: Asking, name: str, topic_ids: Mapping[str, bytes]) -> None:
        self._asking = asking
        self._client = asking.client
        self._name = name
        self._topic_ids = topic_ids
        self._identity = NOBODY
        self._sequences: dict[Spot, int] = {}
        self._unacknowledged: dict[Spot, Batch] = {}
        self.is_doubtful = False
        """Something was given up: it may be there or not, and may arrive yet."""

    def begin_epoch(self, identity: Identity) -> None:
        self._identity = identity
        self._sequences.clear()
        self._unacknowledged.clear()
        self.is_doubtful = False

    def add(
        self, topic: str, values: Mapping[int, list[int]], headers: HeadersOf = without_headers
    ) -> None:
        self.is_doubtful = True
        for partition, some in values.items():
            spot = topic, partition
            records = [
                Record(number, BEGINNING_MS, None, b"%d" % value, headers(value))
                for number, value in enumerate(some)
            ]
            data = build_batch(
                records,
                producer_id=self._identity.producer_id,
                producer_epoch=self._identity.epoch,
                base_sequence=self._sequences.get(spot, 0),
                transactional=True,
            )
            self._unacknowledged[spot] = Batch(spot, len(some), bytes(data))

    async def send(self, version: int) -> None:
        """What is not acknowledged yet. Raises Unreached if something still is not."""
        by_leader: dict[Exchange, list[Batch]] = {}
        for batch in self._unacknowledged.values():
            by_leader.setdefault(await self._client.leader(*batch.spot), []).append(batch)
        asked = (self._send_some(leader, some, version) for leader, some in by_leader.items())
        problems = await asyncio.gather(*asked, return_exceptions=True)
        _raise_worst([each for each in problems if each is not None])
        self.is_doubtful = False

    async def _send_some(self, leader: Exchange, batches: list[Batch], version: int) -> None:
        topics: dict[str, TopicProduceData] = {}
        for batch in batches:
            name, partition = batch.spot
            if name not in topics:
                by_id = version >= TOPIC_IDS_SINCE
                topics[name] = (
                    TopicProduceData(topic_id=self._topic_ids[name], partition_data=[])
                    if by_id
                    else TopicProduceData(name, partition_data=[])
                )
            topics[name].partition_data.append(PartitionProduceData(partition, batch.data))
        request = ProduceRequest(self._name, -1, PRODUCE_TIMEOUT_MS, list(topics.values()))
        answer = await self._asking.ask(leader, request, version, ProduceResponse)
        problems = []
        for topic, told in zip(topics, answer.responses, strict=True):
            for part in told.partition_responses:
                try:
                    self._take((topic, part.index), part, request)
                except (Unreached, Fenced, MustAbort) as problem:
                    problems.append(problem)
        _raise_worst(problems)

    def _take(self, spot: Spot, told: PartitionProduceResponse, request: ProduceRequest) -> None:
        if told.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            why = f"{spot}: {told.error_message}"
            judge(self._asking, told.error_code, request, may_abort=True, why=why)
        batch = self._unacknowledged.pop(spot)
        self._client.note(f"{batch.count} are at {spot} from {told.base_offset}")
        self._sequences[spot] = self._sequences.get(spot, 0) + batch.count


def _raise_worst(problems: Sequence[BaseException]) -> None:
    """What is only to be asked again comes last."""
    for each in sorted(problems, key=lambda problem: isinstance(problem, Unreached)):
        raise each
