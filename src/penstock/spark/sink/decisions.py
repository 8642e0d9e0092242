"""The topic that decisions are kept in: read to its end, and written to in turn."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from penstock.client.admin import create_topic
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, Lost, check
from penstock.client.metadata import Topic
from penstock.client.offsets import EARLIEST, LATEST, ends
from penstock.client.producer import Producer
from penstock.client.ranges import Gap, Gone, Range, RangeReader
from penstock.errors import ErrorCode
from penstock.spark.sink.entries import Entry, History, encode, key_of
from penstock.wire.compression import Codec

TOPIC = "penstock-spark-decisions"
PARTITION = 0
"""Whoever adds others changes nothing by it."""
REPLICAS = 3
"""Where there are so many brokers: with one alone, no sink could go on while its broker is away."""
CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": str(256 << 10),
    "min.cleanable.dirty.ratio": "0.1",
}
"""Every task reads it, so it is kept short."""
FORGOTTEN_AT_ONCE = 1000


class Decisions:
    def __init__(self, client: WireClient) -> None:
        self._client = client
        self._history = History()
        self._position: int | None = None
        self._producer: Producer | None = None

    def last(self, query: str) -> Entry:
        """What counts now."""
        self._read_on()
        return self._history.last(query)

    def put(self, entry: Entry) -> bool:
        """Whether it counts: false if somebody else was faster. What cannot count any more, by what
        was read before, is forgotten by the way."""
        name = f"{entry.writer}.{uuid4().hex}"
        self._send(entry.query, {name: entry, **self._forgotten(entry.query)})
        return self._read_on(entry)

    def forget(self, query: str) -> None:
        """Nobody will ask for the query any more."""
        self._read_on()
        self._forget_read(query)

    def decided_jobs(self) -> list[Entry]:
        """As far as was read."""
        return self._history.decided_jobs()

    def forget_job(self, entry: Entry) -> None:
        """What has come since it was read stays."""
        self._forget_read(entry.query)

    def _forget_read(self, query: str) -> None:
        if names := self._history.names(query):
            self._send(query, dict.fromkeys(names))

    def _forgotten(self, query: str) -> dict[str, None]:
        return dict.fromkeys(self._history.outdated(query)[:FORGOTTEN_AT_ONCE])

    def _send(self, query: str, entries: Mapping[str, Entry | None]) -> None:
        if self._producer is None:
            self._make_topic()
            self._producer = Producer(self._client, TOPIC, codec=Codec.ZSTD)
        for name, entry in entries.items():
            value = None if entry is None else encode(entry)
            self._producer.send(value, key_of(query, name), partition=PARTITION)
        self._producer.flush()

    def _read_on(self, awaited: Entry | None = None) -> bool:
        """Whether the awaited one counted at its place in the log. Where something is missing
        before it, one that came first may have been compacted away: that is no yes."""
        topic = self._topic()
        if topic is None:
            self._position = self._position or 0
            return False
        if self._position is None:
            self._position = ends(self._client, TOPIC, [PARTITION], EARLIEST)[PARTITION]
        end = ends(self._client, TOPIC, [PARTITION], LATEST)[PARTITION]
        place = Range(TOPIC, topic.topic_id, PARTITION, self._position, end)
        has_counted, following = False, self._position
        for arrived in RangeReader(self._client, _pass_over, committed=False).batches(place):
            for record in arrived.records():
                self._history.apply(record.key or b"", record.value)
                if record.offset <= following:
                    following = max(following, record.offset + 1)
                    is_last = awaited and self._history.last(awaited.query) == awaited
                    has_counted = has_counted or bool(is_last)
        self._position = max(self._position, end)
        return has_counted

    def _topic(self) -> Topic | None:
        def attempt(deadline: float) -> Topic | None:
            told = self._client.metadata([TOPIC], deadline=deadline)
            code = told.refusals.get(TOPIC, ErrorCode.NONE)
            if code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                check(f"topic {TOPIC}", code)
            return told.topics.get(TOPIC)

        return self._client.retry(attempt)

    def _make_topic(self) -> None:
        if self._topic() is not None:
            return
        brokers = len(self._client.retry(self._client.brokers))
        try:
            create_topic(self._client, TOPIC, 1, min(REPLICAS, brokers), CONFIGS)
        except Lost:
            if self._topic() is None:
                raise
        except ClientError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise


def _pass_over(gap: Gap) -> None:
    """What was deleted before was not needed, but for the topic as a whole."""
    if gap.is_of_deleted:
        raise Gone(gap.place)
