"""Fetch: batches from the log, as they lie there, by long poll.

Version 7 brought incremental sessions (`api/fetch_sessions.py`), 9 and 12 leader epochs and
divergence, 13 topic ids in place of names. Only batches wholly below the high watermark are
shown, or below the last stable offset to those who read committed. A fetch with too little to
answer waits for its partitions' high watermarks to move. Bytes that are not in the page cache are
warmed off the loop first.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.fetch_sessions import Fetching, Key
from penstock.api.outcome import Later, Outcome, Resume
from penstock.errors import ErrorCode, Refused
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


@dataclass(slots=True)
class Gathered:
    """What one look at all partitions of a fetch found."""

    size: int = 0
    must_answer: bool = False
    answers: list[tuple[Key, PartitionData]] = field(default_factory=list)
    leaders: list[Leader] = field(default_factory=list)


@dataclass(slots=True)
class Fetch:
    broker: Broker
    request: FetchRequest
    fetching: Fetching
    by_id: bool
    max_bytes: int
    warmed: int = 0
    time_is_up: bool = False

    def outcome(self) -> Outcome[FetchResponse]:
        try:
            found = self.gather()
        except Cold as cold:
            return self.warm(cold)
        if self.is_enough(found):
            return self.response(found)
        sources = [leader.moved for leader in found.leaders]
        return Later(sources, self.look_again, self.request.max_wait_ms)

    def look_again(self, time_is_up: bool) -> FetchResponse | Resume[FetchResponse] | None:
        self.time_is_up = time_is_up
        try:
            found = self.gather()
        except Cold as cold:
            return self.warm(cold)
        return self.response(found) if self.is_enough(found) else None

    def warm(self, cold: Cold) -> Resume[FetchResponse]:
        self.warmed += 1
        return Resume(partial(self.broker.warm, cold), lambda _: self.outcome())

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
            data = PartitionData(wanted.partition, high_watermark=-1, records=b"")
            found.answers.append((key, data))
            try:
                leader = self.leader(key)
                found.leaders.append(leader)
                leader.log.write_out()  # should that fail, it is not this partition's reading
                self.read_safely(leader, wanted, data, self.max_bytes - found.size)
            except Refused as refused:
                data.error_code = refused.code
                found.must_answer = True
            else:
                found.size += len(data.records) if data.records is not None else 0
                found.must_answer |= data.diverging_epoch.epoch >= 0
        return found

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
        except OSError as problem:
            log.error("%s-%d cannot be read: %s", leader.topic, leader.index, problem)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR) from problem

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


def fetch(broker: Broker, request: FetchRequest, call: Call) -> Outcome[FetchResponse]:
    if max(request.replica_id, request.replica_state.replica_id) >= 0:
        raise Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "replicas are not served yet")
    by_id = call.version >= TOPIC_IDS_SINCE
    fetching = broker.fetch_sessions.begin(request, uses_ids=by_id, now_ms=call.now_ms)
    max_bytes = min(request.max_bytes, broker.config.fetch_max_bytes)
    return Fetch(broker, request, fetching, by_id, max_bytes).outcome()
