"""How far groups are behind: in messages, and in the time that the next one has been waiting.

Both come from what is committed and from the log, so they are known whether anyone reads or not.
Nothing is kept: a lookup is one in the index and the header of one batch, and every answer is true
when it is given. All groups of a broker are `Coordinator.each`, one after the other through
`lags`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from penstock.api.broker import Broker
from penstock.api.partial_lag import seen_between, was_aborted
from penstock.api.shown import Showing, Shown
from penstock.api.viewing import Partly, Viewing
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
    """Offsets up to the high watermark; in a view, what matches; and with delays, what is not held.
    What retention has removed is not waited for."""
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
        first, end = max(place.offset, leader.log.start_offset), leader.high_watermark
        ahead = _ahead(broker, leader, place.topic, first, end)
    except Refused:
        return UNKNOWN
    if not leader.knows_end:
        return UNKNOWN
    if first >= end:
        return NOTHING
    return (yield from _waiting(leader, ahead, first, end, now_ms))


class _Ahead(NamedTuple):
    """What lies before a reader."""

    part: Partly | None
    """Of which it sees so much; None where it sees all."""
    rest: Callable[[int], int | None]
    """How many records there are from an offset on, as far as can be told without a look at them:
    no less than there are."""


def _ahead(broker: Broker, leader: Leader, topic: str, first: int, end: int) -> _Ahead:
    view = broker.image.readable.topic(topic)
    if isinstance(view, Scheduled):
        return _Ahead(None, lambda offset: end - offset)
    sieve = broker.sieves.of(view) if isinstance(view, View) else None
    part: Partly | None = None
    if leader.log.config.delayed_delivery:
        part = Showing(Shown(sieve), first)
    elif sieve is not None:
        part = Viewing(sieve, first)

    def rest(offset: int) -> int | None:
        if sieve is not None:
            return None if offset < end else 0
        offset = min(offset, end)
        held = broker.schedules.held_between(leader.log, offset, end) if part is not None else 0
        return end - offset - held

    return _Ahead(part, rest)


def _waiting(leader: Leader, ahead: _Ahead, first: int, end: int, now_ms: int) -> Steps[Lag]:
    """Files that cannot be read hide the time, and of a view how much matches; nothing else."""
    messages = ahead.rest(first)
    try:
        if ahead.part is None:
            found = yield from _first_record(leader.log, first, end)
        else:
            seen = yield from seen_between(leader.log, ahead.part, first, end)
            found, left = seen.first, ahead.rest(seen.offset)
            messages = None if left is None else seen.number + left
    except Refused:
        return Lag(messages, None)
    except (OSError, Amiss) as problem:
        log.error("%s-%d: no time is known of %d: %s", leader.topic, leader.index, first, problem)
        return Lag(messages, None)
    if found is None:
        is_none = ahead.part is None or messages == 0
        return NOTHING if is_none else Lag(messages, None)
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
