"""CreateTopics: topics by numbers of partitions and replicas, or with every replica named.

-1 for either number means the broker's default (KIP-464). Version 5 brought the settings of the new
topic in the answer (KIP-525), 7 its id. All topics of a request are one commit, which is why their
partitions together are limited; a topic that is refused does not hold up the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.change_each import change_each, error_of
from penstock.api.described_configs import describe_topic
from penstock.api.outcome import Outcome
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import PARTITIONS_MAX, Commit, alike, collides, create_topic
from penstock.metadata.image import Image
from penstock.metadata.records import TopicRecord
from penstock.wire.codec import NULL_UUID
from penstock.wire.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

BY_DEFAULT = -1
CONFIGS_SINCE = 5


def create_topics(
    broker: Broker, request: CreateTopicsRequest, call: Call
) -> Outcome[CreateTopicsResponse]:
    if sum(_partitions(broker, topic) for topic in request.topics) > PARTITIONS_MAX:
        raise Refused(
            ErrorCode.POLICY_VIOLATION,
            f"one request creates at most {PARTITIONS_MAX} partitions; use several",
        )
    collisions = alike(topic.name for topic in request.topics)

    def decide(image: Image, topic: CreatableTopic, topic_id: bytes) -> Commit[TopicRecord]:
        if topic.name in collisions:
            raise collides(topic.name, collisions[topic.name])
        return _create(broker, image, topic, topic_id, call.now_ms)

    def respond(answers: Mapping[str, TopicRecord | Refused]) -> CreateTopicsResponse:
        results = [_result(broker, name, answer, call) for name, answer in answers.items()]
        if request.validate_only:
            for result in results:
                result.topic_id = NULL_UUID  # there is no such topic
        return CreateTopicsResponse(topics=results)

    return change_each(
        broker,
        [
            (topic.name, partial(decide, topic=topic, topic_id=broker.chance.uuid()))
            for topic in request.topics
        ],
        respond,
        validate_only=request.validate_only,
    )


def _partitions(broker: Broker, topic: CreatableTopic) -> int:
    """How many it is to have."""
    if topic.assignments:
        return len(topic.assignments)
    default = broker.config.num_partitions
    return default if topic.num_partitions == BY_DEFAULT else max(topic.num_partitions, 0)


def _create(
    broker: Broker, image: Image, topic: CreatableTopic, topic_id: bytes, now_ms: int
) -> Commit[TopicRecord]:
    assignments = _assignments(topic.assignments)
    partitions, replication = topic.num_partitions, topic.replication_factor
    if not assignments:
        partitions = _partitions(broker, topic)
        if replication == BY_DEFAULT:
            replication = broker.config.default_replication_factor
    return create_topic(
        image,
        topic.name,
        topic_id=topic_id,
        now_ms=now_ms,
        partitions=partitions,
        replication=replication,
        assignments=assignments,
        configs={config.name: config.value for config in topic.configs},
    )


def _assignments(given: list[CreatableReplicaAssignment]) -> dict[int, list[int]]:
    assignments: dict[int, list[int]] = {}
    for each in given:
        if each.partition_index in assignments:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"partition {each.partition_index} is given its replicas twice",
            )
        assignments[each.partition_index] = each.broker_ids
    return assignments


def _result(
    broker: Broker, name: str, answer: TopicRecord | Refused, call: Call
) -> CreatableTopicResult:
    code, message = error_of(answer)
    result = CreatableTopicResult(name, error_code=code, error_message=message)
    if isinstance(answer, Refused):
        return result
    result.topic_id = answer.topic_id
    result.num_partitions = answer.partitions
    result.replication_factor = answer.replication_factor
    if call.version >= CONFIGS_SINCE:
        result.configs = [
            CreatableTopicConfigs(
                each.name, each.value, each.read_only, each.source, each.setting.secret
            )
            for each in describe_topic(broker, answer)
        ]
    return result


def create_topics_failed(
    request: CreateTopicsRequest, code: ErrorCode, message: str
) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(topic.name, error_code=code, error_message=message)
            for topic in request.topics
        ]
    )
