"""Fetch: batches from the log, as they lie there, by long poll.

Version 7 brought incremental sessions (`api/fetch_sessions.py`), 9 and 12 leader epochs and
divergence, 13 topic ids in place of names. Only batches wholly below the high watermark are
shown, or below the last stable offset to those who read committed. A fetch with too little to
answer waits for its partitions' high watermarks to move. Bytes that are not in the page cache are
warmed off the loop first, and a segment whose index misleads is gone through in steps.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.fetch_sessions import Fetching, Key
from penstock.api.outcome import Later, Outcome, Resume
from penstock.errors import ErrorCode, Refused
from penstock.log.reindexing import reindex
from penstock.log.segment import Amiss, Segment
from penstock.log.steps import Steps
from penstock.replication.leader import Leader
from penstock.wire.messages.k01_fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.world.ports import Cold

log = logging.getLogger(__name__)

READ_COMMITTED = 1
WARMED_AT_MOST = 16
"""Cold ranges of one fetch that are warmed; past that it reads whatever the cache has kept."""
TOPIC_IDS_SINCE = 13


class NotYet(Exception):
    """Something has to be done off the loop before a partition can be read."""

    def __init__(self, work: Callable[[], Awaitable[Any]]) -> None:
        super().__init__()
        self.work = work


@dataclass(slots=True)
class Gathered:
    """What one look at all partitions of a fetch found."""

    size: int = 0
    must_answer: bool = False
    answers: list[tuple[Key, PartitionData]] = field(default_factory=list)
    leaders: list[Leader] = field(default_factory=list)
    """One for each answer, where none was refused."""
    revisions: list[int] = field(default_factory=list)
    """Of each leader's log as it was looked at."""


@dataclass(slots=True)
class Fetch:
    broker: Broker
    request: FetchRequest
    fetching: Fetching
    by_id: bool
    max_bytes: int
    warmed: int = 0
    reindexed: set[Segment] = field(default_factory=set)
    time_is_up: bool = False
    seen: Gathered | None = None
    """While it waits: what there was at the last look."""

    def outcome(self) -> Outcome[FetchResponse]:
        try:
            found = self.gather()
        except NotYet as not_yet:
            return self.resume(not_yet)
        if self.is_enough(found):
            return self.response(found)
        self.seen = found
        sources = [leader.moved for leader in found.leaders]
        return Later(sources, self.look_again, self.request.max_wait_ms)

    def look_again(self, time_is_up: bool) -> FetchResponse | Resume[FetchResponse] | None:
        self.time_is_up = time_is_up
        try:
            found = self.gather_news()
        except NotYet as not_yet:
            return self.resume(not_yet)
        return self.response(found) if self.is_enough(found) else None

    def resume(self, not_yet: NotYet) -> Resume[FetchResponse]:
        return Resume(not_yet.work, lambda _: self.outcome())

    def is_enough(self, found: Gathered) -> bool:
        request = self.request
        return (
            self.time_is_up
            or found.must_answer
            or found.size >= request.min_bytes
            or request.max_wait_ms <= 0
            or not found.leaders
        )

    def gather(self) -> Gathered:
        found = Gathered()
        for key, wanted in self.fetching.partitions:
            data, leader = self.look_at(key, wanted, found)
            found.answers.append((key, data))
            if leader is not None:
                found.leaders.append(leader)
                found.revisions.append(leader.log.revision)
        return found

    def gather_news(self) -> Gathered:
        """The same by another look at what has moved since: thousands may not have."""
        found = self.seen
        assert found is not None
        for number, leader in enumerate(found.leaders):
            key, data = found.answers[number]
            if (
                leader.high_watermark != data.high_watermark
                or leader.log.start_offset != data.log_start_offset
                or leader.log.revision != found.revisions[number]
                or leader.deleted
            ):
                found.must_answer |= leader.deleted  # another of its name would not wake us
                found.revisions[number] = leader.log.revision
                found.size -= len(data.records or b"")
                wanted = self.fetching.partitions[number][1]
                found.answers[number] = key, self.look_at(key, wanted, found)[0]
        return found

    def look_at(
        self, key: Key, wanted: FetchPartition, found: Gathered
    ) -> tuple[PartitionData, Leader | None]:
        """What there is now, with as much of it as what was found before leaves room for."""
        data = PartitionData(wanted.partition, high_watermark=-1, records=b"")
        leader: Leader | None = None
        try:
            leader = self.leader(key)
            leader.log.write_out()  # should that fail, it is not this partition's reading
            self.read_safely(leader, wanted, data, self.max_bytes - found.size)
        except Refused as refused:
            data.error_code = refused.code
            found.must_answer = True
        else:
            found.size += len(data.records or b"")
            found.must_answer |= data.diverging_epoch.epoch >= 0
        return data, leader

    def leader(self, key: Key) -> Leader:
        topic, topic_id, index = key
        broker = self.broker
        return broker.leader_by_id(topic_id, index) if self.by_id else broker.leader(topic, index)

    def read_safely(
        self, leader: Leader, wanted: FetchPartition, data: PartitionData, room: int
    ) -> None:
        """A partition whose files cannot be read must not keep the others from being read."""
        try:
            self.read(leader, wanted, data, room)
        except Cold as cold:
            self.warmed += 1
            raise NotYet(partial(self.broker.warm, cold)) from None
        except Amiss as amiss:
            raise self.once_reindexed(leader, amiss) from amiss
        except OSError as problem:
            log.error("%s-%d cannot be read: %s", leader.topic, leader.index, problem)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR) from problem

    def once_reindexed(self, leader: Leader, amiss: Amiss) -> NotYet | Refused:
        """Refused where that did not help, or while somebody else is at it."""
        segment = amiss.segment
        if segment in self.reindexed:
            log.error("%s-%d cannot be read: %s", leader.topic, leader.index, amiss)
            return Refused(ErrorCode.KAFKA_STORAGE_ERROR)
        self.reindexed.add(segment)
        steps = _reindex_safely(leader, segment)
        return NotYet(lambda: self.broker.in_steps(steps))

    def read(self, leader: Leader, wanted: FetchPartition, data: PartitionData, room: int) -> None:
        leader.check_epoch(wanted.current_leader_epoch)
        partition = leader.log
        data.high_watermark = leader.high_watermark
        data.last_stable_offset = leader.last_stable_offset
        data.log_start_offset = partition.start_offset
        if wanted.last_fetched_epoch >= 0 and self.diverges(leader, wanted, data):
            return
        is_first = room == self.max_bytes
        committed = self.request.isolation_level == READ_COMMITTED
        slice_ = partition.read(
            wanted.fetch_offset,
            min(wanted.partition_max_bytes, max(room, 0)),
            data.last_stable_offset if committed else data.high_watermark,
            at_least_one=is_first,
            cold_ok=self.warmed > WARMED_AT_MOST,
        )
        if committed:
            data.aborted_transactions = []
        if slice_ is None:
            return
        data.records = slice_.range
        if committed:
            data.aborted_transactions = [
                AbortedTransaction(aborted.producer_id, aborted.first_offset)
                for aborted in partition.aborted_between(
                    wanted.fetch_offset, data.last_stable_offset
                )
            ]

    def diverges(self, leader: Leader, wanted: FetchPartition, data: PartitionData) -> bool:
        """Whether the reader's last record is not the one that stands there now (KIP-595)."""
        epoch, end = leader.log.epoch_end_offset(wanted.last_fetched_epoch)
        if epoch == wanted.last_fetched_epoch and end >= wanted.fetch_offset:
            return False
        if epoch < 0:
            return False
        data.diverging_epoch = EpochEndOffset(epoch, end)
        return True

    def response(self, found: Gathered) -> FetchResponse:
        session = self.fetching.session
        answer = FetchResponse(session_id=self.fetching.session_id)
        last_topic = None
        for key, data in found.answers:
            if session is not None:
                has_news = session.has_news(key, data)
                if self.fetching.is_incremental and not has_news:
                    continue
            if key[:2] != last_topic:
                last_topic = key[:2]
                answer.responses.append(FetchableTopicResponse(key[0], key[1], []))
            answer.responses[-1].partitions.append(data)
        return answer


def _reindex_safely(leader: Leader, segment: Segment) -> Steps[None]:
    with suppress(OSError, Refused):  # the next look at the partition tells
        yield from reindex(leader.log, segment)


def fetch(broker: Broker, request: FetchRequest, call: Call) -> Outcome[FetchResponse]:
    if max(request.replica_id, request.replica_state.replica_id) >= 0:
        raise Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "replicas are not served yet")
    by_id = call.version >= TOPIC_IDS_SINCE
    fetching = broker.fetch_sessions.begin(request, uses_ids=by_id, now_ms=call.now_ms)
    max_bytes = min(request.max_bytes, broker.config.fetch_max_bytes)
    return Fetch(broker, request, fetching, by_id, max_bytes).outcome()
