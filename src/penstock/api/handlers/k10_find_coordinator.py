"""FindCoordinator: which broker looks after a group, a transactional id, or a share.

Version 1 brought the type of the key, 4 several keys in one request (KIP-699). The first that asks
makes the topic that what it asks about is kept in. Version 6 brought shares: partitions in share
groups, of which brokers ask. A share group itself is a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Change, Outcome
from penstock.api.slices import in_slices, written
from penstock.coordination.share.names import read_name
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import OFFSETS, SHARES, TRANSACTIONS, create_internal_topic
from penstock.metadata.records import BrokerRecord, PartitionRecord, TopicRecord
from penstock.wire.messages.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

R = TypeVar("R")

GROUP, TRANSACTION, SHARE = 0, 1, 2
MANY_KEYS_SINCE, SHARES_SINCE = 4, 6
TOPICS = {GROUP: OFFSETS, TRANSACTION: TRANSACTIONS, SHARE: SHARES}


def find_coordinator(
    broker: Broker, request: FindCoordinatorRequest, call: Call
) -> Outcome[FindCoordinatorResponse]:
    kind = request.key_type
    if kind == SHARE and call.version < SHARES_SINCE:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"shares are asked for from version {SHARES_SINCE} on"
        )

    def answer(_: object) -> Outcome[FindCoordinatorResponse]:
        if call.version < MANY_KEYS_SINCE:
            found = _coordinator(broker, kind, request.key)
            return FindCoordinatorResponse(node_id=found.node_id, host=found.host, port=found.port)
        keys = _once_each(request.coordinator_keys)
        return in_slices(
            broker,
            written(call.version, (_found(broker, kind, key) for key in keys)),
            lambda coordinators: FindCoordinatorResponse(coordinators=coordinators),
        )

    topic = TOPICS.get(kind)
    if topic is None or broker.image.topic(topic) is not None:
        return answer(None)
    return once_there_is(broker, topic, call.now_ms, answer)


def once_there_is(
    broker: Broker, topic: str, now_ms: int, then: Callable[[object], Outcome[R]]
) -> Change[R]:
    """An internal topic that nobody has needed before."""
    topic_id = broker.chance.uuid()

    def create(image: Image) -> Commit[TopicRecord]:
        return create_internal_topic(image, topic, broker.config, topic_id=topic_id, now_ms=now_ms)

    return Change(create, then)


def _once_each(keys: Iterable[str]) -> Iterator[str]:
    """As they are asked for: to look through them all takes too long in one go."""
    seen = set()
    for key in keys:
        if key not in seen:
            seen.add(key)
            yield key


def _found(broker: Broker, kind: int, key: str) -> Coordinator:
    try:
        found = _coordinator(broker, kind, key)
    except Refused as refused:
        return Coordinator(key, -1, "", -1, refused.code, refused.message)
    return Coordinator(key, found.node_id, found.host, found.port)


def _coordinator(broker: Broker, kind: int, key: str) -> BrokerRecord:
    partition = _place(broker, kind, key)
    member = broker.image.brokers.get(partition.leader)
    if member is None or not _is_known_to_lead(broker, partition):
        raise Refused(
            ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker that looks after it is away; try again"
        )
    return member.record


def _place(broker: Broker, kind: int, key: str) -> PartitionRecord:
    if kind == GROUP:
        return broker.groups.place(key)[1]
    if kind == TRANSACTION:
        return broker.transactions.place(key)[1]
    if kind == SHARE:
        return broker.shares.place(read_name(key).name)[1]
    raise Refused(ErrorCode.INVALID_REQUEST, f"{kind} is no coordinator's type")


def _is_known_to_lead(broker: Broker, partition: PartitionRecord) -> bool:
    """Without its lease this broker does not know whether it still does: the others do."""
    if partition.leader != broker.node_id or len(partition.replicas) <= 1:
        return True
    return broker.has_lease()


def find_coordinator_failed(
    request: FindCoordinatorRequest, code: ErrorCode, message: str
) -> FindCoordinatorResponse:
    if request.coordinator_keys:
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key, -1, "", -1, code, message)
                for key in dict.fromkeys(request.coordinator_keys)
            ]
        )
    return FindCoordinatorResponse(error_code=code, error_message=message, node_id=-1, port=-1)
