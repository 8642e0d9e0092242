"""DeleteRecords: move a partition's start. -1 means up to the high watermark."""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

UP_TO_HIGH_WATERMARK = -1


def delete_records(
    broker: Broker, request: DeleteRecordsRequest, call: Call
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name, [_delete(broker, topic.name, part) for part in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _delete(
    broker: Broker, topic: str, wanted: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    answer = DeleteRecordsPartitionResult(wanted.partition_index, low_watermark=-1)
    try:
        leader = broker.leader(topic, wanted.partition_index)
        log = leader.log
        if not log.config.deletes:
            raise Refused(ErrorCode.POLICY_VIOLATION, "the topic is compacted, not deleted")
        offset = wanted.offset
        if offset == UP_TO_HIGH_WATERMARK:
            offset = leader.high_watermark
        if not 0 <= offset <= leader.high_watermark:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset} is past the high watermark")
        broker.advance_start(leader, offset)
        answer.low_watermark = log.start_offset
    except Refused as refused:
        answer.error_code = refused.code
    return answer
