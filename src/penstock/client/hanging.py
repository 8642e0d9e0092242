"""Transactions that are open in a partition, and that no coordinator is going to end.

Such a one holds up everybody who reads only what is committed, and compaction. None should come
about: every partition is looked for in its transaction before a record is taken. Where one has,
by records of another broker or of an older release, say, its partition is told that it is aborted.
"""

from __future__ import annotations

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


def open_in(client: WireClient, names: Iterable[str]) -> list[OpenHere]:
    """In all partitions of these topics."""

    def attempt(deadline: float) -> list[OpenHere]:
        found: list[OpenHere] = []
        for name in names:
            topic = client.topic(name, deadline=deadline)
            found += _of_topic(client, topic, deadline)
        return found

    return client.retry(attempt)


def hanging_in(client: WireClient, names: Iterable[str]) -> list[OpenHere]:
    """Those that no coordinator knows of. They are looked for a second time: a transaction may
    have begun or ended between two looks."""
    names = list(names)
    first = set(_unknown(client, open_in(client, names)))
    if not first:
        return []
    return [each for each in _unknown(client, open_in(client, names)) if each in first]


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
