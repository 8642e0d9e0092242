"""Produce, the short way: one batch for one partition that is known and stores it as it is.

Half of what a small request costs is reading and building messages; this way there are none. What
is not as usual, or wrong, is left to `k00_produce`, which has the words for it: nothing has been
done by then. Batches of a transaction go this way where its coordinator need not be asked.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.api.broker import Broker
from penstock.api.trust import NOBODY, Client
from penstock.api.verifying import ADDING_SINCE, are_added
from penstock.coordination.transaction.state import Identity
from penstock.errors import ErrorCode, Refused
from penstock.log.validation import check_batch, lacks_time
from penstock.replication.leader import Leader
from penstock.wire.batch import BatchHeader
from penstock.wire.single_produce import (
    ACKS_ALL,
    ACKS_LEADER,
    TOPIC_IDS_SINCE,
    SingleProduce,
    answer_single,
    read_single,
    with_error,
)


class Pledge(NamedTuple):
    """The answer to an append that is committed once the high watermark has reached its end."""

    leader: Leader
    end: int
    answer: bytes
    version: int
    timeout_ms: int

    def outcome(self, time_is_up: bool) -> bytes | None:
        """What to answer now; None to wait on."""
        leader = self.leader
        if leader.high_watermark >= self.end:
            return self.answer
        if leader.over is not None:
            return with_error(self.answer, self.version, leader.over)
        if time_is_up:
            return with_error(self.answer, self.version, ErrorCode.REQUEST_TIMED_OUT)
        return None


def produce_single(
    broker: Broker, frame: memoryview, now_ms: int, client: Client = NOBODY
) -> bytes | Pledge | None:
    """The answer, now or once it is committed; None if it has to go the long way. Raises
    Unanswerable where another connection has taken its place."""
    asked = read_single(frame)
    if asked is None or broker.disk_is_full:
        return None
    by_id = asked.version >= TOPIC_IDS_SINCE
    leader = broker.known_leader(asked.topic, asked.partition, by_id=by_id)
    if leader is None or leader.is_internal or not leader.log.config.keeps_batches:
        return None
    if not leader.writing.is_usual:
        return None
    log, batch = leader.log, asked.batch
    try:
        by_all = asked.acks == ACKS_ALL
        if by_all:
            leader.check_enough_in_sync()
        broker.check_lease(leader, by_all=by_all)
        header = check_batch(batch, log.config, now_ms)
        if lacks_time(header, log.config) or log.producers.begins_late(header):
            return None
        is_within = header.is_transactional or asked.transaction
        if is_within and not _is_open(broker, leader, asked, header, client):
            return None
        done = log.append(batch, header, now_ms, leader.epoch)
    except Refused:
        return None
    broker.appended(leader)
    answer = answer_single(asked, done.base_offset, done.append_time_ms, log.start_offset)
    end = done.last_offset + 1
    if asked.acks == ACKS_LEADER or leader.high_watermark >= end:
        return answer
    return Pledge(leader, end, answer, asked.version, max(asked.timeout_ms, 0))


def _is_open(
    broker: Broker, leader: Leader, asked: SingleProduce, header: BatchHeader, client: Client
) -> bool:
    """Whether its transaction has begun in the partition, or may begin there without asking."""
    if not header.is_transactional or not asked.transaction:
        return False
    writer, speakers = Identity(header.producer_id, header.producer_epoch), broker.speakers
    if asked.version < ADDING_SINCE:
        speakers.of_records.check(writer, client)
    if not leader.log.producers.is_open_for(*writer):
        places = [(leader.topic, leader.index)]
        is_added = are_added(broker, asked.transaction, writer, places)
        if asked.version >= ADDING_SINCE or not is_added:
            return False
    speakers.of_records.note(writer, client)
    return True
