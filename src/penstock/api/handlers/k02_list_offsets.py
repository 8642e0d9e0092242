"""ListOffsets: where a partition begins and ends, and which offset a point in time has.

Timestamps below zero are questions: -1 the end (as the reader's isolation sees it), -2 the start,
-3 the record with the largest timestamp (version 7), -4 and -5 the ends of local and tiered
storage (versions 8 and 9; all of ours is local). Any other, or one that is newer than the request's
version, is UNSUPPORTED_VERSION for its partition. Version 4 brought leader epochs. Replica id -2 is
a debugging client, which is told the end of the log even above the high watermark.

A new leader does not know at once how far its predecessors had committed. What lies at or past its
high watermark is OFFSET_NOT_AVAILABLE until it does (version 5; LEADER_NOT_AVAILABLE before).

From version 6 on there are tagged fields of our own: who gives an offset as `lag_of` is told how
far a reader there is behind, in messages and in time. Only the leader of a partition knows that.
Who gives one as `vacant_from` is told at how many offsets from there on a reader finds nothing. Who
asks `with_deleted` is told up to where records went by DeleteRecords, and not by retention.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.lag import Lag, Place, lags
from penstock.api.open_first import open_first
from penstock.api.outcome import Outcome
from penstock.api.slices import SLICE_ELEMENTS, in_slices
from penstock.api.vacancies import vacancies
from penstock.errors import ErrorCode, Refused
from penstock.log.segment import Amiss
from penstock.log.steps import Steps
from penstock.log.timestamps import TimedOffset
from penstock.replication.leader import Leader
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

log = logging.getLogger(__name__)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
ASKED_SINCE = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
"""The version from which on a question may be asked."""
READ_COMMITTED = 1
NOTHING = -1
NOT_AVAILABLE_SINCE = 5
DEBUGGING = -2
"""The replica id of a client that wants to see the log as it is, not as it is committed."""


Found = dict[tuple[Leader, int], TimedOffset | Refused | None]
"""What was found for a partition and a timestamp, or why nothing can be."""


def _named(request: ListOffsetsRequest) -> Iterator[tuple[str, int]]:
    for topic in request.topics:
        yield from ((topic.name, each.partition_index) for each in topic.partitions)


@open_first(_named)
def list_offsets(
    broker: Broker, request: ListOffsetsRequest, call: Call
) -> Outcome[ListOffsetsResponse]:
    return in_slices(
        broker,
        _topics(broker, request, call),
        lambda topics: ListOffsetsResponse(topics=topics),
    )


def _topics(
    broker: Broker, request: ListOffsetsRequest, call: Call
) -> Steps[list[ListOffsetsTopicResponse]]:
    """Each partition is looked at once, so that its answer is of one moment."""
    asking = Asking(broker, request, call.version, call.now_ms)
    count, answers = 0, [ListOffsetsTopicResponse(topic.name) for topic in request.topics]
    for topic, told in zip(request.topics, answers, strict=True):
        for wanted in topic.partitions:
            answer = yield from asking.answer(topic.name, wanted)
            told.partitions.append(answer)
            count += 1
            if count % SLICE_ELEMENTS == 0:
                yield None
    return answers


def _is_searched(timestamp: int) -> bool:
    return timestamp >= 0 or timestamp == MAX_TIMESTAMP


@dataclass(slots=True)
class Asking:
    broker: Broker
    request: ListOffsetsRequest
    version: int
    now_ms: int
    found: Found = field(default_factory=dict)
    behind: dict[Place, Lag] = field(default_factory=dict)
    vacancies: dict[tuple[Leader, int], int] = field(default_factory=dict)

    def answer(
        self, topic: str, wanted: ListOffsetsPartition
    ) -> Steps[ListOffsetsPartitionResponse]:
        answer = ListOffsetsPartitionResponse(wanted.partition_index)
        try:
            leader = _leader(self.broker, topic, wanted, self.version)
            if _is_searched(wanted.timestamp):
                record = yield from self.search(leader, wanted.timestamp)
                if record is not None:
                    answer.timestamp, answer.offset = record.timestamp, record.offset
            else:
                answer.offset = self.boundary(leader, wanted.timestamp)
            if self.request.with_deleted:
                answer.deleted_to = leader.log.deleted_to
            if answer.offset >= 0:
                answer.leader_epoch = leader.log.epochs.epoch_at(answer.offset)
            if wanted.lag_of >= 0:
                lag = yield from self.lag(Place(topic, wanted.partition_index, wanted.lag_of))
                answer.lag = -1 if lag.messages is None else lag.messages
                answer.lag_ms = -1 if lag.waiting_ms is None else lag.waiting_ms
            if wanted.vacant_from >= 0:
                answer.vacant = yield from self.vacant(leader, wanted.vacant_from)
        except Refused as refused:
            answer.error_code = refused.code
        return answer

    def search(self, leader: Leader, timestamp: int) -> Steps[TimedOffset | None]:
        """Each once; a request may name a partition many times."""
        key = leader, timestamp
        if key not in self.found:
            yield None  # what this pass has appended is not written out yet
            self.found[key] = yield from _safely(leader, self.find(leader, timestamp))
        found = self.found[key]
        if leader.over is not None:
            raise Refused(leader.over, "this broker does not lead the partition any more")
        if isinstance(found, Refused):
            raise found
        return found

    def find(self, leader: Leader, timestamp: int) -> Steps[TimedOffset | None]:
        end, refusal = self.end(leader), self.refusal(leader)
        if timestamp == MAX_TIMESTAMP:
            if refusal:
                raise refusal
            return (yield from leader.log.max_timestamp(end))
        found = yield from leader.log.offset_for_timestamp(timestamp, end)
        if found is None and refusal:
            raise refusal
        return found

    def boundary(self, leader: Leader, question: int) -> int:
        if question == LATEST:
            if refusal := self.refusal(leader):
                raise refusal
            return self.end(leader)
        if question in (EARLIEST, EARLIEST_LOCAL):
            return leader.log.start_offset
        return NOTHING  # LATEST_TIERED

    def end(self, leader: Leader) -> int:
        """Where the log ends for this reader."""
        if self.request.replica_id == DEBUGGING:
            return leader.log.end_offset
        if self.request.isolation_level == READ_COMMITTED:
            return leader.last_stable_offset
        return leader.high_watermark

    def refusal(self, leader: Leader) -> Refused | None:
        """Why that end is not to be told, where it is not (KIP-207)."""
        if leader.knows_end or self.request.replica_id == DEBUGGING:
            return None
        is_known = self.version >= NOT_AVAILABLE_SINCE
        code = ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE
        return Refused(code, "the leader is new, and waits for the replicas that are in sync")

    def vacant(self, leader: Leader, first: int) -> Steps[int]:
        """Each once, as above: a request may name a partition many times."""
        key = leader, first
        if key not in self.vacancies:
            self.vacancies[key] = yield from self.count_vacant(leader, first)
        return self.vacancies[key]

    def count_vacant(self, leader: Leader, first: int) -> Steps[int]:
        committed = self.request.isolation_level == READ_COMMITTED
        try:
            return (yield from vacancies(leader, first, committed=committed))
        except Refused:
            return NOTHING
        except (OSError, Amiss) as problem:
            log.error("%s-%d cannot be counted: %s", leader.topic, leader.index, problem)
            return NOTHING

    def lag(self, place: Place) -> Steps[Lag]:
        """Each once, as above."""
        if place not in self.behind:
            yield None
            self.behind |= yield from lags(self.broker, [place], self.now_ms)
        return self.behind[place]


def _safely(
    leader: Leader, search: Steps[TimedOffset | None]
) -> Steps[TimedOffset | Refused | None]:
    """A partition whose files cannot be read must not keep the others from being searched."""
    try:
        return (yield from search)
    except Refused as refused:
        return refused
    except (OSError, Amiss) as problem:
        log.error("%s-%d cannot be searched: %s", leader.topic, leader.index, problem)
        return Refused(ErrorCode.KAFKA_STORAGE_ERROR)


def _leader(broker: Broker, topic: str, wanted: ListOffsetsPartition, version: int) -> Leader:
    """Whom to ask, if what is asked can be."""
    question = wanted.timestamp
    if question < 0 and version < ASKED_SINCE.get(question, version + 1):
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION, f"{question} is not known to version {version}"
        )
    leader = broker.read_leader(topic, wanted.partition_index)
    leader.check_epoch(wanted.current_leader_epoch)
    return leader
