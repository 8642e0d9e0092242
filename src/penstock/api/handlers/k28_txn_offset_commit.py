"""TxnOffsetCommit: where a group is, if and when a transaction is committed.

Version 3 says who commits, so that a member that has lost its place is refused (KIP-447): by codes
of the classic protocol only, as Java's producer gives up for good at any other. With version 5 the
client speaks KIP-890, and leaves it to us to add the group to its transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.handlers.k08_offset_commit import commit_topic, portions
from penstock.api.outcome import Outcome, Resume
from penstock.api.replies import Rest, once_committed
from penstock.api.shard import Shard
from penstock.api.slices import in_slices
from penstock.api.verifying import (
    OFFSETS_ABORTABLE_SINCE,
    OFFSETS_ADDING_SINCE,
    Codes,
    not_in_transaction,
    offsets_code,
)
from penstock.coordination.group import protocols
from penstock.coordination.group.groups import Group
from penstock.coordination.transaction.state import Identity
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.internal_topics import OFFSETS
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.wire.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

UNKNOWN_TO_PRODUCERS = frozenset({ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.REBALANCE_IN_PROGRESS})


def txn_offset_commit(
    broker: Broker, request: TxnOffsetCommitRequest, call: Call
) -> Outcome[TxnOffsetCommitResponse]:
    return _Commit(broker, request, call).outcome()


class _Commit:
    def __init__(self, broker: Broker, request: TxnOffsetCommitRequest, call: Call) -> None:
        self._broker = broker
        self._request = request
        self._call = call
        self._writer = Identity(request.producer_id, request.producer_epoch)
        self._rests: list[Rest] = []
        self._adds = call.version >= OFFSETS_ADDING_SINCE
        self._ended = 0
        """Transactions of the producer that were over here when this one was found to be open."""
        self._told: dict[str, TxnOffsetCommitResponseTopic] = {}

    def outcome(self) -> Outcome[TxnOffsetCommitResponse]:
        request, speakers = self._request, self._broker.speakers.of_offsets
        shard = self._shard()
        if self._broker.disk_is_full:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the disk is full; try again")
        if not self._adds:
            speakers.check(self._writer, self._call.client)
        producers = shard.leader.log.producers
        self._ended = producers.ended(self._writer.producer_id)
        if producers.is_open_for(*self._writer):
            return self._commit()
        place = OFFSETS, shard.leader.index

        def then(codes: Codes) -> Outcome[TxnOffsetCommitResponse]:
            if code := codes.get(place, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                told = offsets_code(code, self._call.version)
                raise Refused(told, "the group does not belong to the transaction")
            return self._commit()

        name = request.transactional_id
        return Resume(
            lambda: self._broker.verify(name, self._writer, [place], add=self._adds), then
        )

    def _shard(self) -> Shard[Group]:
        return self._broker.groups.shard(self._request.group_id)

    def _commit(self) -> Outcome[TxnOffsetCommitResponse]:
        self._broker.speakers.of_offsets.note(self._writer, self._call.client)
        return in_slices(self._broker, self._in_turns(), self._respond)

    def _in_turns(self) -> Steps[None]:
        """All of them count together, when the transaction is committed: so they may be written in
        several turns. If one is refused, so is the request, and the client has to abort."""
        is_first = True
        for some in portions(_as_plain(self._request.topics)):
            if not is_first:
                yield None
            is_first = False
            self._take_turn(some)

    def _take_turn(self, topics: list[OffsetCommitRequestTopic]) -> None:
        request = self._request

        def decide(turn: Turn, group: Group) -> list[list[ErrorCode]]:
            self._check_open()
            turn.writer = self._writer
            if request.generation_id >= 0 or request.member_id:
                _check_member(turn, group, request)
            return [commit_topic(turn, group, topic, by_id=False) for topic in topics]

        codes, rest = self._shard().decide_part(request.group_id, decide)
        self._rests.append(rest)
        for topic, told in zip(topics, codes, strict=True):
            answer = self._told.setdefault(topic.name, TxnOffsetCommitResponseTopic(topic.name, []))
            answer.partitions += [
                TxnOffsetCommitResponsePartition(part.partition_index, code)
                for part, code in zip(topic.partitions, told, strict=True)
            ]

    def _check_open(self) -> None:
        """It may have ended between two turns, or while it was asked for: what is written after
        that would open one that nobody ends. Of clients that keep their epoch it is told by the
        number; of others by the epoch of its marker, as those of the last one may still come."""
        producers = self._shard().leader.log.producers
        if self._adds:
            producers.check_epoch(*self._writer)
        elif producers.ended(self._writer.producer_id) != self._ended:
            code = not_in_transaction(self._call.version, OFFSETS_ABORTABLE_SINCE)
            raise Refused(code, "the transaction has ended meanwhile")

    def _respond(self, _: None) -> Outcome[TxnOffsetCommitResponse]:
        response = TxnOffsetCommitResponse(topics=list(self._told.values()))
        return once_committed(self._rests[-1:], response)


def _check_member(turn: Turn, group: Group, request: TxnOffsetCommitRequest) -> None:
    who = request.member_id, request.group_instance_id, request.generation_id
    try:
        protocols.check_may_commit(turn, group, *who)
    except Refused as refusal:
        if refusal.code not in UNKNOWN_TO_PRODUCERS:
            raise
        raise Refused(ErrorCode.ILLEGAL_GENERATION, refusal.message) from None


def _as_plain(
    topics: Iterable[TxnOffsetCommitRequestTopic],
) -> Iterator[OffsetCommitRequestTopic]:
    for topic in topics:
        yield OffsetCommitRequestTopic(
            topic.name,
            partitions=[
                OffsetCommitRequestPartition(
                    part.partition_index,
                    part.committed_offset,
                    part.committed_leader_epoch,
                    part.committed_metadata,
                )
                for part in topic.partitions
            ],
        )


def txn_offset_commit_failed(
    request: TxnOffsetCommitRequest, code: ErrorCode, message: str
) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                [
                    TxnOffsetCommitResponsePartition(part.partition_index, code)
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
