"""A simulated consumer: reads partitions from the beginning, and goes on as they grow."""

from __future__ import annotations

import asyncio

from penstock.errors import ErrorCode, Refused
from penstock.sim.client import RETRY_S, SimClient, Unreached, answered
from penstock.sim.history import History, Seen
from penstock.wire.batch import BatchHeader, check, size_at
from penstock.wire.batch_builder import read_records
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from penstock.world.ports import FileRange

FETCH_VERSION = 11
BYTES_MAX = 1 << 16
WAIT_MS = 500
PATIENCE_S = 10.0
DECOMPRESSED_MAX = 1 << 20
RETRIABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    }
)


class SimReader:
    """With `to_the_end` it is done when it has read what was acknowledged before, and otherwise
    when it is told to stop."""

    def __init__(
        self,
        client: SimClient,
        history: History,
        topic: str,
        partitions: int,
        *,
        to_the_end: bool = False,
        may_be_damaged: bool = False,
    ) -> None:
        """`may_be_damaged`: what comes may be refused, or fail its checksum, for a while."""
        self._client = client
        self._topic = topic
        self._to_the_end = to_the_end
        self._may_be_damaged = may_be_damaged
        self._end = [history.acknowledged_end(each) for each in range(partitions)]
        self._patience_s = client.loop.time() + PATIENCE_S
        self._stopping = False
        reads = history.last_reads if to_the_end else history.polls
        self._seen: list[Seen] = reads.setdefault(client.name, [])
        self.tasks = [client.loop.create_task(self._read(each)) for each in range(partitions)]

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    def stop(self) -> None:
        self._stopping = True

    async def _read(self, partition: int) -> None:
        offset = 0
        while not self._is_over(partition, offset):
            try:
                data = await self._fetch(partition, offset)
            except Unreached:
                data = None
            if data is None or not self._is_well(partition, offset, data):
                self._client.forget_leaders()
                await asyncio.sleep(RETRY_S * (1 + self._client.random.random()))
                continue
            before, offset = offset, self._take(partition, offset, data)
            if offset == before and (data.records or self._to_the_end):
                await asyncio.sleep(RETRY_S)

    def _is_over(self, partition: int, offset: int) -> bool:
        """The last readers stop where all that was acknowledged is behind them. A new leader learns
        only in time what is committed, so they have some patience."""
        if not self._to_the_end:
            return self._stopping
        if self._client.loop.time() >= self._patience_s:
            return True
        return offset >= self._end[partition]

    async def _fetch(self, partition: int, offset: int) -> PartitionData:
        exchange = await self._client.leader(self._topic, partition)
        wanted = FetchPartition(
            partition,
            current_leader_epoch=self._client.leader_epoch(self._topic, partition),
            fetch_offset=offset,
            partition_max_bytes=BYTES_MAX,
        )
        request = FetchRequest(
            max_wait_ms=0 if self._to_the_end else WAIT_MS,
            min_bytes=1,
            max_bytes=BYTES_MAX,
            session_epoch=-1,
            topics=[FetchTopic(self._topic, partitions=[wanted])],
        )
        answer = await answered(exchange, exchange.ask(request, FETCH_VERSION, FetchResponse))
        return answer.responses[0].partitions[0]

    def _is_well(self, partition: int, offset: int, data: PartitionData) -> bool:
        code = ErrorCode(data.error_code)
        self._client.note(f"{partition}@{offset} {code.name} below {data.high_watermark}")
        may_be = RETRIABLE | ({ErrorCode.CORRUPT_MESSAGE} if self._may_be_damaged else set())
        if code is not ErrorCode.NONE and code not in may_be:
            self._client.complain(f"{code.name} to a fetch of {partition} at {offset}")
        return code is ErrorCode.NONE

    def _take(self, partition: int, offset: int, data: PartitionData) -> int:
        """Where to go on. A batch that begins earlier is given whole; one at the end may be cut."""
        assert not isinstance(data.records, FileRange)
        whole = memoryview(data.records or b"")
        position = 0
        while len(whole) - position >= 12:
            end = position + size_at(whole, position)
            if end > len(whole):
                break
            header = self._checked(whole[position:end])
            if header is None:
                break
            for record in read_records(whole[position:end], DECOMPRESSED_MAX):
                if record.offset >= offset:
                    value = int((record.value or b"-1").split()[0])
                    self._seen.append(Seen(partition, record.offset, value))
            offset = max(offset, header.next_offset)
            position = end
        return offset

    def _checked(self, batch: memoryview) -> BatchHeader | None:
        """None where the checksum, which is for clients to look at, says that it is damaged."""
        try:
            return check(batch)
        except Refused as refused:
            if not self._may_be_damaged:
                self._client.complain(f"a batch in an answer: {refused.message}")
            self._client.note(f"was given what is damaged: {refused.message}")
            return None
