"""WriteTxnMarkers: how a transaction has ended, told to the partitions that it wrote to.

Sent by the transaction's coordinator, and by tools that end a transaction that nobody else does.
Version 2 says which version of transactions its client spoke: with 2, the marker has an epoch of
its own, and one that comes again after the next transaction has begun is told by that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from penstock.api.broker import Broker
from penstock.api.call import Call, Unanswerable
from penstock.api.open_first import open_first
from penstock.api.outcome import Later, Outcome
from penstock.api.pledges import Pledge, once_all_committed
from penstock.api.slices import in_slices
from penstock.coordination.transaction.ending import WITH_NEW_EPOCH
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
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
COORDINATORS_WAIT_MS, COORDINATORS_WAIT_MS_MAX = 100, 1000
"""The same for coordinators, whose next markers wait behind."""
WAIT_MS_A_LOG = 10
"""More than that, for each log that has to be synced."""
WRITTEN_AT_ONCE = 50
"""Markers, each for another log perhaps: a few milliseconds."""
NEW_LOG_COST = 10
"""Of the first batch of a log: its folder and files are made."""


def _named(request: WriteTxnMarkersRequest) -> Iterator[tuple[str, int]]:
    for marker in request.markers:
        for topic in marker.topics:
            yield from ((topic.name, index) for index in topic.partition_indexes)


def _is_of_tool(call: Call) -> bool:
    """A coordinator has others to tell, and asks again by itself."""
    return call.client.broker_id < 0


@open_first(_named, may_wait=_is_of_tool)
def write_txn_markers(
    broker: Broker, request: WriteTxnMarkersRequest, call: Call
) -> Outcome[WriteTxnMarkersResponse]:
    markers = Markers(broker, call)
    return in_slices(broker, markers.write_all(request), markers.once_committed)


class Sent(NamedTuple):
    marker: WritableTxnMarker
    pledge: Pledge
    ended: int
    """How many transactions of its producer have ended in the partition, this one included."""


@dataclass(slots=True)
class Markers:
    """Those of one request."""

    broker: Broker
    call: Call
    sent: list[Sent] = field(default_factory=list)
    """What has been appended, and is still to be committed."""

    def write_all(self, request: WriteTxnMarkersRequest) -> Steps[WriteTxnMarkersResponse]:
        response = WriteTxnMarkersResponse([])
        _refuse_late(self.broker, self.call)
        written = cost = 0
        for marker, topic, answer in _answers(request, response):
            cost += self.write(marker, topic, answer)
            if cost >= WRITTEN_AT_ONCE:
                for sent in self.sent[written:]:
                    sent.pledge.leader.log.write_out()
                yield None
                _refuse_late(self.broker, self.call)
                written, cost = len(self.sent), 0
        return response

    def write(
        self, marker: WritableTxnMarker, topic: str, answer: WritableTxnMarkerPartitionResult
    ) -> int:
        """What it costs, in markers."""
        cost = 1
        try:
            leader = self.broker.leader(topic, answer.partition_index)
            cost = 1 if leader.log.has_folder else NEW_LOG_COST
            is_committed = self.broker.awaited_markers.is_committed(leader, marker)
            if is_committed is None:
                end = _append(self.broker, leader, marker, self.call)
                ended = leader.log.producers.ended(marker.producer_id)
                self.sent.append(Sent(marker, Pledge(leader, end, answer), ended))
            elif not is_committed:
                answer.error_code = ErrorCode.REQUEST_TIMED_OUT
        except Refused as refused:
            answer.error_code = refused.code
        return cost

    @property
    def wait_ms(self) -> int:
        if _is_of_tool(self.call):
            return WAIT_MS_MAX
        logs = len({sent.pledge.leader for sent in self.sent})
        return min(COORDINATORS_WAIT_MS + logs * WAIT_MS_A_LOG, COORDINATORS_WAIT_MS_MAX)

    def once_committed(self, response: WriteTxnMarkersResponse) -> Outcome[WriteTxnMarkersResponse]:
        wait_ms = self.wait_ms
        later = once_all_committed([each.pledge for each in self.sent], response, wait_ms)
        if isinstance(later, Later):
            return Later(later.sources, partial(self.answer, later.answer), wait_ms)
        return later

    def answer(
        self, answer: Callable[[bool], Any], time_is_up: bool
    ) -> WriteTxnMarkersResponse | None:
        response: WriteTxnMarkersResponse | None = answer(time_is_up)
        if response is not None:
            for marker, (leader, end, part), ended in self.sent:
                if part.error_code == ErrorCode.REQUEST_TIMED_OUT:
                    self.broker.awaited_markers.note(leader, marker, end, ended)
        return response


def _refuse_late(broker: Broker, call: Call) -> None:
    """A coordinator that has lost a connection sends its markers again over the next one. By then
    the next transaction may have begun, which those of the first must not end."""
    node_id, number = call.client.broker_id, call.client.number
    if node_id < 0:
        return
    if number < broker.markers_from.get(node_id, 0):
        raise Unanswerable(f"broker {node_id} sends markers over a newer connection")
    broker.markers_from[node_id] = number


def _answers(
    request: WriteTxnMarkersRequest, response: WriteTxnMarkersResponse
) -> Iterator[tuple[WritableTxnMarker, str, WritableTxnMarkerPartitionResult]]:
    """One for each partition, still empty."""
    for marker in request.markers:
        result = WritableTxnMarkerResult(marker.producer_id, [])
        response.markers.append(result)
        for topic in marker.topics:
            told = WritableTxnMarkerTopicResult(topic.name, [])
            result.topics.append(told)
            for index in topic.partition_indexes:
                told.partitions.append(WritableTxnMarkerPartitionResult(index))
                yield marker, topic.name, told.partitions[-1]


def _append(broker: Broker, leader: Leader, marker: WritableTxnMarker, call: Call) -> int:
    """Behind what offset the partition knows of it."""
    broker.check_lease(leader, by_all=True)
    leader.check_enough_in_sync()
    if _is_known(leader, marker):
        return leader.log.end_offset
    batch = end_marker(
        marker.producer_id,
        marker.producer_epoch,
        commit=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
        timestamp_ms=call.now_ms,
    )
    if leader.topic == OFFSETS:
        return broker.groups.shard_at(leader.index).end_transaction(batch, call.now_ms)
    done = leader.log.append(batch, read_header(batch), call.now_ms, leader.epoch)
    broker.appended(leader)
    return done.last_offset + 1


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
