"""OffsetForLeaderEpoch: where a leader's epoch ended, so that a reader notices truncation.

The answer is for the largest epoch at or below the one asked for (KIP-279).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.open_first import open_first
from penstock.api.outcome import Outcome
from penstock.api.slices import SLICE_HEAVY, Writing, in_slices, written
from penstock.errors import Refused
from penstock.log.steps import Steps
from penstock.wire.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def _named(request: OffsetForLeaderEpochRequest) -> Iterator[tuple[str, int]]:
    for topic in request.topics:
        yield from ((topic.topic, each.partition) for each in topic.partitions)


@open_first(_named)
def offset_for_leader_epoch(
    broker: Broker, request: OffsetForLeaderEpochRequest, call: Call
) -> Outcome[OffsetForLeaderEpochResponse]:
    return in_slices(
        broker,
        _topics(broker, request, call.version),
        lambda topics: OffsetForLeaderEpochResponse(topics=topics),
    )


def _topics(broker: Broker, request: OffsetForLeaderEpochRequest, version: int) -> Steps[Any]:
    topics = Writing(version)
    for topic in request.topics:
        answers = (_answer(broker, topic.topic, each) for each in topic.partitions)
        partitions = yield from written(version, answers, at_once=SLICE_HEAVY)
        if topics.add(OffsetForLeaderTopicResult(topic.topic, partitions)):
            yield None
    return topics


def _answer(broker: Broker, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=wanted.partition)
    try:
        leader = broker.read_leader(topic, wanted.partition)
        leader.check_epoch(wanted.current_leader_epoch)
        answer.leader_epoch, answer.end_offset = leader.epoch_end_offset(wanted.leader_epoch)
    except Refused as refused:
        answer.error_code = refused.code
    return answer
