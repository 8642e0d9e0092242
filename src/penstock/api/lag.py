"""How far groups are behind: in messages, and in the time that the next one has been waiting.

Both come from what is committed and from the log, so they are known whether anyone reads or not.
Nothing is kept: a lookup is one in the index and the header of one batch, and every answer is true
when it is given. All groups of a broker are `Coordinator.each`, one after the other through
`lags`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from penstock.api.broker import Broker
from penstock.api.sieves import Sieve
from penstock.api.view_lag import matches_between, was_aborted
from penstock.errors import ErrorCode, Refused
from penstock.log import reading, scanning
from penstock.log.partition_log import PartitionLog
from penstock.log.reindexing import reindexed
from penstock.log.scanning import NotABatch
from penstock.log.segment import Amiss
from penstock.log.steps import Steps
from penstock.metadata.delayed_topics import Scheduled
from penstock.metadata.views import View
from penstock.replication.leader import Leader
from penstock.wire.batch import HEADER_SIZE, BatchHeader

log = logging.getLogger(__name__)

SLICE_PLACES = 8
"""Looked at before everything else gets its turn; a log may have to be opened for each."""
EMPTY_BATCHES_MAX = 1000
"""Without a record for consumers, one after the other: then it is not known what comes next."""


class Place(NamedTuple):
    """Where a group is in a partition: at the first offset that it has not read."""

    topic: str
    partition: int
    offset: int


class Lag(NamedTuple):
    """None is what is not known here: another broker leads the partition, or it is not there, or
    this one is new as its leader, and does not know yet where it ends."""

    messages: int | None
    """Offsets up to the high watermark, or, in a view, what matches. What retention has removed is
    not waited for."""
    waiting_ms: int | None
    """Since the time of the first record that was not read. A batch has one time for all of its
    records here, that of its first, so this may be more by as much as the batch spans."""


UNKNOWN = Lag(None, None)
NOTHING = Lag(0, 0)


def lags(broker: Broker, places: Iterable[Place], now_ms: int) -> Steps[dict[Place, Lag]]:
    """Each once, some at a time. What `places` are taken from must not change meanwhile."""
    found: dict[Place, Lag] = {}
    for number, place in enumerate(places, 1):
        if place not in found:
            found[place] = yield from _lag(broker, place, now_ms)
        if number % SLICE_PLACES == 0:
            yield None
    return found


def _lag(broker: Broker, place: Place, now_ms: int) -> Steps[Lag]:
    try:
        leader = broker.read_leader(place.topic, place.partition)
        sieve = _sieve(broker, place.topic)
    except Refused:
        return UNKNOWN
    if not leader.knows_end:
        return UNKNOWN
    first, end = max(place.offset, leader.log.start_offset), leader.high_watermark
    if first >= end:
        return NOTHING
    return (yield from _waiting(leader, sieve, first, end, now_ms))


def _sieve(broker: Broker, topic: str) -> Sieve | None:
    view = broker.image.readable.topic(topic) if broker.image.views else None
    if not isinstance(view, View) or isinstance(view, Scheduled):
        return None
    return broker.sieves.of(view)


def _waiting(leader: Leader, sieve: Sieve | None, first: int, end: int, now_ms: int) -> Steps[Lag]:
    """Files that cannot be read hide the time, and of a view how much matches; nothing else."""
    messages = end - first if sieve is None else None
    try:
        if sieve is not None:
            messages, found = yield from matches_between(leader.log, sieve, first, end)
        else:
            found = yield from _first_record(leader.log, first, end)
    except Refused:
        return Lag(messages, None)
    except (OSError, Amiss) as problem:
        log.error("%s-%d: no time is known of %d: %s", leader.topic, leader.index, first, problem)
        return Lag(messages, None)
    if found is None:
        return NOTHING if messages is not None else UNKNOWN
    time_ms = _time_of(found)
    return Lag(messages, None if time_ms < 0 else max(0, now_ms - time_ms))


def _first_record(partition: PartitionLog, first: int, end: int) -> Steps[BatchHeader | None]:
    """The batch with the next record for consumers; None if there is none before the end.

    Markers of transactions, what these have aborted, and batches that compaction has emptied keep
    nobody waiting: who commits the offset behind the last message that it got stays before them.
    """
    for _ in range(EMPTY_BATCHES_MAX):
        header = yield from reindexed(partition, partial(_header_at, partition, first))
        if header is None or header.base_offset >= end:
            return None
        if header.record_count and not header.is_control and not was_aborted(partition, header):
            return header
        first = header.next_offset
        yield None
    raise Refused(ErrorCode.OFFSET_NOT_AVAILABLE, "there is too much without a record")


def _header_at(partition: PartitionLog, offset: int, cold_ok: bool) -> BatchHeader | None:
    """Of the batch that holds an offset, or of the next one."""
    place = reading.batch_at(partition, offset, cold_ok)
    if place is None:
        return None
    segment, position = place
    headers = scanning.headers(segment.reader(cold_ok), position, segment.size, HEADER_SIZE)
    try:
        _, header = next(headers, (position, None))
    except NotABatch:
        raise Amiss(segment) from None
    return header


def _time_of(header: BatchHeader) -> int:
    """The broker's where the topic wants that; where compaction has put something else in the
    place of the first record's, the last one's."""
    if header.has_log_append_time or header.delete_horizon_ms is not None:
        return header.max_timestamp
    return header.base_timestamp
