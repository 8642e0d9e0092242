"""Fetch, as followers use it: all that the leader's log has, committed or not.

What a follower asks for says how far it is, since it asks for what comes next; by that records
become committed. Only a broker of the cluster is served, and only in its current registration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.handlers.k01_fetch import (
    TOPIC_IDS_SINCE,
    WARMED_AT_MOST,
    Fetch,
    Gathered,
    fetch_as_consumer,
)
from penstock.api.outcome import Outcome
from penstock.errors import ErrorCode, Refused
from penstock.replication.leader import Leader
from penstock.replication.replica import Replica
from penstock.replication.signals import Source
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)


@dataclass(slots=True)
class ReplicaFetch(Fetch):
    replica_id: int = -1
    now_ms: float = 0
    noted: set[Leader] = field(default_factory=set)

    def sources(self, found: Gathered) -> Sequence[Source]:
        return [leader.grown for leader in found.leaders if leader is not None]

    def mark(self, leader: Replica) -> object:
        return leader.log.revision, leader.log.end_offset, leader.epoch

    def has_moved(self, leader: Replica, data: PartitionData) -> bool:
        """The high watermark comes with the next records."""
        return False

    def read(
        self,
        leader: Replica,
        wanted: FetchPartition,
        data: PartitionData,
        found: Gathered,
    ) -> None:
        assert isinstance(leader, Leader)
        leader.check_epoch(wanted.current_leader_epoch)
        log = leader.log
        data.log_start_offset = log.start_offset
        if wanted.last_fetched_epoch >= 0 and self.diverges(leader, wanted, data):
            found.must_answer = True
            return
        room, most = self.max_bytes - found.size, wanted.partition_max_bytes
        slice_ = log.read(
            wanted.fetch_offset,
            most if most < room else max(room, 0),
            log.end_offset,
            at_least_one=not found.size,
            cold_ok=self.warmed > WARMED_AT_MOST,
        )
        self.note(leader, wanted.fetch_offset)
        data.high_watermark = data.last_stable_offset = leader.high_watermark
        if slice_ is not None:
            data.records = slice_.range
            found.size += slice_.range.length

    def note(self, leader: Leader, offset: int) -> None:
        """Once for each request, however often it is looked at."""
        if leader in self.noted:
            return
        self.noted.add(leader)
        registration = self.request.replica_state.replica_epoch
        if leader.fetched(self.replica_id, offset, self.now_ms, registration):
            self.broker.moved(leader)
        if self.replica_id not in leader.in_sync and self.replica_id in leader.caught_up():
            self.broker.caught_up(leader)


def check_replica(broker: Broker, request: FetchRequest, call: Call, replica_id: int) -> None:
    """Refuse who is not the broker that it says it is."""
    if call.client.broker_id != replica_id:
        raise Refused(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"broker {replica_id} has not proved that it is one of this cluster",
        )
    registered, epoch = broker.image.brokers.get(replica_id), request.replica_state.replica_epoch
    if registered is None or registered.epoch != epoch:
        raise Refused(
            ErrorCode.STALE_BROKER_EPOCH,
            f"broker {replica_id} is not registered with epoch {epoch}, as far as is known here",
        )


def fetch(broker: Broker, request: FetchRequest, call: Call) -> Outcome[FetchResponse]:
    """For consumers and followers alike; the latter say who they are."""
    replica_id = max(request.replica_id, request.replica_state.replica_id)
    if replica_id < 0:
        return fetch_as_consumer(broker, request, call)
    check_replica(broker, request, call, replica_id)
    by_id = call.version >= TOPIC_IDS_SINCE
    fetching = broker.fetch_sessions.begin(request, uses_ids=by_id, now_ms=call.now_ms)
    return ReplicaFetch(
        broker,
        request,
        fetching,
        by_id,
        request.max_bytes,
        replica_id=replica_id,
        now_ms=broker.monotonic_ms(),
    ).outcome()
