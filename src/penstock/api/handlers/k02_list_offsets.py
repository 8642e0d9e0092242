"""ListOffsets: where a partition begins and ends, and which offset a point in time has.

Timestamps below zero are questions: -1 the end (as the reader's isolation sees it), -2 the start,
-3 the record with the largest timestamp (version 7), -4 and -5 the ends of local and tiered
storage (versions 8 and 9; all of ours is local). Version 4 brought leader epochs. Replica id -2 is
a debugging client, which is told the end of the log even above the high watermark.
"""

from __future__ import annotations

from functools import partial

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome, Resume
from penstock.errors import ErrorCode, Refused
from penstock.replication.leader import Leader
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from penstock.world.ports import Cold

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
READ_COMMITTED = 1
DEBUGGING = -2
"""The replica id of a client that wants to see the log as it is, not as it is committed."""


def list_offsets(
    broker: Broker, request: ListOffsetsRequest, call: Call
) -> Outcome[ListOffsetsResponse]:
    try:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    topic.name,
                    [_answer(broker, topic.name, wanted, request) for wanted in topic.partitions],
                )
                for topic in request.topics
            ]
        )
    except Cold as cold:
        return Resume(partial(broker.warm, cold), lambda _: list_offsets(broker, request, call))


def _answer(
    broker: Broker, topic: str, wanted: ListOffsetsPartition, request: ListOffsetsRequest
) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(wanted.partition_index)
    try:
        leader = broker.leader(topic, wanted.partition_index)
        leader.check_epoch(wanted.current_leader_epoch)
        end = _end(leader, request)
        answer.timestamp, answer.offset = _find(leader, wanted.timestamp, end)
        if answer.offset >= 0:
            leader.log.open()
            answer.leader_epoch = leader.log.epochs.epoch_at(answer.offset)
    except Refused as refused:
        answer.error_code = refused.code
    return answer


def _end(leader: Leader, request: ListOffsetsRequest) -> int:
    """Where the log ends for this reader."""
    if request.replica_id == DEBUGGING:
        return leader.log.end_offset
    if request.isolation_level == READ_COMMITTED:
        return leader.last_stable_offset
    return leader.high_watermark


def _find(leader: Leader, timestamp: int, end: int) -> tuple[int, int]:
    """Timestamp and offset; -1, -1 where no record is so late."""
    log = leader.log
    if timestamp == LATEST:
        return -1, end
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.start_offset
    if timestamp == LATEST_TIERED:
        return -1, -1
    if timestamp == MAX_TIMESTAMP:
        found = log.max_timestamp()
    elif timestamp >= 0:
        found = log.offset_for_timestamp(timestamp, end)
    else:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{timestamp} asks for nothing known")
    return (found.timestamp, found.offset) if found else (-1, -1)
