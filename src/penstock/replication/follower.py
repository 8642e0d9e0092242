"""A partition as a follower sees it: what to ask the leader for, and what to do with the answer.

Records are cut off only where the leader says that its history is another one, by leader epochs
(KIP-101, KIP-279), never because of the high watermark.
"""

from __future__ import annotations

from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.replication.leader import check_epoch
from penstock.replication.signals import Signal
from penstock.wire.messages.k01_fetch import EpochEndOffset, FetchPartition, PartitionData

NO_EPOCH = -1


class Follower:
    __slots__ = (
        "epoch",
        "grown",
        "index",
        "leader_id",
        "log",
        "moved",
        "over",
        "settled",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        leader_id: int,
        epoch: int,
        log: PartitionLog,
        *,
        topic_id: bytes = b"",
    ) -> None:
        """The topic's id is the log's, unless one is given."""
        self.topic = topic
        self.topic_id = topic_id or log.topic_id
        self.index = index
        self.leader_id = leader_id
        self.epoch = epoch
        """Of the leader that is followed."""
        self.log = log
        self.over: ErrorCode | None = None
        """Why it is followed no more, once that is so."""
        self.settled = Signal()
        """Who waits for all that there is to count."""
        self.grown = Signal()
        self.moved = Signal()
        """Consumers who wait for more to read, which may be here (KIP-392)."""

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        return self.log.last_stable_offset(self.high_watermark)

    @property
    def own_end(self) -> int:
        """What this broker's disk answers for, and so what the leader is told."""
        return self.log.safe_end

    @property
    def is_settled(self) -> bool:
        """Whether all that it has counts, so that the leader may be asked for more."""
        return self.own_end == self.log.end_offset

    def advance(self) -> bool:
        """Whether there is something to announce."""
        return self.is_settled

    def announce(self) -> None:
        self.settled.fire()

    def end(self, reason: ErrorCode) -> None:
        self.over = reason
        self.settled.fire()
        self.moved.fire()

    def check_epoch(self, epoch: int) -> None:
        check_epoch(epoch, self.epoch)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        return self.log.epoch_end_offset(epoch)

    def request(self, max_bytes: int) -> FetchPartition:
        log = self.log
        return FetchPartition(
            partition=self.index,
            current_leader_epoch=self.epoch,
            fetch_offset=log.end_offset,
            last_fetched_epoch=log.latest_epoch if log.end_offset > log.start_offset else NO_EPOCH,
            log_start_offset=log.start_offset,
            partition_max_bytes=max_bytes,
        )

    def take(self, answer: PartitionData, now_ms: int) -> bool:
        """What the leader has answered; True if the log has something to be written out.

        Raises Refused for an answer that cannot be used, or that says no.
        """
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._start_over(answer.log_start_offset)
            return True
        if answer.error_code:
            code = ErrorCode(answer.error_code)
            raise Refused(code, f"the leader does not give its records: {code.name}")
        if answer.diverging_epoch.epoch > self.log.latest_epoch:
            self._begin(answer.diverging_epoch)
            return True
        if answer.diverging_epoch.epoch >= 0:
            self._cut_off(answer.diverging_epoch)
            return True
        has_new = self._append(answer, now_ms)
        log = self.log
        log.high_watermark = max(log.high_watermark, min(answer.high_watermark, log.end_offset))
        return has_new

    def _append(self, answer: PartitionData, now_ms: int) -> bool:
        records = answer.records
        if not records:
            return False
        assert isinstance(records, memoryview)
        return self.log.append_batches(records, now_ms) > 0

    def _begin(self, leaders: EpochEndOffset) -> None:
        """The leader's log has an epoch without a record, which begins where this log ends. It is
        noted before the leader is asked again: only then does this replica count."""
        if leaders.end_offset != self.log.end_offset or leaders.epoch > self.epoch:
            raise Refused(ErrorCode.INVALID_REQUEST, "the leader tells of an epoch elsewhere")
        self.log.begin_epoch(leaders.epoch, self.log.high_watermark)

    def _cut_off(self, leaders: EpochEndOffset) -> None:
        """To where the histories part. Where this log has not the epoch that the leader names, it
        is asked again from the end of an earlier one."""
        epoch, end = self.log.epoch_end_offset(leaders.epoch)
        self.log.truncate_to(min(end, leaders.end_offset) if epoch == leaders.epoch else end)
        self.log.high_watermark = min(self.log.high_watermark, self.log.end_offset)

    def _start_over(self, leaders_start: int) -> None:
        """The leader has dropped what comes next here; or has never had it, nor has this log."""
        log = self.log
        if log.start_offset < log.end_offset and leaders_start <= log.end_offset:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, "the leader has no records to go on with")
        log.start_over(leaders_start)
        log.high_watermark = leaders_start
