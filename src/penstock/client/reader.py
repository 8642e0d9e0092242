"""Reading partitions of a topic: raw batches first, records for those who want to look inside."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from penstock.client.cluster import WireClient, pauses
from penstock.client.errors import ClientError, code_of, may_pass, refused
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
            about = f"partition {self.partition}"
            raise damaged(about, self.header.base_offset, str(error)) from None
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
    shares, failures = topic.shares(positions)
    requests = {
        node: _request(topic, {index: positions[index] for index in share}, wait_ms, bytes_max)
        for node, share in shares.items()
    }
    found = [
        Fetched(index, error.code, -1, -1, memoryview(b"")) for index, error in failures.items()
    ]
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
    A partition that cannot be read keeps no other from it: `lost` says why it has no position.
    """

    def __init__(self, client: WireClient, topic: str, positions: Mapping[int, int]) -> None:
        self.topic = topic
        self.positions = dict(positions)
        self.lost: dict[int, ClientError] = {}
        self.skipped = 0
        self._client = client
        self._failing: dict[int, float] = {}
        """Until when to try again."""

    def poll(self, wait_ms: int = 0) -> list[Arrived]:
        """What has come in; empty if nothing did within the wait."""
        patience_ms = min(wait_ms, int(self._client.timeout_s * 500))
        for pause_s in pauses():
            arrived = self._client.retry(lambda deadline: self._round(deadline, patience_ms))
            if arrived or not self._failing:
                return arrived
            self._client.forget()
            self._client.sleep(pause_s)
        raise AssertionError("pauses never end")

    def lose(self, index: int, error: ClientError) -> None:
        """Gives a partition up."""
        self.lost[index] = error
        self.positions.pop(index, None)
        self._failing.pop(index, None)

    def _round(self, deadline: float, wait_ms: int) -> list[Arrived]:
        topic = self._client.topic(self.topic, deadline=deadline)
        arrived: list[Arrived] = []
        failures: dict[int, ClientError] = {}
        fetched = fetch(self._client, topic, self.positions, deadline, wait_ms=wait_ms)
        for each in fetched:
            try:
                self._take(each, arrived)
            except ClientError as error:
                failures[each.partition] = error
        if not arrived:  # else there may have been no room for more
            failures = {**self._stalled(fetched), **failures}
        self._note(failures)
        return arrived

    def _take(self, fetched: Fetched, arrived: list[Arrived]) -> None:
        if fetched.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._catch_up_with_start(fetched.partition)
        elif fetched.error_code:
            raise refused(self._name(fetched.partition), fetched.error_code)
        else:
            self._take_batches(fetched, arrived)

    def _take_batches(self, fetched: Fetched, arrived: list[Arrived]) -> None:
        index = fetched.partition
        begun_at = self.positions[index]
        try:
            for header, data in batches(fetched.data):
                arrived.append(Arrived(index, header, data, self.positions[index]))
                self.positions[index] = max(self.positions[index], header.next_offset)
        except Refused as error:
            raise damaged(self._name(index), self.positions[index], error.message) from None
        if len(fetched.data) and self.positions[index] == begun_at:
            reason = f"{len(fetched.data)} bytes came, and no whole batch from there on"
            raise damaged(self._name(index), begun_at, reason)

    def _stalled(self, fetched: list[Fetched]) -> dict[int, ClientError]:
        """Partitions that hold more, of which nothing comes."""
        return {
            each.partition: refused(
                self._name(each.partition),
                ErrorCode.REQUEST_TIMED_OUT,
                f"nothing comes from offset {self.positions[each.partition]} on, "
                f"though it ends at {each.high_watermark}",
            )
            for each in fetched
            if not each.error_code
            and not len(each.data)
            and self.positions[each.partition] < each.high_watermark
        }

    def _note(self, failures: dict[int, ClientError]) -> None:
        """Failures that last, or have lasted for the client's timeout, are final."""
        until = self._client.deadline()
        self._failing = {index: self._failing.get(index, until) for index in failures}
        for index, error in failures.items():
            if not may_pass(error) or time.monotonic() >= self._failing[index]:
                self.lose(index, error)

    def _name(self, index: int) -> str:
        return f"{self.topic}-{index}"

    def _catch_up_with_start(self, index: int) -> None:
        start = ends(self._client, self.topic, [index], EARLIEST)[index]
        if self.positions[index] >= start:
            raise refused(
                self._name(index),
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


def damaged(about: str, offset: int, reason: str) -> ClientError:
    return ClientError(
        ErrorCode.CORRUPT_MESSAGE,
        f"{about}: the batch at offset {offset} is damaged ({reason}); "
        "`penstock log verify` on the broker's data folder shows how far it goes",
    )
