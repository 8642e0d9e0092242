"""Transactional producers of both kinds: those that get a new epoch with every end of a transaction
(KIP-890), and older ones, which keep theirs and tell the coordinator what they write to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.coordination.transaction.state import Identity
from penstock.sim.transactions.session import Session
from penstock.sim.transactions.topics import GROUP
from penstock.sim.transactions.verdicts import judge
from penstock.wire.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from penstock.wire.messages.k25_add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from penstock.wire.messages.k26_end_txn import EndTxnResponse

ADD_PARTITIONS_VERSION, ADD_OFFSETS_VERSION = 3, 3


class NewSession(Session):
    init_version = 5
    produce_versions = (12, 13)
    offsets_version = 5
    end_version = 5

    def told(self, answer: EndTxnResponse) -> Identity:
        return Identity(answer.producer_id, answer.producer_epoch)


class OldSession(Session):
    init_version = 4
    produce_versions = (9,)
    offsets_version = 3
    end_version = 3

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._added: set[tuple[str, int]] = set()

    async def add(self, topic: str, partitions: Mapping[int, object]) -> None:
        new = [index for index in partitions if (topic, index) not in self._added]
        if not new:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.identity.producer_id,
            v3_and_below_producer_epoch=self.identity.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(topic, new)],
        )

        async def ask() -> None:
            answer = await self.ask(request, ADD_PARTITIONS_VERSION, AddPartitionsToTxnResponse)
            for told in answer.results_by_topic_v3_and_below[0].results_by_partition:
                judge(self.asking, told.partition_error_code, request)

        self._has_begun = True
        await self.until_answered(ask)
        self._added.update((topic, index) for index in new)

    async def add_offsets(self) -> None:
        request = AddOffsetsToTxnRequest(self.name, *self.identity, GROUP)

        async def ask() -> None:
            answer = await self.ask(request, ADD_OFFSETS_VERSION, AddOffsetsToTxnResponse)
            judge(self.asking, answer.error_code, request)

        self._has_begun = True
        await self.until_answered(ask)

    def told(self, answer: EndTxnResponse) -> Identity:
        return self.identity

    async def ended(self) -> None:
        self._added.clear()
        if self._batches.is_doubtful:
            await self.init(self.identity)


KINDS: tuple[type[Session], ...] = (NewSession, OldSession)
