"""Metadata: brokers, topics, and who leads what.

Version 0 asks for all topics with an empty list, later ones with null. Version 10 brought topic
ids, 12 questions by id. A topic that is asked for by name and not there is created where both the
client (version 4) and `auto.create.topics.enable` allow it, and the answer waits for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.change_each import change_each
from penstock.api.outcome import Outcome
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit, alike, collides, create_topic, is_topic_name
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.records import PartitionRecord, TopicRecord
from penstock.wire.codec import NULL_UUID
from penstock.wire.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def metadata(broker: Broker, request: MetadataRequest, call: Call) -> Outcome[MetadataResponse]:
    wanted = request.topics
    if wanted is None or (call.version == 0 and not wanted):
        topics = [_describe(broker.image, topic) for topic in broker.image.topics.values()]
        return _response(broker, topics)
    may_create = broker.config.auto_create_topics and request.allow_auto_topic_creation
    names = {
        item.name or "" for item in wanted if may_create and _could_be_created(broker.image, item)
    }
    if not names:
        return _answer(broker, wanted, {})
    collisions = alike(sorted(names))
    creations = [
        (name, _creation(broker, name, collisions.get(name), call.now_ms)) for name in sorted(names)
    ]
    return change_each(broker, creations, partial(_answer, broker, wanted))


def _could_be_created(image: Image, item: MetadataRequestTopic) -> bool:
    return bool(item.name) and item.topic_id == NULL_UUID and image.topic(item.name or "") is None


def _creation(
    broker: Broker, name: str, collision: str | None, now_ms: int
) -> Callable[[Image], Commit[Any]]:
    topic_id = broker.chance.uuid()

    def decide(image: Image) -> Commit[Any]:
        if image.topic(name):  # someone else was faster
            return Commit(None)
        if collision is not None:
            raise collides(name, collision)
        return create_topic(
            image,
            name,
            topic_id=topic_id,
            now_ms=now_ms,
            partitions=broker.config.num_partitions,
            replication=broker.config.default_replication_factor,
        )

    return decide


def _answer(
    broker: Broker,
    wanted: Sequence[MetadataRequestTopic],
    created: Mapping[str, TopicRecord | Refused],
) -> MetadataResponse:
    return _response(broker, [_find(broker.image, item, created) for item in wanted])


def _find(
    image: Image, item: MetadataRequestTopic, created: Mapping[str, TopicRecord | Refused]
) -> MetadataResponseTopic:
    by_id = item.topic_id != NULL_UUID
    topic = image.topic_by_id(item.topic_id) if by_id else image.topic(item.name or "")
    if topic is not None:
        return _describe(image, topic)
    code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    refused = created.get(item.name or "")
    if isinstance(refused, Refused):
        code = refused.code
    elif not by_id and not is_topic_name(item.name or ""):
        code = ErrorCode.INVALID_TOPIC
    return MetadataResponseTopic(code, item.name, item.topic_id)


def _describe(image: Image, topic: Topic) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        partitions=[
            _partition(image, index, record)
            for index, record in enumerate(topic.partitions)
            if record is not None
        ],
    )


def _partition(image: Image, index: int, record: PartitionRecord) -> MetadataResponsePartition:
    has_leader = record.leader in image.brokers
    return MetadataResponsePartition(
        error_code=ErrorCode.NONE if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=record.leader if has_leader else -1,
        leader_epoch=record.leader_epoch,
        replica_nodes=list(record.replicas),
        isr_nodes=list(record.isr),
        offline_replicas=[node for node in record.replicas if node not in image.brokers],
    )


def _response(broker: Broker, topics: list[MetadataResponseTopic]) -> MetadataResponse:
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id, member.record.host, member.record.port, member.record.rack or None
            )
            for node_id, member in broker.image.brokers.items()
        ],
        cluster_id=broker.image.cluster_id,
        controller_id=broker.controller_id,
        topics=topics,
    )
