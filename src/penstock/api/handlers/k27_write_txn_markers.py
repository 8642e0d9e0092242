"""WriteTxnMarkers: how a transaction has ended, told to the partitions that it wrote to.

Sent by the transaction's coordinator, and by tools that end a transaction that nobody else does.
Version 2 says which version of transactions its client spoke: with 2, the marker has an epoch of
its own, and one that comes again after the next transaction has begun is told by that.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.api.broker import Broker
from penstock.api.call import Call, Unanswerable
from penstock.api.open_first import open_first
from penstock.api.outcome import Outcome
from penstock.api.pledges import Pledge, once_all_committed
from penstock.coordination.transaction.ending import WITH_NEW_EPOCH
from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import OFFSETS
from penstock.replication.leader import Leader
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import end_marker
from penstock.wire.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

WAIT_MS_MAX = 4000
"""For the marker to be committed. Whoever has sent it asks again."""


def _named(request: WriteTxnMarkersRequest) -> Iterator[tuple[str, int]]:
    for marker in request.markers:
        for topic in marker.topics:
            yield from ((topic.name, index) for index in topic.partition_indexes)


@open_first(_named)
def write_txn_markers(
    broker: Broker, request: WriteTxnMarkersRequest, call: Call
) -> Outcome[WriteTxnMarkersResponse]:
    _refuse_late(broker, call)
    pledges: list[Pledge] = []
    results = [_written(broker, marker, call, pledges) for marker in request.markers]
    return once_all_committed(pledges, WriteTxnMarkersResponse(results), WAIT_MS_MAX)


def _refuse_late(broker: Broker, call: Call) -> None:
    """A coordinator that has lost a connection sends its markers again over the next one. By then
    the next transaction may have begun, which those of the first must not end."""
    node_id, number = call.client.broker_id, call.client.number
    if node_id < 0:
        return
    if number < broker.markers_from.get(node_id, 0):
        raise Unanswerable(f"broker {node_id} sends markers over a newer connection")
    broker.markers_from[node_id] = number


def _written(
    broker: Broker, marker: WritableTxnMarker, call: Call, pledges: list[Pledge]
) -> WritableTxnMarkerResult:
    result = WritableTxnMarkerResult(marker.producer_id, [])
    for topic in marker.topics:
        answers = [WritableTxnMarkerPartitionResult(index) for index in topic.partition_indexes]
        result.topics.append(WritableTxnMarkerTopicResult(topic.name, answers))
        for answer in answers:
            try:
                leader, end = _append(broker, marker, topic.name, answer.partition_index, call)
            except Refused as refused:
                answer.error_code = refused.code
            else:
                pledges.append(Pledge(leader, end, answer))
    return result


def _append(
    broker: Broker, marker: WritableTxnMarker, topic: str, index: int, call: Call
) -> tuple[Leader, int]:
    """Where it is, and behind what offset the partition knows of it."""
    leader = broker.leader(topic, index)
    broker.check_lease(leader, by_all=True)
    leader.check_enough_in_sync()
    if _is_known(leader, marker):
        return leader, leader.log.end_offset
    batch = end_marker(
        marker.producer_id,
        marker.producer_epoch,
        commit=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
        timestamp_ms=call.now_ms,
    )
    if topic == OFFSETS:
        return leader, broker.groups.shard_at(index).end_transaction(batch, call.now_ms)
    done = leader.log.append(batch, read_header(batch), call.now_ms, leader.epoch)
    broker.appended(leader)
    return leader, done.last_offset + 1


def _is_known(leader: Leader, marker: WritableTxnMarker) -> bool:
    """Whether the partition has it already. Raises Refused if it comes too late."""
    if marker.transaction_version < WITH_NEW_EPOCH:
        return False
    producer = leader.log.producers.producers.get(marker.producer_id)
    if producer is None or producer.epoch < marker.producer_epoch:
        return False
    if producer.epoch == marker.producer_epoch and producer.txn_first_offset < 0:
        return True
    raise Refused(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"producer {marker.producer_id} has epoch {producer.epoch} and a transaction open: the "
        f"one that epoch {marker.producer_epoch} ends is over",
    )
