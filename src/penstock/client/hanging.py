"""Transactions that are open in a partition, and that no coordinator is going to end.

Such a one holds up everybody who reads only what is committed, and compaction. None should come
about: every partition is looked for in its transaction before a record is taken. Where one has,
by records of another broker or of an older release, say, its partition is told that it is aborted.

If its coordinator did know it, half of a transaction would be committed then. So all coordinators
must have answered, and stay who they are meanwhile; and what was written just now does not hang.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, check, refused
from penstock.client.metadata import Topic
from penstock.client.transactions import OPEN, Described, describe_transaction, list_transactions
from penstock.errors import ErrorCode
from penstock.wire.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from penstock.wire.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)

COORDINATORS = "__transaction_state"
"""Who leads a partition of this topic is the coordinator of what is in it."""
IDLE_MS = 15 * 60_000
"""As long as a transaction may be open, unless brokers are set to allow for more."""


class OpenHere(NamedTuple):
    """A producer that has a transaction open in a partition."""

    topic: str
    partition: int
    producer_id: int
    epoch: int
    coordinator_epoch: int
    first_offset: int
    last_ms: int
    """When it wrote last, or -1."""

    def is_idle(self, idle_ms: int) -> bool:
        """Whether it has written nothing for so long. If that is not known, not yet."""
        if not idle_ms:
            return True
        return 0 <= self.last_ms <= time.time_ns() // 1_000_000 - idle_ms


def open_in(client: WireClient, names: Iterable[str]) -> list[OpenHere]:
    """In all partitions of these topics."""

    def attempt(deadline: float) -> list[OpenHere]:
        found: list[OpenHere] = []
        for name in names:
            topic = client.topic(name, deadline=deadline)
            found += _of_topic(client, topic, deadline)
        return found

    return client.retry(attempt)


def hanging_in(client: WireClient, names: Iterable[str], idle_ms: int = IDLE_MS) -> list[OpenHere]:
    """Those that no coordinator knows of. They are looked for a second time: a transaction may
    have begun or ended between two looks."""
    names = list(names)

    def attempt(deadline: float) -> list[OpenHere]:
        before = coordinators(client, deadline)
        first = set(_unknown(client, open_in(client, names)))
        found = [each for each in _unknown(client, open_in(client, names)) if each in first]
        if coordinators(client, deadline) != before:
            raise refused(COORDINATORS, ErrorCode.NOT_COORDINATOR, "it has other leaders by now")
        return [each for each in found if each.is_idle(idle_ms)]

    return client.retry(attempt)


def coordinators(client: WireClient, deadline: float = 0.0) -> dict[int, tuple[int, int]]:
    """By partition, its leader and since which epoch. Raises ClientError while one has none: what
    its coordinator knows cannot be told then, and is not nothing."""
    told = client.metadata([COORDINATORS], deadline=deadline)
    code = told.refusals.get(COORDINATORS, ErrorCode.NONE)
    if code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        check(COORDINATORS, code)
    topic = told.topics.get(COORDINATORS)
    partitions = topic.partitions.values() if topic is not None else ()
    for each in partitions:
        if each.leader not in told.brokers:
            raise refused(
                f"{COORDINATORS}-{each.index}",
                ErrorCode.LEADER_NOT_AVAILABLE,
                "no broker leads it now, so nobody can tell its transactions",
            )
    return {each.index: (each.leader, each.leader_epoch) for each in partitions}


def abort_here(client: WireClient, found: OpenHere) -> None:
    """Tell one partition that a producer's transaction is aborted."""
    marker = WritableTxnMarker(
        found.producer_id,
        found.epoch,
        False,
        [WritableTxnMarkerTopic(found.topic, [found.partition])],
        max(found.coordinator_epoch, 0),
    )

    def attempt(deadline: float) -> None:
        node = client.topic(found.topic, deadline=deadline).leader_of(found.partition)
        request = WriteTxnMarkersRequest([marker])
        answer = client.ask_node(node, request, WriteTxnMarkersResponse, deadline)
        for result in answer.markers:
            for topic in result.topics:
                for part in topic.partitions:
                    check(f"{topic.name}-{part.partition_index}", part.error_code)

    client.retry(attempt)


def find_open(client: WireClient, topic: str, partition: int, producer_id: int) -> OpenHere:
    for each in open_in(client, [topic]):
        if (each.partition, each.producer_id) == (partition, producer_id):
            return each
    raise refused(
        f"{topic}-{partition}",
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        f"producer {producer_id} has no transaction open in it",
    )


def _of_topic(client: WireClient, topic: Topic, deadline: float) -> Iterator[OpenHere]:
    for node, indexes in topic.by_leader(topic.partitions).items():
        request = DescribeProducersRequest([TopicRequest(topic.name, indexes)])
        answer = client.ask_node(node, request, DescribeProducersResponse, deadline)
        for told in answer.topics:
            for part in told.partitions:
                check(f"{topic.name}-{part.partition_index}", part.error_code, part.error_message)
                for each in part.active_producers:
                    if each.current_txn_start_offset >= 0:
                        yield OpenHere(
                            topic.name,
                            part.partition_index,
                            each.producer_id,
                            each.producer_epoch,
                            each.coordinator_epoch,
                            each.current_txn_start_offset,
                            each.last_timestamp,
                        )


def _unknown(client: WireClient, found: list[OpenHere]) -> Iterator[OpenHere]:
    """Those whose partition does not belong to an open transaction of their producer."""
    known: dict[int, list[Described]] = {}
    ids = {each.producer_id for each in found}
    for listed in list_transactions(client, OPEN, producer_ids=sorted(ids)) if ids else ():
        try:
            described = describe_transaction(client, listed.name)
        except ClientError as error:
            if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
            continue
        known.setdefault(described.producer_id, []).append(described)
    for each in found:
        places = (one.partitions.get(each.topic, ()) for one in known.get(each.producer_id, ()))
        if not any(each.partition in indexes for indexes in places):
            yield each
