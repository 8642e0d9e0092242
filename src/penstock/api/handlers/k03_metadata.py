"""Metadata: brokers, topics, and who leads what.

Version 0 asks for all topics with an empty list, later ones with null. Version 10 brought topic
ids, 12 questions by id. A topic that is asked for by name and not there is created where both the
client (version 4) and `auto.create.topics.enable` allow it, and the answer waits for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Change, Outcome
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit, check_new_name, create_topic
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.records import PartitionRecord
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
    missing = [item.name for item in wanted if may_create and _is_missing(broker.image, item)]
    return _create(broker, request, list(dict.fromkeys(missing)), call.now_ms)


def _is_missing(image: Image, item: MetadataRequestTopic) -> bool:
    """Whether it could be created: it has a name that may be one, and is not there."""
    if item.name is None or item.topic_id != NULL_UUID or image.topic(item.name):
        return False
    try:
        check_new_name(image, item.name)
    except Refused:
        return False
    return True


def _create(
    broker: Broker, request: MetadataRequest, missing: Sequence[str | None], now_ms: int
) -> Outcome[MetadataResponse]:
    """Create what is missing, one after the other, then answer."""
    if not missing or missing[0] is None:
        return _answer(broker, request)
    name, topic_id = missing[0], broker.chance.uuid()

    def decide(image: Image) -> Commit[Any]:
        if image.topic(name):  # someone else was faster
            return Commit(None)
        return create_topic(
            image,
            name,
            topic_id=topic_id,
            now_ms=now_ms,
            partitions=broker.config.num_partitions,
            replication=broker.config.default_replication_factor,
        )

    return Change(decide, lambda _: _create(broker, request, missing[1:], now_ms))


def _answer(broker: Broker, request: MetadataRequest) -> MetadataResponse:
    topics = [_find(broker.image, item) for item in request.topics or ()]
    return _response(broker, topics)


def _find(image: Image, item: MetadataRequestTopic) -> MetadataResponseTopic:
    if item.topic_id != NULL_UUID:
        topic = image.topic_by_id(item.topic_id)
        missing = ErrorCode.UNKNOWN_TOPIC_ID
    else:
        topic = image.topic(item.name or "")
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic is not None:
        return _describe(image, topic)
    if item.name is not None:
        try:
            check_new_name(image, item.name)
        except Refused as refused:
            missing = refused.code
    return MetadataResponseTopic(missing, item.name, item.topic_id)


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
