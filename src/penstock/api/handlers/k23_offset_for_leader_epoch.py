"""OffsetForLeaderEpoch: where a leader's epoch ended, so that a reader notices truncation.

The answer is for the largest epoch at or below the one asked for (KIP-279).
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.errors import Refused
from penstock.wire.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def offset_for_leader_epoch(
    broker: Broker, request: OffsetForLeaderEpochRequest, call: Call
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic.topic, [_answer(broker, topic.topic, part) for part in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _answer(broker: Broker, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=wanted.partition)
    try:
        leader = broker.leader(topic, wanted.partition)
        leader.check_epoch(wanted.current_leader_epoch)
        answer.leader_epoch, answer.end_offset = leader.log.epoch_end_offset(wanted.leader_epoch)
    except Refused as refused:
        answer.error_code = refused.code
    return answer
