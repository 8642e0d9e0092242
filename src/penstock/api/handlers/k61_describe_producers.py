"""DescribeProducers: who has written to a partition lately, and who has a transaction open."""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.errors import Refused
from penstock.wire.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def describe_producers(
    broker: Broker, request: DescribeProducersRequest, call: Call
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name,
                [_answer(broker, topic.name, index) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _answer(broker: Broker, topic: str, index: int) -> PartitionResponse:
    answer = PartitionResponse(index)
    try:
        log = broker.leader(topic, index).log
        log.open()
    except Refused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message
        return answer
    for producer_id, producer in log.producers.producers.items():
        answer.active_producers.append(
            ProducerState(
                producer_id=producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.txn_first_offset,
            )
        )
    return answer
