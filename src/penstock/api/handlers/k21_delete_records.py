"""DeleteRecords: move a partition's start. -1 means up to the high watermark.

Of a partition that comes twice the last offset counts, as in Kafka.
"""

from __future__ import annotations

from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.slices import SLICE_HEAVY, Writing, in_slices, written
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.internal_topics import refuse_internal
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

UP_TO_HIGH_WATERMARK = -1


def delete_records(
    broker: Broker, request: DeleteRecordsRequest, call: Call
) -> Outcome[DeleteRecordsResponse]:
    return in_slices(
        broker,
        _topics(broker, request, call.version),
        lambda topics: DeleteRecordsResponse(topics=topics),
    )


def _topics(broker: Broker, request: DeleteRecordsRequest, version: int) -> Steps[Any]:
    topics = Writing(version)
    for name, offsets in _wanted(request).items():
        results = (_delete(broker, name, index, offset) for index, offset in offsets.items())
        partitions = yield from written(version, results, at_once=SLICE_HEAVY)
        if topics.add(DeleteRecordsTopicResult(name, partitions)):
            yield None
    return topics


def _wanted(request: DeleteRecordsRequest) -> dict[str, dict[int, int]]:
    """Offsets by topic and partition."""
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = wanted.setdefault(topic.name, {})
        offsets.update((each.partition_index, each.offset) for each in topic.partitions)
    return wanted


def _delete(broker: Broker, topic: str, index: int, offset: int) -> DeleteRecordsPartitionResult:
    answer = DeleteRecordsPartitionResult(index, low_watermark=-1)
    try:
        refuse_internal(topic)
        leader = broker.leader(topic, index)
        log = leader.log
        if not log.config.deletes:
            raise Refused(ErrorCode.POLICY_VIOLATION, "the topic is compacted, not deleted")
        if offset == UP_TO_HIGH_WATERMARK:
            offset = leader.high_watermark
        if not 0 <= offset <= leader.high_watermark:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset} is past the high watermark")
        broker.advance_start(leader, offset)
        answer.low_watermark = log.start_offset
    except Refused as refused:
        answer.error_code = refused.code
    return answer
