"""Metadata: brokers, topics, and who leads what.

Version 0 asks for all topics with an empty list, later ones with null. Version 10 brought topic
ids, 12 questions by id. A topic that is asked for by name and not there is created where both the
client (version 4) and `auto.create.topics.enable` allow it, and the answer waits for that. What is
asked for twice is answered once.

A tagged field of our own says how many partitions are to stay, where a topic is to lose some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.change_each import change_each
from penstock.api.outcome import Outcome
from penstock.api.slices import SLICE_ELEMENTS, Writing, in_slices, written
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.changes import Commit, alike, collides, create_topic, is_topic_name
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import INTERNAL
from penstock.metadata.records import PartitionRecord, TopicRecord
from penstock.metadata.views import View
from penstock.wire.codec import NULL_UUID
from penstock.wire.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

BY_ID_SINCE = 12
CREATED_MAX = 1000
"""For one request. Clients ask again for topics that are not there yet."""

Created = Mapping[str, TopicRecord | Refused]
Found = Topic | MetadataResponseTopic
"""A topic, or the answer to a question for one that is not there."""


Asked = tuple[str | None, bytes]
"""Name and id."""


def metadata(broker: Broker, request: MetadataRequest, call: Call) -> Outcome[MetadataResponse]:
    wanted = request.topics
    if wanted is None or (call.version == 0 and not wanted):
        return _answer(broker, call.version, list(broker.image.readable.topics.values()))
    asked = list(dict.fromkeys([(item.name, item.topic_id) for item in wanted]))
    if call.version < BY_ID_SINCE and any(
        name is None or topic_id != NULL_UUID for name, topic_id in asked
    ):
        return _answer(broker, call.version, map(_refused, asked))
    may_create = broker.config.auto_create_topics and request.allow_auto_topic_creation
    names = _to_create(broker.image, asked) if may_create else []
    if not names:
        return _find(broker, call.version, asked, {})
    collisions = alike(names)
    return change_each(
        broker,
        ((name, _creation(broker, name, collisions.get(name), call.now_ms)) for name in names),
        partial(_find, broker, call.version, asked),
    )


def _refused(asked: Asked) -> MetadataResponseTopic:
    """To a client that asks by id in a version in which it cannot."""
    name, topic_id = asked
    return MetadataResponseTopic(ErrorCode.INVALID_REQUEST, name or "", topic_id)


def _to_create(image: Image, asked: Sequence[Asked]) -> list[str]:
    known = image.readable.topic
    missing = (
        name
        for name, topic_id in asked
        if name and topic_id == NULL_UUID and known(name) is None and name not in INTERNAL
    )
    return sorted(islice(missing, CREATED_MAX))


def _creation(
    broker: Broker, name: str, collision: str | None, now_ms: int
) -> Callable[[Image], Commit[Any]]:
    topic_id = broker.chance.uuid()

    def decide(image: Image) -> Commit[Any]:
        if image.readable.topic(name):  # someone else was faster
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


def _find(
    broker: Broker, version: int, asked: Sequence[Asked], created: Created
) -> Outcome[MetadataResponse]:
    return _answer(broker, version, (_found(broker.image, each, created) for each in asked))


def _found(image: Image, asked: Asked, created: Created) -> Found:
    name, topic_id = asked
    by_id = topic_id != NULL_UUID
    topic = image.shown.topic(topic_id) if by_id else image.readable.topic(name or "")
    if topic is not None:
        return topic
    code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    refused = created.get(name or "")
    if isinstance(refused, Refused):
        code = refused.code
    elif not by_id and not is_topic_name(name or ""):
        code = ErrorCode.INVALID_TOPIC
    return MetadataResponseTopic(code, name, topic_id)


def _answer(broker: Broker, version: int, found: Iterable[Found]) -> Outcome[MetadataResponse]:
    return in_slices(
        broker, _topics(broker.image, version, found), lambda topics: _response(broker, topics)
    )


def _topics(image: Image, version: int, found: Iterable[Found]) -> Steps[Any]:
    topics = Writing(version)
    for each in found:
        if isinstance(each, Topic):
            each = yield from _describe(image, each, version, topics)  # noqa: PLW2901
        if topics.add(each):
            yield None
    return topics


def _describe(
    image: Image, topic: Topic, version: int, topics: Writing
) -> Steps[MetadataResponseTopic]:
    """Where there is no room left in the answer, the topic says so in place of its partitions."""
    answer = MetadataResponseTopic(
        name=topic.name, topic_id=topic.shown_id, is_internal=topic.name in INTERNAL
    )
    _tell_origin(topic, answer)
    try:
        topics.check_room()
        partitions = _partitions(image, topic)
        if len(topic.partitions) > SLICE_ELEMENTS:
            answer.partitions = yield from written(version, partitions, inside=topics)
        else:
            answer.partitions = list(partitions)
    except Refused as refused:
        answer.error_code = refused.code
    return answer


def _tell_origin(topic: Topic, answer: MetadataResponseTopic) -> None:
    """For readers of our own: what a partition was before its topic lost some."""
    if isinstance(topic, View):
        answer.view_of = topic.source.name
    if topic.record.closing is not None:
        answer.open_partitions = topic.open_partitions
    if topic.shown_id != topic.id:
        answer.log_id = topic.id
    if topic.record.sealed is not None:
        answer.sealed_from = topic.record.sealed.name
        answer.sealed_first = topic.record.sealed.first


def _partitions(image: Image, topic: Topic) -> Iterator[MetadataResponsePartition]:
    for index, record in enumerate(topic.partitions):
        if record is not None:
            yield _partition(image, index, record)


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
        log_id=record.log_id or NULL_UUID,
    )


def _response(broker: Broker, topics: Any) -> MetadataResponse:
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
