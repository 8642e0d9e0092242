"""ListPartitionReassignments: partitions that are on the move, all of them or those asked for.

A partition that is not moving is left out, and so is one that there is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.slices import in_slices, written
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.reassignment import is_moving
from penstock.wire.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def list_partition_reassignments(
    broker: Broker, request: ListPartitionReassignmentsRequest, call: Call
) -> Outcome[ListPartitionReassignmentsResponse]:
    return in_slices(
        broker,
        written(call.version, _topics(broker.image, request)),
        lambda topics: ListPartitionReassignmentsResponse(topics=topics),
    )


def _topics(
    image: Image, request: ListPartitionReassignmentsRequest
) -> Iterator[OngoingTopicReassignment]:
    for topic, indexes in _wanted(image, request):
        if moving := list(_moving(topic, indexes)):
            yield OngoingTopicReassignment(topic.name, moving)


def _wanted(
    image: Image, request: ListPartitionReassignmentsRequest
) -> Iterator[tuple[Topic, Iterable[int]]]:
    if request.topics is None:
        for topic in list(image.topics.values()):
            yield topic, range(topic.record.partitions)
        return
    wanted: dict[str, dict[int, None]] = {}
    for asked in request.topics:
        wanted.setdefault(asked.name, {}).update(dict.fromkeys(asked.partition_indexes))
    for name, indexes in wanted.items():
        found = image.topic(name)
        if found is not None:
            yield found, indexes


def _moving(topic: Topic, indexes: Iterable[int]) -> Iterator[OngoingPartitionReassignment]:
    for index in indexes:
        record = topic.partition(index)
        if record is not None and is_moving(record):
            yield OngoingPartitionReassignment(
                index, list(record.replicas), list(record.adding), list(record.removing)
            )
