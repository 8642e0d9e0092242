"""DescribeTopicPartitions: topics in the order of their names, a bounded piece at a time (KIP-966).

An empty list asks for all topics. Where there is more than fits, the answer ends with a cursor, and
the same request with that cursor goes on from there. A single topic may take several answers. Names
that no topic has take no room: there are never more of them than in the request.

Tagged fields of our own tell of a topic that is to have fewer partitions: how far that is, and, of
closing partitions that this broker leads, which clients still write to them.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import check_new_name
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import INTERNAL
from penstock.metadata.records import Closing, PartitionRecord
from penstock.wire.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    Writer,
)

PARTITIONS_MAX = 2000
"""In one answer, whatever the client asks for."""


def describe_topic_partitions(
    broker: Broker, request: DescribeTopicPartitionsRequest, call: Call
) -> DescribeTopicPartitionsResponse:
    image, start = broker.image, request.cursor or Cursor()
    names = _names(image, request, start)
    room = max(1, min(request.response_partition_limit, PARTITIONS_MAX))
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if room <= 0:
            response.next_cursor = Cursor(name, 0)
            break
        first = start.partition_index if name == start.topic_name else 0
        answer = _describe(broker, name, first, room)
        response.topics.append(answer)
        room -= len(answer.partitions)
        after = first + len(answer.partitions)
        topic = image.readable.topic(name)
        if topic is not None and after < topic.record.partitions:
            response.next_cursor = Cursor(name, after)
            break
    return response


def _names(image: Image, request: DescribeTopicPartitionsRequest, start: Cursor) -> list[str]:
    """From the cursor on, sorted; each once."""
    asked = {topic.name for topic in request.topics}
    if request.cursor is not None:
        if start.partition_index < 0:
            raise Refused(ErrorCode.INVALID_REQUEST, "the cursor is at a partition below 0")
        if asked and start.topic_name not in asked:
            raise Refused(
                ErrorCode.INVALID_REQUEST, "the cursor is at a topic that was not asked for"
            )
    return sorted(name for name in asked or image.readable.topics if name >= start.topic_name)


def _describe(
    broker: Broker, name: str, first: int, room: int
) -> DescribeTopicPartitionsResponseTopic:
    image = broker.image
    topic = image.readable.topic(name)
    if topic is None:
        return DescribeTopicPartitionsResponseTopic(_missing(image, name), name)
    answer = DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=topic.shown_id,
        is_internal=name in INTERNAL,
        partitions=[
            _partition(image, index, topic)
            for index in range(first, min(first + room, topic.record.partitions))
        ],
    )
    if topic.record.closing is not None:
        _add_closing(broker, topic, topic.record.closing, answer)
    if topic.record.sealed is not None:
        answer.sealed_from = topic.record.sealed.name
    return answer


def _add_closing(
    broker: Broker, topic: Topic, closing: Closing, answer: DescribeTopicPartitionsResponseTopic
) -> None:
    answer.open_partitions = topic.open_partitions
    answer.closing_since_ms = closing.since_ms
    answer.closed_ms = closing.closed_ms or -1
    answer.reopened_ms = closing.reopened_ms or -1
    answer.reopened_reason = closing.reason
    for part in answer.partitions:
        leader = broker.open_leader(topic.id, part.partition_index)
        writers = leader.writing.writers.items() if leader else ()
        part.writers = [Writer(client_id, last_ms) for client_id, last_ms in writers]


def _missing(image: Image, name: str) -> ErrorCode:
    """Whether there could be such a topic; one whose name collides with another's is unknown."""
    if image.colliding(name) is None:
        try:
            check_new_name(image, name)
        except Refused as refused:
            return refused.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _partition(image: Image, index: int, topic: Topic) -> DescribeTopicPartitionsResponsePartition:
    record = topic.partition(index)
    if record is None:
        return DescribeTopicPartitionsResponsePartition(
            ErrorCode.LEADER_NOT_AVAILABLE, index, leader_id=-1
        )
    return _held_partition(image, index, record)


def _held_partition(
    image: Image, index: int, record: PartitionRecord
) -> DescribeTopicPartitionsResponsePartition:
    has_leader = record.leader in image.brokers
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=record.leader if has_leader else -1,
        leader_epoch=record.leader_epoch,
        replica_nodes=list(record.replicas),
        isr_nodes=list(record.isr),
        eligible_leader_replicas=list(record.eligible),
        last_known_elr=[],
        offline_replicas=[node for node in record.replicas if node not in image.brokers],
    )


def describe_topic_partitions_failed(
    request: DescribeTopicPartitionsRequest, code: ErrorCode, message: str
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[DescribeTopicPartitionsResponseTopic(code, each.name) for each in request.topics]
    )
