"""CreatePartitions: more partitions for topics; `count` is how many there are to be in all.

The topics of a request share commits, which is why the partitions that it adds are limited; a topic
that is refused does not hold up the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.change_each import change_each, error_of
from penstock.api.outcome import Outcome
from penstock.api.slices import in_slices, written
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import PARTITIONS_MAX, Commit, add_partitions
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import refuse_internal
from penstock.metadata.records import TopicRecord
from penstock.wire.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


def create_partitions(
    broker: Broker, request: CreatePartitionsRequest, call: Call
) -> Outcome[CreatePartitionsResponse]:
    if sum(_added(broker.image, topic) for topic in request.topics) > PARTITIONS_MAX:
        raise Refused(
            ErrorCode.POLICY_VIOLATION,
            f"one request adds at most {PARTITIONS_MAX} partitions; use several",
        )

    def respond(answers: Mapping[str, object]) -> Outcome[CreatePartitionsResponse]:
        return in_slices(
            broker,
            written(call.version, _results(answers)),
            lambda results: CreatePartitionsResponse(results=results),
        )

    return change_each(
        broker,
        (
            (
                topic.name,
                partial(_add, topic=topic, nonce=broker.chance.uuid(), now_ms=call.now_ms),
            )
            for topic in request.topics
        ),
        respond,
        validate_only=request.validate_only,
    )


def _added(image: Image, wanted: CreatePartitionsTopic) -> int:
    topic = image.topic(wanted.name)
    return max(wanted.count - topic.record.partitions, 0) if topic else 0


def _add(
    image: Image, *, topic: CreatePartitionsTopic, nonce: bytes, now_ms: int
) -> Commit[TopicRecord]:
    refuse_internal(topic.name)
    given = topic.assignments
    assignments = None if given is None else [each.broker_ids for each in given]
    return add_partitions(
        image, topic.name, topic.count, nonce=nonce, assignments=assignments, now_ms=now_ms
    )


def _results(answers: Mapping[str, object]) -> Iterator[CreatePartitionsTopicResult]:
    for name, answer in answers.items():
        yield CreatePartitionsTopicResult(name, *error_of(answer))


def create_partitions_failed(
    request: CreatePartitionsRequest, code: ErrorCode, message: str
) -> CreatePartitionsResponse:
    refused = dict.fromkeys((topic.name for topic in request.topics), Refused(code, message))
    return CreatePartitionsResponse(results=list(_results(refused)))
