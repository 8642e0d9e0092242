"""Reading partitions of a topic: raw batches first, records for those who want to look inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, code_of, refused
from penstock.client.metadata import Topic
from penstock.client.offsets import EARLIEST, ends
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.wire.batch import HEADER_SIZE, BatchHeader, check, size_at
from penstock.wire.batch_builder import read_records
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from penstock.wire.records import Record

FETCH_BYTES_MAX = 16 << 20
PARTITION_BYTES_MAX = 4 << 20
UNCOMPRESSED_BYTES_MAX = 512 << 20
"""One batch whose records are larger is taken for a bomb."""


class Fetched(NamedTuple):
    """What one fetch got of one partition."""

    partition: int
    error_code: ErrorCode
    high_watermark: int
    log_start: int
    data: memoryview
    """Whole batches, the last one possibly cut short: `batches` takes them apart."""


class Arrived(NamedTuple):
    """One whole batch, checked, and the offset from which on its records were asked for."""

    partition: int
    header: BatchHeader
    data: memoryview
    wanted_from: int

    def records(self) -> list[Record]:
        """Without what lies before the place that was asked for, and without markers."""
        if self.header.is_control:
            return []
        try:
            found = read_records(self.data, UNCOMPRESSED_BYTES_MAX)
        except (Malformed, Refused) as error:
            raise _damaged(self.partition, self.header.base_offset, str(error)) from None
        return [each for each in found if each.offset >= self.wanted_from]


def fetch(
    client: WireClient,
    topic: Topic,
    positions: Mapping[int, int],
    deadline: float,
    *,
    wait_ms: int = 0,
    bytes_max: int = FETCH_BYTES_MAX,
) -> list[Fetched]:
    """One round: every leader is asked for its partitions, from these offsets on."""
    requests = {
        node: _request(topic, {index: positions[index] for index in share}, wait_ms, bytes_max)
        for node, share in topic.by_leader(positions).items()
    }
    found = []
    for answer in client.ask_nodes(requests, FetchResponse, deadline).values():
        if isinstance(answer, ClientError):
            raise answer
        if answer.error_code:
            raise refused(f"topic {topic.name}", answer.error_code)
        found += _fetched(answer)
    return found


def batches(data: memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The whole batches in what a fetch brought, checked by CRC; Refused if one is damaged."""
    at = 0
    while at + HEADER_SIZE <= len(data):
        size = size_at(data, at)
        if size < HEADER_SIZE:
            raise Refused(ErrorCode.CORRUPT_MESSAGE, f"a batch of {size} bytes has no header")
        if at + size > len(data):
            return
        yield check(data[at : at + size]), data[at : at + size]
        at += size


class Reader:
    """Reads on from its positions, which may be changed between polls.

    Where a log's start has passed a position, reading goes on from there, and `skipped` counts it.
    """

    def __init__(self, client: WireClient, topic: str, positions: Mapping[int, int]) -> None:
        self.positions = dict(positions)
        self.skipped = 0
        self._client = client
        self._topic = topic

    def poll(self, wait_ms: int = 0) -> list[Arrived]:
        """What has come in; empty if nothing did within the wait."""
        patience_ms = min(wait_ms, int(self._client.timeout_s * 500))
        return self._client.retry(lambda deadline: self._round(deadline, patience_ms))

    def _round(self, deadline: float, wait_ms: int) -> list[Arrived]:
        topic = self._client.topic(self._topic, deadline=deadline)
        arrived = []
        failure = None
        for each in fetch(self._client, topic, self.positions, deadline, wait_ms=wait_ms):
            if each.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
                self._catch_up_with_start(each.partition)
            elif each.error_code:
                failure = refused(f"{self._topic}-{each.partition}", each.error_code)
            else:
                arrived += self._take(each)
        if failure and not arrived:
            raise failure
        return arrived

    def _take(self, fetched: Fetched) -> list[Arrived]:
        index = fetched.partition
        arrived = []
        try:
            for header, data in batches(fetched.data):
                arrived.append(Arrived(index, header, data, self.positions[index]))
                self.positions[index] = max(self.positions[index], header.next_offset)
        except Refused as error:
            raise _damaged(index, self.positions[index], error.message) from None
        return arrived

    def _catch_up_with_start(self, index: int) -> None:
        start = ends(self._client, self._topic, [index], EARLIEST)[index]
        if self.positions[index] >= start:
            raise refused(
                f"{self._topic}-{index}",
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {self.positions[index]} is past the end",
            )
        self.skipped += start - self.positions[index]
        self.positions[index] = start


def _request(topic: Topic, share: Mapping[int, int], wait_ms: int, bytes_max: int) -> FetchRequest:
    partitions = [
        FetchPartition(
            partition=index,
            current_leader_epoch=topic.partitions[index].leader_epoch,
            fetch_offset=offset,
            partition_max_bytes=min(bytes_max, PARTITION_BYTES_MAX),
        )
        for index, offset in share.items()
    ]
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=bytes_max,
        topics=[FetchTopic(topic.name, topic.topic_id, partitions)],
    )


def _fetched(answer: FetchResponse) -> list[Fetched]:
    return [
        Fetched(
            partition=each.partition_index,
            error_code=code_of(each.error_code),
            high_watermark=each.high_watermark,
            log_start=each.log_start_offset,
            data=memoryview(b"") if each.records is None else memoryview(each.records),  # type: ignore[arg-type]
        )
        for told in answer.responses
        for each in told.partitions
    ]


def _damaged(partition: int, offset: int, reason: str) -> ClientError:
    return ClientError(
        ErrorCode.CORRUPT_MESSAGE,
        f"partition {partition}: the batch at offset {offset} is damaged ({reason}); "
        "`penstock log verify` on the broker's data folder shows how far it goes",
    )
