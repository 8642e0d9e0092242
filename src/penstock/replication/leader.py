"""A partition as its leader sees it: how far each in-sync replica is, and so what is committed.

The high watermark is the least end over the in-sync replicas, the leader's own included. With
`flush.on.acks.all` an end counts once it is synced to disk, else once it is in the page cache.
Nothing above the high watermark is ever shown to a consumer.

While a change of the in-sync replicas is under way, or nobody knows what became of it, those of
before and those that are wanted count both. With fewer than `min.insync.replicas` in sync nothing
becomes committed: whoever falls out of sync then still has all that is (KIP-966).

Where a term begins with records of earlier ones that are not known to be committed, its beginning
is noted on disk, here and by every follower that counts, before they become committed. Else a
replica with a record of a term in between would look as if it had more than those who have them.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.errors import ErrorCode, Refused
from penstock.log.leader_epochs import EpochStart
from penstock.log.partition_log import PartitionLog
from penstock.metadata.internal_topics import INTERNAL
from penstock.metadata.records import PartitionRecord
from penstock.replication.progress import Progress
from penstock.replication.signals import Line, Reached, Signal
from penstock.replication.writing import Writing


class Leader:
    __slots__ = (
        "_counted",
        "_followers",
        "_is_waking",
        "committed",
        "epoch",
        "epoch_start",
        "grown",
        "high_watermark",
        "in_sync",
        "index",
        "is_internal",
        "log",
        "min_isr",
        "moved",
        "node_id",
        "over",
        "replicas",
        "topic",
        "topic_id",
        "trimmed",
        "wanted",
        "writing",
    )

    def __init__(
        self,
        node_id: int,
        topic: str,
        index: int,
        record: PartitionRecord,
        log: PartitionLog,
        now_ms: float = 0,
        *,
        topic_id: bytes = b"",
    ) -> None:
        """The topic's id is the log's, unless one is given."""
        self.node_id = node_id
        self.topic = topic
        self.topic_id = topic_id or log.topic_id
        self.is_internal = topic in INTERNAL
        """Written to by coordinators alone."""
        self.writing = Writing()
        self.index = index
        self.log = log
        self.high_watermark = max(log.start_offset, min(log.high_watermark, log.end_offset))
        """What was committed under the leaders before is committed."""
        self.over: ErrorCode | None = None
        """Why it is the leader no more, once that is so."""
        self.wanted: frozenset[int] | None = None
        """In-sync replicas that were asked for, until it is known what became of it."""
        self.committed = Line()
        """Producers who wait for their append to be committed."""
        self.moved = Signal()
        """Consumers who wait for more to read."""
        self._is_waking = False
        """Whether some who waited for the high watermark are still to be woken."""
        self.grown = Signal()
        """Followers who wait for more to copy."""
        self.trimmed = Signal()
        """Who waits for the replicas to let go of records that were deleted."""
        self._followers: dict[int, Progress] = {}
        self.begin_term(record, now_ms)

    # -- what the cluster says

    def begin_term(self, record: PartitionRecord, now_ms: float) -> bool:
        """Followers have to show anew how far they are: they may have cut off what they had.

        True if the high watermark moved.
        """
        self.epoch = record.leader_epoch
        self.epoch_start = self.log.end_offset
        self.wanted = None
        self._followers = {
            broker: Progress(now_ms) for broker in record.replicas if broker != self.node_id
        }
        self._note_beginning(record.replicas)
        return self.follow(record, now_ms)

    def _note_beginning(self, replicas: Collection[int]) -> None:
        if self.high_watermark < self.epoch_start and len(replicas) > 1:
            self.log.begin_epoch(self.epoch, self.high_watermark)

    def note_beginning_again(self) -> bool:
        """True if the log does not know of this term: it could not be noted, as the disk was full,
        and no record has come since. Until it is, nothing of before becomes committed."""
        if self.over is not None or self.high_watermark >= self.epoch_start or self._is_noted:
            return False
        self.log.begin_epoch(self.epoch, self.high_watermark)
        return True

    def follow(self, record: PartitionRecord, now_ms: float) -> bool:
        """The record was changed within the term. True if the high watermark moved."""
        self.replicas = record.replicas
        self.writing.is_closed = record.is_closed
        self.in_sync = frozenset(record.isr)
        self.min_isr = record.min_isr or self.log.config.min_insync_replicas
        new = [each for each in record.replicas if each not in (self.node_id, *self._followers)]
        for broker in new:
            self._followers[broker] = Progress(now_ms)
        for broker in [each for each in self._followers if each not in record.replicas]:
            del self._followers[broker]
        self._count()
        if new:
            self.grown.fire()  # who copies already must show how far it is
        self.trimmed.fire()
        return self.advance()

    def want(self, in_sync: frozenset[int]) -> None:
        """Others in sync than now are asked for."""
        self.wanted = in_sync
        self._count()

    def want_no_more(self) -> None:
        """What became of it is known, and in the record. Before that, a record that somebody else
        has changed says nothing of it: it may yet be written."""
        self.wanted = None
        self._count()

    def _count(self) -> None:
        """Whose ends count, besides this broker's own."""
        members = self.in_sync | (self.wanted or frozenset())
        self._counted = [
            self._followers.get(broker, _NOWHERE) for broker in members if broker != self.node_id
        ]

    def end(self, reason: ErrorCode) -> None:
        """It leads no more: everyone who waits must look again."""
        self.over = reason
        self.committed.drop()
        self.moved.fire()
        self.grown.fire()
        self.trimmed.fire()

    # -- what is committed

    @property
    def has_others_in_sync(self) -> bool:
        """Whether somebody else must confirm what is to be committed."""
        return bool(self._counted)

    @property
    def own_end(self) -> int:
        """What this broker's disk answers for."""
        return self.log.safe_end

    def advance(self) -> bool:
        """Move the high watermark to where the replicas are; True if it moved."""
        least = self.own_end
        if least <= self.high_watermark or self.has_too_few_in_sync:
            return False
        if self.high_watermark < self.epoch_start and not self._is_noted:
            return False
        for follower in self._counted:
            least = min(least, follower.end)
        if least <= self.high_watermark:
            return False
        self.high_watermark = self.log.high_watermark = least
        return True

    @property
    def _is_noted(self) -> bool:
        """Whether the log knows of this term, or nobody else has a log."""
        return self.log.latest_epoch == self.epoch or len(self.replicas) == 1

    @property
    def has_too_few_in_sync(self) -> bool:
        """Nothing becomes committed while this is so."""
        count = len(self.in_sync)
        return count < self.min_isr and count < len(self.replicas)

    @property
    def knows_end(self) -> bool:
        """Whether all that leaders before may have told consumers of is committed here, too. Until
        then the high watermark is no end to tell of: it would have gone back (KIP-207)."""
        return self.high_watermark >= min(self.epoch_start, self.log.end_offset)

    def announce(self) -> bool:
        """Wake those who waited for the high watermark. There may be thousands: True if
        `announce_more` is to be called from now on until it says that there are no more."""
        has_more = self.committed.reach(self.high_watermark)
        has_more = self.moved.fire_some() or has_more
        was_waking, self._is_waking = self._is_waking, has_more
        return has_more and not was_waking

    def announce_more(self) -> bool:
        has_more = self.committed.reach(self.high_watermark)
        self._is_waking = self.moved.wake_more() or has_more
        return self._is_waking

    # -- followers

    def fetched(
        self,
        broker: int,
        offset: int,
        now_ms: float,
        registration: int = -1,
        start: int = -1,
        epoch: int | None = None,
    ) -> bool:
        """A follower asks for what comes after `offset`, so it has all from its `start` to there.

        `epoch`: the last one that its log knows; None for the last one here. True if the high
        watermark moved.
        """
        follower = self._followers.get(broker)
        if follower is None:
            raise Refused(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"broker {broker} has no replica of {self.topic}-{self.index}",
            )
        follower.note(offset, self.log.end_offset, now_ms, registration)
        is_empty = start == offset
        follower.knows_epoch = epoch is None or epoch >= self.log.epochs.latest or is_empty
        if not follower.knows_epoch:  # by what it has, nothing more is committed
            follower.end = min(offset, self.high_watermark)
        if start != follower.start:
            follower.start = start
            self.trimmed.fire()
        return self.advance()

    def had_all(self, broker: int, at_ms: float) -> None:
        """A follower that does not speak of this partition had all that there was, when it last
        spoke of others."""
        if follower := self._followers.get(broker):
            follower.caught_up_ms = max(follower.caught_up_ms, at_ms)

    @property
    def low_watermark(self) -> int:
        """Below this no replica has anything that is in sync, so it cannot come back with one."""
        followers = (self._followers.get(each, _NOWHERE) for each in self.in_sync - {self.node_id})
        return min([self.log.start_offset, *(each.start for each in followers)])

    def caught_up(self) -> frozenset[int]:
        """Followers that are as far as they must be to count as in sync, and do not yet."""
        least = max(self.high_watermark, self.epoch_start)
        counted = self.in_sync | (self.wanted or frozenset())
        return frozenset(
            broker
            for broker, follower in self._followers.items()
            if broker not in counted and follower.end >= least and follower.knows_epoch
        )

    def joining(self) -> dict[int, int]:
        """Those that are asked for besides, as far as they have what it takes still, and which of
        their registrations has shown it."""
        least = max(self.high_watermark, self.epoch_start)
        return {
            broker: self._followers[broker].registration
            for broker in (self.wanted or frozenset()) - self.in_sync
            if broker in self._followers and self._followers[broker].end >= least
        }

    def left_behind(self, now_ms: float, lag_ms_max: int, lag_max: int) -> frozenset[int]:
        """In-sync followers that have not had all for so long, or lack so many (-1: any number)."""
        end = self.log.end_offset
        return frozenset(
            broker
            for broker, follower in self._followers.items()
            if broker in self.in_sync and follower.is_behind(end, now_ms, lag_ms_max, lag_max)
        )

    def unknown_epoch(self, epoch: int, offset: int) -> EpochStart | None:
        """The last epoch here, if who asks has all records and cannot know of it by them."""
        begun = self.log.empty_epoch
        if begun is None or epoch < 0 or epoch >= begun.epoch or offset != begun.start_offset:
            return None
        return begun

    def near(self, brokers: Collection[int], offset: int) -> int:
        """One of these that is in sync and has all before an offset (KIP-392); -1 for none.

        Whoever has read all that there is goes there too, or it would never leave the leader.
        """
        for broker, follower in self._followers.items():
            if broker in brokers and broker in self.in_sync and follower.end >= offset:
                return broker
        return -1

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """The largest epoch at or below the one asked for, and where it ended (KIP-279).

        This term counts from its beginning, not from its first record: whoever has records of a
        term between the last one here and this one is to cut them off before there is any.
        """
        log, latest = self.log, self.log.latest_epoch
        if latest < epoch < self.epoch:
            return latest if latest >= 0 else epoch, self.epoch_start
        return log.epoch_end_offset(epoch)

    # -- what clients are told

    def check_epoch(self, epoch: int) -> None:
        if epoch >= 0 and epoch != self.epoch:
            check_epoch(epoch, self.epoch)

    def check_enough_in_sync(self) -> None:
        """acks=all promises `min.insync.replicas` copies: refuse what could not be kept."""
        least = self.min_isr
        if len(self.in_sync) < least:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{len(self.in_sync)} replicas are in sync, min.insync.replicas asks for {least}",
            )

    def reached(self, offset: int) -> Reached:
        return Reached(self.committed, offset)

    @property
    def last_stable_offset(self) -> int:
        """Up to where no transaction is undecided: what read_committed may see."""
        return self.log.last_stable_offset(self.high_watermark)


def check_epoch(asked: int, known: int) -> None:
    """Refuse who knows another leader than there is (KIP-320); -1 knows none."""
    if asked == known or asked < 0:
        return
    if asked < known:
        raise Refused(ErrorCode.FENCED_LEADER_EPOCH, f"the leader epoch is {known} now")
    raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH, f"leader epoch {asked} is not known here yet")


_NOWHERE = Progress(0)
"""Of who is said to be in sync, and is no replica."""
