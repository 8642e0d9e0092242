"""Messages of a partition, some at a time."""

from __future__ import annotations

from penstock.errors import ErrorCode
from penstock.sim.client import SimClient, Unreached, answered
from penstock.sim.keyed.history import Message
from penstock.sim.reader import BYTES_MAX, DECOMPRESSED_MAX, FETCH_VERSION, RETRIABLE
from penstock.wire.batch import check, size_at
from penstock.wire.batch_builder import read_records
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from penstock.world.ports import FileRange

BATCH_HEAD_BYTES = 12


async def fetch(
    client: SimClient, topic: str, partition: int, offset: int
) -> tuple[list[Message], int, bool]:
    """What comes from an offset on, where to go on, and whether that is the end for now."""
    exchange = await client.leader(topic, partition)
    wanted = FetchPartition(
        partition,
        current_leader_epoch=client.leader_epoch(topic, partition),
        fetch_offset=offset,
        partition_max_bytes=BYTES_MAX,
    )
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=BYTES_MAX,
        session_epoch=-1,
        topics=[FetchTopic(topic, partitions=[wanted])],
    )
    answer = await answered(exchange, exchange.ask(request, FETCH_VERSION, FetchResponse))
    data = answer.responses[0].partitions[0]
    code = ErrorCode(data.error_code)
    if code is not ErrorCode.NONE:
        client.forget_leaders()
        if code not in RETRIABLE:
            client.complain(f"{code.name} to a fetch of {topic}-{partition} at {offset}")
        raise Unreached(code.name)
    messages, following = _messages(data, offset)
    return messages, following, following >= data.high_watermark


def _messages(data: PartitionData, offset: int) -> tuple[list[Message], int]:
    """A batch that begins earlier is given whole; one at the end may be cut."""
    assert not isinstance(data.records, FileRange)
    whole, position, found = memoryview(data.records or b""), 0, []
    while len(whole) - position >= BATCH_HEAD_BYTES:
        end = position + size_at(whole, position)
        if end > len(whole):
            break
        header = check(whole[position:end])
        for record in read_records(whole[position:end], DECOMPRESSED_MAX):
            if record.offset >= offset:
                key, number = (record.value or b"").split()
                found.append(Message(int(key), int(number)))
        offset, position = max(offset, header.next_offset), end
    return found, offset
