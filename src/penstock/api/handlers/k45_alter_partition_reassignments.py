"""AlterPartitionReassignments: partitions that other brokers are to hold (KIP-455).

Null in place of replicas ends a move that is under way. Version 1 lets a client insist on the same
number of replicas as before (KIP-860). The partitions of a request share commits, but one that is
refused does not hold up the others. The answer says that a move has begun, not that it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from penstock.api.broker import Broker
from penstock.api.by_topic import by_topic
from penstock.api.call import Call
from penstock.api.change_each import change_each, error_of
from penstock.api.outcome import Outcome
from penstock.api.slices import in_slices, written
from penstock.errors import Refused
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.reassignment import reassign
from penstock.wire.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

Key = tuple[str, int]
"""A partition, by its topic's name and its index."""


def alter_partition_reassignments(
    broker: Broker, request: AlterPartitionReassignmentsRequest, call: Call
) -> Outcome[AlterPartitionReassignmentsResponse]:
    may_change_factor = request.allow_replication_factor_change

    def change(key: Key, replicas: list[int] | None) -> Callable[[Image], Commit[None]]:
        return partial(
            _reassign,
            key=key,
            replicas=replicas,
            nonce=broker.chance.uuid(),
            may_change_factor=may_change_factor,
        )

    def respond(
        answers: Mapping[Key, Refused | None],
    ) -> Outcome[AlterPartitionReassignmentsResponse]:
        topics = (
            ReassignableTopicResponse(
                name, [ReassignablePartitionResponse(index, *error_of(each)) for index, each in own]
            )
            for name, own in by_topic(answers).items()
        )
        return in_slices(
            broker,
            written(call.version, topics),
            lambda responses: AlterPartitionReassignmentsResponse(
                allow_replication_factor_change=may_change_factor, responses=responses
            ),
        )

    wanted = (
        ((topic.name, each.partition_index), each.replicas)
        for topic in request.topics
        for each in topic.partitions
    )
    return change_each(broker, ((key, change(key, given)) for key, given in wanted), respond)


def _reassign(
    image: Image, *, key: Key, replicas: list[int] | None, nonce: bytes, may_change_factor: bool
) -> Commit[None]:
    return reassign(image, *key, replicas, nonce=nonce, may_change_factor=may_change_factor)
