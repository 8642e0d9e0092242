"""DescribeProducers: who has written to a partition lately, and who has a transaction open.

A partition that is asked for twice is answered once.
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
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Steps
from penstock.wire.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def _named(request: DescribeProducersRequest) -> Iterator[tuple[str, int]]:
    for topic in request.topics:
        yield from ((topic.name, index) for index in topic.partition_indexes)


@open_first(_named)
def describe_producers(
    broker: Broker, request: DescribeProducersRequest, call: Call
) -> Outcome[DescribeProducersResponse]:
    return in_slices(
        broker,
        _topics(broker, request, call.version),
        lambda topics: DescribeProducersResponse(topics=topics),
    )


def _topics(broker: Broker, request: DescribeProducersRequest, version: int) -> Steps[Any]:
    topics = Writing(version)
    wanted: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        wanted.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    for name, indexes in wanted.items():
        partitions: Any = Writing(version, inside=topics, at_once=SLICE_HEAVY)
        for index in indexes:
            answer = yield from _answer(broker, name, index, version, partitions)
            if partitions.add(answer):
                yield None
        if topics.add(TopicResponse(name, partitions)):
            yield None
    return topics


def _answer(
    broker: Broker, topic: str, index: int, version: int, partitions: Writing
) -> Steps[PartitionResponse]:
    answer = PartitionResponse(index)
    try:
        partitions.check_room()
        log = broker.leader(topic, index).log
        log.open()
        answer.active_producers = yield from written(version, _states(log), inside=partitions)
    except Refused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message
    return answer


def _states(log: PartitionLog) -> Iterator[ProducerState]:
    for producer_id, producer in list(log.producers.producers.items()):
        yield ProducerState(
            producer_id=producer_id,
            producer_epoch=producer.epoch,
            last_sequence=producer.last_sequence,
            last_timestamp=producer.latest_timestamp,
            coordinator_epoch=producer.coordinator_epoch,
            current_txn_start_offset=producer.txn_first_offset,
        )
