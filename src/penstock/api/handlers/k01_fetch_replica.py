"""Fetch, as followers use it: all that the leader's log has, committed or not.

What a follower asks for says how far it is, since it asks for what comes next; by that records
become committed. Only a broker of the cluster is served, and only in its current registration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.fetch_sessions import Key
from penstock.api.handlers.k01_fetch import (
    TOPIC_IDS_SINCE,
    WARMED_AT_MOST,
    Fetch,
    Gathered,
    NotYet,
    fetch_as_consumer,
)
from penstock.api.outcome import Outcome
from penstock.api.replica_sessions import ReplicaSession
from penstock.errors import ErrorCode, Refused
from penstock.replication.leader import Leader
from penstock.replication.replica import Replica
from penstock.replication.signals import Source
from penstock.wire.messages.k01_fetch import (
    EpochEndOffset,
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

    session: ReplicaSession | None = None

    def leader(self, key: Key) -> Replica:
        """Brokers know topics by ids that stay the same, whatever clients are shown."""
        topic, topic_id, index = key
        if self.by_id:
            return self.broker.leader_by_id(topic_id, index)
        return self.broker.leader(topic, index)

    def sources(self, found: Gathered) -> Sequence[Source]:
        grown: list[Source] = [each.grown for each in found.leaders if each is not None]
        return grown if self.session is None else [*grown, self.session.woken]

    def found(self, found: Gathered | NotYet) -> Outcome[FetchResponse]:
        if isinstance(found, Gathered) and self.session is not None:
            self.let_rest(self.session, found)
        return Fetch.found(self, found)

    def let_rest(self, session: ReplicaSession, found: Gathered) -> None:
        """Of what rests there is nothing to be told: it has no place in the answer."""
        partitions, kept = self.fetching.partitions[:], Gathered(found.size, found.must_answer)
        self.fetching.partitions.clear()
        for asked, (key, data), leader, mark in zip(
            partitions, found.answers, found.leaders, found.marks, strict=True
        ):
            if not (_has_all(leader, asked[1], data) and session.rest(key, leader, data)):
                self.fetching.partitions.append(asked)
                kept.add(key, data, leader, mark)
        found.answers, found.leaders, found.marks = kept.answers, kept.leaders, kept.marks

    def is_enough(self, found: Gathered) -> bool:
        """With nothing to copy now there may be something soon."""
        request = self.request
        is_due = self.time_is_up or request.max_wait_ms <= 0
        return is_due or found.must_answer or found.size >= request.min_bytes

    def gather_news(self) -> Gathered:
        """Those that rested when the fetch began, and rest no more, are looked at too."""
        found = Fetch.gather_news(self)
        if self.session is None:
            return found
        roused, self.session.roused = self.session.roused, []
        for key in roused:
            wanted = self.session.partitions[key]
            self.fetching.partitions.append((key, wanted))
            data, leader = self.look_at(key, wanted, found)
            found.add(key, data, leader, self.mark(leader) if leader else None)
        return found

    def mark(self, leader: Replica) -> object:
        log = leader.log
        return log.revision, log.start_offset, log.end_offset, leader.epoch

    def has_moved(self, leader: Replica, data: PartitionData) -> bool:
        """The high watermark comes with the next records."""
        return False

    def read(
        self,
        key: Key,
        leader: Replica,
        wanted: FetchPartition,
        data: PartitionData,
        found: Gathered,
    ) -> None:
        assert isinstance(leader, Leader)
        leader.check_epoch(wanted.current_leader_epoch)
        log = leader.log
        data.log_start_offset = log.start_offset
        if 0 <= wanted.log_start_offset < log.deleted_to:
            data.deleted_to = log.deleted_to
        if wanted.last_fetched_epoch >= 0 and self.diverges(leader, wanted, data):
            found.must_answer = True
            return
        if begun := leader.unknown_epoch(wanted.last_fetched_epoch, wanted.fetch_offset):
            data.diverging_epoch = EpochEndOffset(*begun)  # later than its own: it notes that
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
        self.note(leader, wanted)
        if 0 <= wanted.log_start_offset < log.start_offset:
            found.must_answer = True  # so that it lets go of what was deleted
        data.high_watermark = data.last_stable_offset = leader.high_watermark
        if slice_ is not None:
            data.records = slice_.range
            found.size += slice_.range.length

    def note(self, leader: Leader, wanted: FetchPartition) -> None:
        """Once for each request, however often it is looked at."""
        if leader in self.noted:
            return
        self.noted.add(leader)
        registration = self.request.replica_state.replica_epoch
        offset, start, epoch = (
            wanted.fetch_offset,
            wanted.log_start_offset,
            wanted.last_fetched_epoch,
        )
        if leader.fetched(self.replica_id, offset, self.now_ms, registration, start, epoch):
            self.broker.moved(leader)
        if self.replica_id not in leader.in_sync and self.replica_id in leader.caught_up():
            self.broker.caught_up(leader)


def _has_all(
    leader: Replica | None, wanted: FetchPartition, data: PartitionData
) -> TypeGuard[Leader]:
    if leader is None or data.records or data.error_code or data.diverging_epoch.epoch >= 0:
        return False
    if 0 <= wanted.log_start_offset < leader.log.start_offset:
        return False
    return wanted.fetch_offset == leader.log.end_offset == leader.high_watermark


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
    fetching = broker.fetch_sessions.begin(
        request, uses_ids=by_id, now_ms=call.now_ms, kind=ReplicaSession
    )
    session, now_ms = fetching.session, broker.monotonic_ms()
    assert session is None or isinstance(session, ReplicaSession)
    if session is not None:
        session.begin(replica_id, now_ms)
    return ReplicaFetch(
        broker,
        request,
        fetching,
        by_id,
        request.max_bytes,
        replica_id=replica_id,
        now_ms=now_ms,
        session=session,
    ).outcome()
