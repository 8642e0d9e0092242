"""What a task of a replay does: sends one partition's records, some in each transaction.

The transaction holds the records and, as a group's offset, how far that goes. So they are in the
topic exactly once, whenever a task is cut off: the next one shuts it out, reads the offset, and
goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.group_offsets import committed_offsets
from penstock.client.open_transaction import OpenTransaction, begin, commit_offsets, end
from penstock.client.producer import Producer
from penstock.errors import ErrorCode
from penstock.spark.connected import Connected
from penstock.spark.replay.plan import Wanted, check_progress, note_of, place_of
from penstock.spark.tables.files import Stretch, picked
from penstock.spark.tables.formats import open_table
from penstock.spark.tables.parquet import read_file
from penstock.wire.compression import Codec
from penstock.wire.records import Headers, Record

CHUNK_ROWS = 50_000
CHUNK_BYTES = 64 << 20
"""Of one transaction, as near as batches of rows come to it."""
BATCH_BYTES = 1_000_000
"""What a topic takes by default: each is waited for until it is synced, so few large ones are best.
"""
TIMEOUT_MS = 300_000
_ATTEMPTS = 5
_COLUMNS = ["key", "value", "offset", "timestamp", "headers"]


class Job(NamedTuple):
    """One round; a task for each share."""

    bootstrap: str
    timeout_s: float
    folder: str
    target: str
    identity: str
    by_key: bool
    codec: int
    wanted: Wanted
    shares: list[Stretch]

    def to_json(self) -> str:
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Job:
        *rest, wanted, shares = json.loads(text)
        return cls._make([*rest, Wanted(*wanted), [Stretch(*each) for each in shares]])


class Sent(NamedTuple):
    """What a task has done of its share."""

    share: int
    """Which one."""
    end: int
    """Where its partition stands now."""
    rows: int
    size_bytes: int


def run_task(job: Job, number: int) -> Sent:
    share = job.shares[number]
    with Connected(job.bootstrap, job.timeout_s).again() as client:
        return _Task(client, job, share).run()._replace(share=number)


class Here:
    """All shares in this process, one after the other."""

    def __call__(self, job: Job) -> list[Sent]:
        return [run_task(job, number) for number in range(len(job.shares))]


class _Task:
    def __init__(self, client: WireClient, job: Job, share: Stretch) -> None:
        self._client = client
        self._job = job
        self._share = share
        self._rows = self._size_bytes = 0
        self._place = place_of(job.identity, job.target, share.lane, by_key=job.by_key)

    def run(self) -> Sent:
        """A transaction that a broker wants aborted is begun again, from what is committed on."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._go_on()
            except ClientError as error:
                if error.code is not ErrorCode.TRANSACTION_ABORTABLE:
                    raise
        return self._go_on()

    def _go_on(self) -> Sent:
        opened = begin(self._client, self._place.transaction, TIMEOUT_MS)
        left = self._left()
        for chunk in self._chunks(left):
            opened = self._send(opened, chunk)
            self._rows += chunk.rows
            self._size_bytes += chunk.size_bytes
        return Sent(0, max(left.first, left.end), self._rows, self._size_bytes)

    def _left(self) -> Stretch:
        """Asked for once nobody else can change it."""
        known = committed_offsets(self._client, self._place.group, is_final=True)
        done = known.get((self._place.topic, self._place.partition))
        if done is None:
            return self._share
        check_progress(self._job.identity, self._share.lane, self._job.wanted, done.metadata)
        return self._share._replace(first=max(self._share.first, done.offset))

    def _chunks(self, left: Stretch) -> Iterator[_Chunk]:
        """They end where the next one begins, and the last one where the share ends."""
        if left.first >= left.end:
            return
        table = open_table(self._job.folder)
        chunk = _Chunk()
        for file in picked(table.files(), left):
            for batch in read_file(table.folder, file, left, _COLUMNS):
                if chunk.is_full:
                    chunk.next_offset = batch.column("offset")[0].as_py()
                    yield chunk
                    chunk = _Chunk()
                chunk.add(batch)
        chunk.next_offset = left.end
        yield chunk

    def _send(self, opened: OpenTransaction, chunk: _Chunk) -> OpenTransaction:
        codec = Codec(self._job.codec)
        producer = Producer(
            self._client,
            self._job.target,
            codec=codec,
            batch_bytes=BATCH_BYTES,
            transaction=opened,
        )
        for batch in chunk.batches:
            self._send_rows(producer, batch)
        producer.flush()
        place = (self._place.topic, self._place.partition)
        stands = {place: chunk.next_offset}
        note = note_of(self._share.lane, self._job.wanted)
        commit_offsets(self._client, opened, self._place.group, stands, note)
        return end(self._client, opened, is_commit=True)

    def _send_rows(self, producer: Producer, batch: pa.RecordBatch) -> None:
        records = _records(batch, self._job.wanted)
        if not self._job.by_key:
            producer.send_all(records, self._share.partition)
            return
        for each in records:
            producer.send(each.value, each.key, each.headers, timestamp_ms=each.timestamp)


class _Chunk:
    """What goes into one transaction."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []
        self.rows = 0
        self.size_bytes = 0
        self.next_offset = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.size_bytes += batch.nbytes

    @property
    def is_full(self) -> bool:
        return self.rows >= CHUNK_ROWS or self.size_bytes >= CHUNK_BYTES


def _records(batch: pa.RecordBatch, wanted: Wanted) -> Iterator[Record]:
    times_us = batch.column("timestamp").cast(pa.int64()).to_pylist()
    columns = (batch.column(name).to_pylist() for name in ("key", "value", "headers"))
    for time_us, key, value, told in zip(times_us, *columns, strict=True):
        if wanted.has_time(time_us // 1000):
            yield Record(0, time_us // 1000, key, value, _headers(told) if told else ())


def _headers(told: list[dict[str, Any]]) -> Headers:
    return tuple((each["key"].encode(), each["value"]) for each in told)
