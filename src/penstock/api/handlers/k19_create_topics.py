"""CreateTopics: topics by numbers of partitions and replicas, or with every replica named.

-1 for either number means the broker's default (KIP-464). Version 5 brought the settings of the new
topic in the answer (KIP-525), 7 its id. The topics of a request share commits, which is why their
partitions together are limited; a topic that is refused does not hold up the others. Views of
topics in the same request come after these. Where it is only to be validated, they are refused,
since their topics are not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.change_each import change_each, error_of
from penstock.api.described_configs import describe_topic
from penstock.api.outcome import Outcome
from penstock.api.slices import SLICE_HEAVY, Writing, in_slices
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.changes import PARTITIONS_MAX, Commit, alike, collides, create_topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import refuse_internal
from penstock.metadata.records import TopicRecord
from penstock.metadata.view_changes import create_view, names_view
from penstock.metadata.views import VIEW_OF
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

    def respond(answers: Mapping[str, TopicRecord | Refused]) -> Outcome[CreateTopicsResponse]:
        steps = _results(broker, answers, call, request.validate_only)
        return in_slices(broker, steps, lambda topics: CreateTopicsResponse(topics=topics))

    def create(
        topics: Iterable[CreatableTopic],
        then: Callable[[Mapping[str, TopicRecord | Refused]], Outcome[CreateTopicsResponse]],
    ) -> Outcome[CreateTopicsResponse]:
        changes = (
            (topic.name, partial(decide, topic=topic, topic_id=broker.chance.uuid()))
            for topic in topics
        )
        return change_each(broker, changes, then, validate_only=request.validate_only)

    last = _of_others_here(request.topics)
    if not last:
        return create(request.topics, respond)
    return create(
        (topic for topic in request.topics if topic.name not in last),
        lambda before: create(
            last.values(),
            lambda after: respond(_in_order(request.topics, {**before, **after})),
        ),
    )


def _of_others_here(topics: Sequence[CreatableTopic]) -> dict[str, CreatableTopic]:
    """Views of topics that are made by the same request; not those whose names come twice in it."""
    counts = Counter(topic.name for topic in topics)
    return {
        topic.name: topic
        for topic in topics
        for config in topic.configs
        if config.name == VIEW_OF and config.value in counts and counts[topic.name] == 1
    }


def _in_order(
    topics: Iterable[CreatableTopic], answers: Mapping[str, TopicRecord | Refused]
) -> dict[str, TopicRecord | Refused]:
    return {topic.name: answers[topic.name] for topic in topics}


def _partitions(broker: Broker, topic: CreatableTopic) -> int:
    """How many it is to have."""
    if topic.assignments:
        return len(topic.assignments)
    default = broker.config.num_partitions
    return default if topic.num_partitions == BY_DEFAULT else max(topic.num_partitions, 0)


def _create(
    broker: Broker, image: Image, topic: CreatableTopic, topic_id: bytes, now_ms: int
) -> Commit[TopicRecord]:
    refuse_internal(topic.name)
    configs = {config.name: config.value for config in topic.configs}
    if names_view(configs):
        return _create_view(image, topic, configs, topic_id, now_ms)
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
        configs=configs,
    )


def _create_view(
    image: Image,
    topic: CreatableTopic,
    configs: Mapping[str, str | None],
    view_id: bytes,
    now_ms: int,
) -> Commit[TopicRecord]:
    if topic.assignments:
        raise Refused(ErrorCode.INVALID_REQUEST, "a view has no replicas of its own to be placed")
    return create_view(
        image,
        topic.name,
        configs,
        view_id=view_id,
        now_ms=now_ms,
        partitions=topic.num_partitions,
        replication=topic.replication_factor,
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


def _results(
    broker: Broker, answers: Mapping[str, TopicRecord | Refused], call: Call, validate_only: bool
) -> Steps[Any]:
    results = Writing(call.version, at_once=SLICE_HEAVY)
    for name, answer in answers.items():
        result = _result(name, answer)
        if call.version >= CONFIGS_SINCE and not isinstance(answer, Refused):
            _add_configs(result, broker, answer, results)
        if validate_only:
            result.topic_id = NULL_UUID  # there is no such topic
        if results.add(result):
            yield None
    return results


def _result(name: str, answer: TopicRecord | Refused) -> CreatableTopicResult:
    code, message = error_of(answer)
    result = CreatableTopicResult(name, error_code=code, error_message=message)
    if isinstance(answer, Refused):
        return result
    result.topic_id = answer.topic_id
    result.num_partitions = answer.partitions
    result.replication_factor = answer.replication_factor
    return result


def _add_configs(
    result: CreatableTopicResult, broker: Broker, topic: TopicRecord, results: Writing
) -> None:
    """Where there is no room for them in the answer, an error of their own says so."""
    try:
        results.check_room()
    except Refused as refused:
        result.topic_config_error_code, result.configs = refused.code, None
        return
    result.configs = [
        CreatableTopicConfigs(
            each.name, each.value, each.read_only, each.source, each.setting.secret
        )
        for each in describe_topic(broker, topic)
    ]


def create_topics_failed(
    request: CreateTopicsRequest, code: ErrorCode, message: str
) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(topic.name, error_code=code, error_message=message)
            for topic in request.topics
        ]
    )
