"""What is committed of a partition, some of it at a time, as consumers make it out."""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import ErrorCode
from penstock.sim.client import SimClient, Unreached, answered
from penstock.sim.reader import BYTES_MAX, DECOMPRESSED_MAX, FETCH_VERSION, RETRIABLE
from penstock.sim.transactions.history import Read
from penstock.wire.batch import check, size_at
from penstock.wire.batch_builder import read_marker, read_records
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from penstock.world.ports import FileRange

BATCH_HEAD_BYTES = 12
COMMITTED = 1


class Fetched(NamedTuple):
    reads: list[Read]
    following: int
    """Where to go on."""
    stable: int
    """Up to where it is known what counts."""
    end: int


class Dropped(Exception):
    """What was asked for is there no more."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start
        """Where the partition begins now."""


async def fetch(
    client: SimClient, topic: str, partition: int, offset: int, *, may_be_dropped: bool = False
) -> Fetched:
    """Raises Unreached if it is to be asked again, and Dropped where that may be."""
    exchange = await client.leader(topic, partition)
    wanted = FetchPartition(
        partition,
        current_leader_epoch=client.leader_epoch(topic, partition),
        fetch_offset=offset,
        partition_max_bytes=BYTES_MAX,
    )
    request = FetchRequest(
        max_bytes=BYTES_MAX,
        isolation_level=COMMITTED,
        topics=[FetchTopic(topic, partitions=[wanted])],
    )
    answer = await answered(exchange, exchange.ask(request, FETCH_VERSION, FetchResponse))
    data = answer.responses[0].partitions[0]
    code = ErrorCode(data.error_code)
    if code is ErrorCode.OFFSET_OUT_OF_RANGE and may_be_dropped:
        raise Dropped(data.log_start_offset)
    if code is not ErrorCode.NONE:
        client.forget_leaders()
        if code not in RETRIABLE:
            client.complain(f"{code.name} to a fetch of {topic}-{partition} at {offset}")
        raise Unreached(code.name)
    reads, following = _committed(data, topic, offset)
    return Fetched(reads, following, data.last_stable_offset, data.high_watermark)


def _committed(data: PartitionData, topic: str, offset: int) -> tuple[list[Read], int]:
    """Without what the answer says is aborted: from the first record to the marker."""
    assert not isinstance(data.records, FileRange)
    whole, position, found = memoryview(data.records or b""), 0, []
    aborted = sorted(data.aborted_transactions or (), key=lambda each: each.first_offset)
    left_out: set[int] = set()
    while len(whole) - position >= BATCH_HEAD_BYTES:
        end = position + size_at(whole, position)
        if end > len(whole):
            break
        batch = whole[position:end]
        header = check(batch)
        while aborted and aborted[0].first_offset < header.next_offset:
            left_out.add(aborted.pop(0).producer_id)
        if header.is_control:
            if not read_marker(batch).is_commit:
                left_out.discard(header.producer_id)
        elif not header.is_transactional or header.producer_id not in left_out:
            for record in read_records(batch, DECOMPRESSED_MAX):
                if record.offset >= offset:
                    value = int(record.value or b"-1")
                    found.append(Read(topic, data.partition_index, record.offset, value))
        offset, position = max(offset, header.next_offset), end
    return found, offset
