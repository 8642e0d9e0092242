"""A worker on aiokafka, which rebalances while the application goes on: a lock keeps them apart."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import IllegalStateError, KafkaError

from tests.group_journal import Journal, Span
from tests.group_worker import BATCH, POLL_S, Settings, Uncommitted

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
Records = dict[TopicPartition, list[Any]]


def work(settings: Settings, journal: Journal, stopping: threading.Event) -> None:
    asyncio.run(_work(settings, journal, stopping))


async def _work(settings: Settings, journal: Journal, stopping: threading.Event) -> None:
    worker = Worker(settings, journal)
    await worker.start(settings.topics)
    while not stopping.is_set():
        await worker.step()
    await worker.close()


class Worker(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, settings: Settings, journal: Journal) -> None:
        self.journal = journal
        self.uncommitted = Uncommitted()
        self.take = self._commit_and_process if settings.commits_first else self._process
        self.working = asyncio.Lock()
        self.rebalances = 0
        options = dict(settings.options)
        assignor = ASSIGNORS[options.pop("assignor")]
        self.consumer: Any = AIOKafkaConsumer(
            bootstrap_servers=settings.address,
            client_id=settings.name,
            group_id=settings.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=50,
            partition_assignment_strategy=[assignor],
            **options,
        )

    async def start(self, topics: list[str]) -> None:
        self.consumer.subscribe(topics, listener=self)
        await self.consumer.start()

    async def step(self) -> None:
        try:
            records = await self.consumer.getmany(timeout_ms=int(1000 * POLL_S), max_records=BATCH)
        except KafkaError as error:
            self.journal.note("error", text=repr(error))
            return
        fetched_in = self.rebalances
        async with self.working:
            if records and fetched_in == self.rebalances:
                await self.take(records)
            await self._commit_processed()

    async def close(self) -> None:
        """It does not call its listener when it closes."""
        async with self.working:
            await self._commit_processed()
            self.journal.note_places("revoked", self.consumer.assignment())
        await self.consumer.stop()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self.journal.note_places("assigned", assigned)

    async def on_partitions_revoked(self, revoked: Any) -> None:
        async with self.working:
            await self._commit_processed()
            self.uncommitted.clear()
            self.rebalances += 1
            self.journal.note_places("revoked", revoked)

    async def _process(self, records: Records) -> None:
        for place, batch in records.items():
            for record in batch:
                where = [place.topic, place.partition]
                value = record.value.decode()
                self.journal.note("processed", place=where, offset=record.offset, value=value)
                self.uncommitted.add(place.topic, place.partition, record.offset)

    async def _commit_and_process(self, records: Records) -> None:
        if await self._commit(_spans(records)):
            await self._process(records)
            self.uncommitted.clear()
            return
        for place, batch in records.items():
            try:  # to read it again, if it is still ours
                self.consumer.seek(place, batch[0].offset)
            except IllegalStateError as error:
                self.journal.note("error", text=repr(error))

    async def _commit_processed(self) -> None:
        if self.uncommitted and await self._commit(self.uncommitted.spans()):
            self.uncommitted.clear()

    async def _commit(self, spans: list[Span]) -> bool:
        self.journal.note("committing", spans=spans)
        wanted = {TopicPartition(topic, number): end for topic, number, _, end in spans}
        try:
            await self.consumer.commit(wanted)
        except (KafkaError, IllegalStateError) as error:
            self.journal.note("refused", spans=spans, errors=[repr(error)])
            return False
        self.journal.note("committed", spans=spans)
        return True


def _spans(records: Records) -> list[Span]:
    return [
        (place.topic, place.partition, batch[0].offset, batch[-1].offset + 1)
        for place, batch in records.items()
    ]
