"""Fetch: batches from the log, as they lie there, by long poll.

Version 7 brought incremental sessions (`api/fetch_sessions.py`), 9 and 12 leader epochs and
divergence, 13 topic ids in place of names. Only batches wholly below the high watermark are
shown, or below the last stable offset to those who read committed. A fetch with too little to
answer waits for its partitions' high watermarks to move. Bytes that are not in the page cache are
warmed off the loop first, and a segment whose index misleads is gone through in steps.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.fetch_sessions import Fetching, Key
from penstock.api.opening import NotOpen
from penstock.api.outcome import Later, Outcome, Resume
from penstock.api.shown import Held, Showing, Shown
from penstock.api.slices import going_on, in_slices
from penstock.api.viewing import Partly, Viewing
from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.reading import check_range
from penstock.log.reindexing import reindex
from penstock.log.segment import Amiss, Segment
from penstock.log.steps import Steps
from penstock.metadata.delayed_topics import Scheduled
from penstock.metadata.views import View
from penstock.replication.follower import Follower
from penstock.replication.leader import Leader
from penstock.replication.replica import Replica
from penstock.replication.signals import Source
from penstock.wire.messages.k01_fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.world.ports import Cold

log = logging.getLogger(__name__)

READ_COMMITTED = 1
WARMED_AT_MOST = 16
"""Cold ranges of one fetch that are warmed; past that it reads whatever the cache has kept."""
LOOKED_AT_AT_ONCE = 250
"""Partitions, between two pauses: a millisecond, or ten where their logs have to be opened."""
TOLD_AT_ONCE = 1000
"""Of what was found, between two pauses: a millisecond."""
FOLLOWERS_SINCE = 11
TOPIC_IDS_SINCE = 13


class NotYet(Exception):
    """Something has to be done off the loop before a partition can be read."""

    def __init__(self, work: Callable[[], Awaitable[Any]]) -> None:
        super().__init__()
        self.work = work


@dataclass(slots=True)
class Gathered:
    """What one look at all partitions of a fetch found."""

    size: int = 0
    must_answer: bool = False
    answers: list[tuple[Key, PartitionData]] = field(default_factory=list)
    leaders: list[Replica | None] = field(default_factory=list)
    """One for each answer; None where there is none."""
    marks: list[object] = field(default_factory=list)
    """What each leader's log was when it was looked at."""
    closed: list[PartitionLog] = field(default_factory=list)
    """Those that are being opened."""

    def add(self, key: Key, data: PartitionData, leader: Replica | None, mark: object) -> None:
        self.answers.append((key, data))
        self.leaders.append(leader)
        self.marks.append(mark)


@dataclass(slots=True)
class Fetch:
    broker: Broker
    request: FetchRequest
    fetching: Fetching
    by_id: bool
    max_bytes: int
    may_follow: bool = False
    """Whether a consumer may be served that asks a follower (KIP-392)."""
    nearby: Collection[int] = ()
    """Brokers that stand closer to the consumer than this one."""
    warmed: int = 0
    reindexed: set[Segment] = field(default_factory=set)
    time_is_up: bool = False
    viewing: dict[Key, Partly] = field(default_factory=dict)
    """How far partitions have been looked at that are seen in part."""
    seen: Gathered | None = None
    """While it waits: what there was at the last look."""

    def outcome(self) -> Outcome[FetchResponse]:
        return in_slices(self.broker, self.gather(), self.found)

    def found(self, found: Gathered | NotYet) -> Outcome[FetchResponse]:
        if isinstance(found, NotYet):
            return self.resume(found)
        if self.is_enough(found):
            return self.answer(found)
        self.seen = found
        wait_ms = self.request.max_wait_ms
        return Later(self.sources(found), self.look_again, wait_ms, is_poll=True)

    def sources(self, found: Gathered) -> Sequence[Source]:
        """What wakes it."""
        return [leader.moved for leader in found.leaders if leader is not None]

    def look_again(self, time_is_up: bool) -> FetchResponse | Resume[FetchResponse] | None:
        self.time_is_up = time_is_up
        try:
            found = self.gather_news()
        except NotYet as not_yet:
            return self.resume(not_yet)
        if not self.is_enough(found):
            return None
        answer = self.answer(found)
        assert isinstance(answer, FetchResponse | Resume)
        return answer

    def resume(self, not_yet: NotYet) -> Resume[FetchResponse]:
        return Resume(not_yet.work, lambda _: self.outcome())

    def is_enough(self, found: Gathered) -> bool:
        request = self.request
        return (
            self.time_is_up
            or found.must_answer
            or found.size >= request.min_bytes
            or request.max_wait_ms <= 0
            or not found.leaders
        )

    def gather(self) -> Steps[Gathered | NotYet]:
        found = Gathered()
        try:
            for number, (key, wanted) in enumerate(self.fetching.partitions, 1):
                data, leader = self.look_at(key, wanted, found)
                found.add(key, data, leader, self.mark(leader) if leader else None)
                if number % LOOKED_AT_AT_ONCE == 0:
                    yield None
            if len(found.answers) >= LOOKED_AT_AT_ONCE:
                self.seen = found
                return self.gather_news()  # what has moved during a pause wakes nobody yet
            self.check_open(found)
        except NotYet as not_yet:
            return not_yet
        return found

    def gather_news(self) -> Gathered:
        """The same by another look at what has moved since: thousands may not have."""
        found = self.seen
        assert found is not None
        for number, leader in enumerate(found.leaders):
            key, data = found.answers[number]
            if leader is not None and (
                self.has_moved(leader, data)
                or self.mark(leader) != found.marks[number]
                or leader.over is not None
            ):
                found.must_answer |= leader.over is not None  # another would not wake us
                found.marks[number] = self.mark(leader)
                found.size -= self.counted(key, data)
                wanted = self.fetching.partitions[number][1]
                found.answers[number] = key, self.look_at(key, wanted, found)[0]
        self.check_open(found)
        return found

    def counted(self, key: Key, data: PartitionData) -> int:
        """The bytes that are worth an answer: not what tells of a view that nothing has matched."""
        viewing = self.viewing.get(key) if self.viewing else None
        return 0 if viewing is not None and not viewing.has_match else len(data.records or b"")

    def check_open(self, found: Gathered) -> None:
        """Logs that take long to open are waited for, in place of records."""
        if found.closed and not self.time_is_up:
            self.time_is_up = True
            wait_ms = self.request.max_wait_ms
            raise NotYet(partial(self.broker.opening.waited_for, found.closed, wait_ms))

    def mark(self, leader: Replica) -> object:
        """What changes when another look is worth while, besides what `has_moved` sees."""
        return leader.log.revision

    def has_moved(self, leader: Replica, data: PartitionData) -> bool:
        return (
            leader.high_watermark != data.high_watermark
            or leader.log.start_offset != data.log_start_offset
        )

    def look_at(
        self, key: Key, wanted: FetchPartition, found: Gathered
    ) -> tuple[PartitionData, Replica | None]:
        """What there is now, with as much of it as what was found before leaves room for."""
        data = PartitionData(wanted.partition, 0, -1, records=b"")
        leader: Replica | None = None
        try:
            leader = self.leader(key)
            leader.log.write_out()  # should that fail, it is not this partition's reading
            self.read_safely(key, leader, wanted, data, found)
        except Refused as refused:
            if isinstance(refused, NotOpen):
                found.closed.append(refused.log)
            data.error_code = refused.code
            data.records = b""
            found.must_answer = True
        return data, leader

    def view(self, key: Key) -> View | None:
        topic, topic_id, _ = key
        image = self.broker.image
        found = image.shown.topic(topic_id) if self.by_id else image.readable.topic(topic)
        return found if isinstance(found, View) else None

    def leader(self, key: Key) -> Replica:
        topic, topic_id, index = key
        broker = self.broker
        try:
            if self.by_id:
                return broker.read_shown_leader(topic_id, index)
            return broker.read_leader(topic, index)
        except NotOpen:
            raise
        except Refused as refused:
            if refused.code is not ErrorCode.NOT_LEADER_OR_FOLLOWER or not self.may_follow:
                raise
            shown = broker.image.shown
            known = shown.topic(topic_id) if self.by_id else broker.image.readable.topic(topic)
            source = known.source if isinstance(known, View) else known
            return broker.follower((source.id if source else topic_id, index))

    def read_safely(
        self,
        key: Key,
        leader: Replica,
        wanted: FetchPartition,
        data: PartitionData,
        found: Gathered,
    ) -> None:
        """A partition whose files cannot be read must not keep the others from being read."""
        try:
            self.read(key, leader, wanted, data, found)
        except Cold as cold:
            self.warmed += 1
            raise NotYet(partial(self.broker.warm, cold)) from None
        except Amiss as amiss:
            raise self.once_reindexed(leader, amiss) from amiss
        except OSError as problem:
            log.error("%s-%d cannot be read: %s", leader.topic, leader.index, problem)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR) from problem

    def once_reindexed(self, leader: Replica, amiss: Amiss) -> NotYet | Refused:
        """Refused where that did not help."""
        segment = amiss.segment
        if segment in self.reindexed:
            log.error("%s-%d cannot be read: %s", leader.topic, leader.index, amiss)
            return Refused(ErrorCode.KAFKA_STORAGE_ERROR)
        self.reindexed.add(segment)
        steps = _reindex_safely(leader, segment)
        return NotYet(lambda: self.broker.in_steps(steps))

    def read(
        self,
        key: Key,
        leader: Replica,
        wanted: FetchPartition,
        data: PartitionData,
        found: Gathered,
    ) -> None:
        """Thousands of partitions may have nothing to read: for those this is all that counts."""
        leader.check_epoch(wanted.current_leader_epoch)
        partition = leader.log
        before = data.high_watermark = leader.high_watermark
        data.last_stable_offset = partition.last_stable_offset(before)
        data.log_start_offset = partition.start_offset
        if wanted.last_fetched_epoch >= 0 and self.diverges(leader, wanted, data):
            found.must_answer = True
            return
        if self.nearby and isinstance(leader, Leader):
            data.preferred_read_replica = leader.near(self.nearby, wanted.fetch_offset)
            if data.preferred_read_replica >= 0:
                found.must_answer = True
                return
        elif isinstance(leader, Follower) and wanted.fetch_offset > before:
            raise Refused(ErrorCode.OFFSET_NOT_AVAILABLE, "this replica has not got as far yet")
        if wanted.fetch_offset > partition.end_offset and not self.broker.has_lease():
            raise Refused(  # or a consumer that is ahead of us would begin anew
                ErrorCode.NOT_LEADER_OR_FOLLOWER, "others may lead the partition, and have more"
            )
        committed = self.request.isolation_level == READ_COMMITTED
        if committed:
            before = data.last_stable_offset
            data.aborted_transactions = []
        if (self.broker.image.views or partition.config.delayed_delivery) and (
            part := self.part(key, leader, wanted.fetch_offset)
        ):
            self.read_part(key, part, leader, wanted, data, before, found)
            return
        room, most = self.max_bytes - found.size, wanted.partition_max_bytes
        slice_ = partition.read(
            wanted.fetch_offset,
            most if most < room else max(room, 0),
            before,
            at_least_one=not found.size,
            cold_ok=self.warmed > WARMED_AT_MOST,
        )
        if slice_ is None:
            return
        data.records = slice_.range
        if committed:
            end = slice_.next_offset
            data.aborted_transactions = aborted_between(partition, wanted.fetch_offset, end)
        found.size += slice_.range.length

    def part(self, key: Key, leader: Replica, offset: int) -> Partly | None:
        """Where only a part of the partition is to be read, how far that was looked at."""
        known = self.viewing.get(key)
        if known is not None:
            return known
        view, share = self.view(key), len(self.fetching.partitions)
        found: Partly
        if isinstance(view, Scheduled):
            schedule = self.broker.schedules.of(leader.log)
            found = Showing(Held(schedule), offset, share)
        elif leader.log.config.delayed_delivery:
            found = Showing(Shown(self.broker.sieves.of(view) if view else None), offset, share)
        elif view is not None:
            found = Viewing(self.broker.sieves.of(view), offset, share)
        else:
            return None
        check_range(leader.log, offset)
        self.viewing[key] = found
        return found

    def read_part(
        self,
        key: Key,
        viewing: Partly,
        leader: Replica,
        wanted: FetchPartition,
        data: PartitionData,
        before: int,
        found: Gathered,
    ) -> None:
        """Some chunks at a time, with pauses between."""
        check_range(leader.log, wanted.fetch_offset)
        before = viewing.limit(before)
        most = min(wanted.partition_max_bytes, self.max_bytes - found.size)
        if not viewing.is_at_end(before, most):
            self.look_further(viewing, leader.log, before, most)
        data.records = viewing.chosen(leader.log)
        if self.request.isolation_level == READ_COMMITTED:
            data.aborted_transactions = aborted_between(
                leader.log, wanted.fetch_offset, viewing.offset
            )
        if viewing.has_moved and viewing.offset < before and viewing.size < most:
            found.must_answer = True
        found.size += self.counted(key, data)

    def look_further(self, viewing: Partly, log: PartitionLog, before: int, most: int) -> None:
        """What cannot be read is told to who asks for just that; others get what lies before it."""
        offset, wait = viewing.offset, None
        try:
            wait = viewing.go_on(log, before, most, cold_ok=viewing.has_failed)
        except Cold:
            pass
        except (Refused, OSError):
            if not viewing.has_moved:
                raise
            return
        else:
            viewing.has_failed = False
            if viewing.is_at_end(before, most) or (wait is None and viewing.offset == offset):
                return
        more = viewing.in_steps(log, before, most)
        raise NotYet(lambda: self.broker.in_steps(going_on(wait, more)))

    def diverges(self, leader: Replica, wanted: FetchPartition, data: PartitionData) -> bool:
        """Whether the reader's last record is not the one that stands there now (KIP-595)."""
        epoch, end = leader.epoch_end_offset(wanted.last_fetched_epoch)
        if epoch == wanted.last_fetched_epoch and end >= wanted.fetch_offset:
            return False
        if epoch < 0:
            return False
        data.diverging_epoch = EpochEndOffset(epoch, end)
        return True

    def answer(self, found: Gathered) -> Outcome[FetchResponse]:
        answer = FetchResponse(session_id=self.fetching.session_id)
        if len(found.answers) > TOLD_AT_ONCE:
            return Resume(lambda: self.broker.in_steps(self.tell_all(answer, found)), _as_it_is)
        self.tell(answer, found.answers)
        return answer

    def tell_all(self, answer: FetchResponse, found: Gathered) -> Steps[FetchResponse]:
        for start in range(0, len(found.answers), TOLD_AT_ONCE):
            self.tell(answer, found.answers[start : start + TOLD_AT_ONCE])
            yield None
        return answer

    def tell(self, answer: FetchResponse, found: Iterable[tuple[Key, PartitionData]]) -> None:
        session, told = self.fetching.session, answer.responses
        for key, data in found:
            if session is not None:
                has_news = session.has_news(key, data)
                if self.fetching.is_incremental and not has_news:
                    continue
            if not told or key[1] != told[-1].topic_id or key[0] != told[-1].topic:
                told.append(FetchableTopicResponse(key[0], key[1], []))
            told[-1].partitions.append(data)


def _as_it_is(answer: FetchResponse) -> FetchResponse:
    return answer


def aborted_between(partition: PartitionLog, start: int, end: int) -> list[AbortedTransaction]:
    return [
        AbortedTransaction(aborted.producer_id, aborted.first_offset)
        for aborted in partition.aborted_between(start, end)
    ]


def _reindex_safely(leader: Replica, segment: Segment) -> Steps[None]:
    with suppress(OSError, Refused):  # the next look at the partition tells
        yield from reindex(leader.log, segment)


def fetch_as_consumer(broker: Broker, request: FetchRequest, call: Call) -> Outcome[FetchResponse]:
    by_id = call.version >= TOPIC_IDS_SINCE
    fetching = broker.fetch_sessions.begin(request, uses_ids=by_id, now_ms=call.now_ms)
    max_bytes = min(request.max_bytes, broker.config.fetch_max_bytes)
    may_follow = call.version >= FOLLOWERS_SINCE
    nearby = _nearby(broker, request.rack_id) if may_follow and request.rack_id else ()
    return Fetch(broker, request, fetching, by_id, max_bytes, may_follow, nearby).outcome()


def _nearby(broker: Broker, rack: str) -> Collection[int]:
    """Brokers in the consumer's rack, unless this one stands there too."""
    brokers = [each for each, stands_in in broker.image.racks().items() if stands_in == rack]
    return () if broker.node_id in brokers else brokers
