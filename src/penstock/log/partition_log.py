"""One partition's log: append, read, truncate. A plain object; only its caller awaits anything.

Nothing is opened or read before it is needed, and a partition that was never written has no folder.
What is appended is kept as views until `write_out` hands all of it to the disk in one call; whoever
appends calls that before the buffers are used for something else.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from penstock.errors import ErrorCode, Refused
from penstock.log import (
    following,
    loading,
    notes,
    reading,
    retention,
    rolling,
    snapshotting,
    syncing,
    timestamps,
    truncation,
)
from penstock.log.aborted_index import AbortedTxn, overlapping
from penstock.log.layout import RELATIVE_OFFSET_MAX
from penstock.log.leader_epochs import EpochStart
from penstock.log.log_state import LogState
from penstock.log.producer_state import WrittenBatch
from penstock.log.reading import Slice
from penstock.log.segment import Segment
from penstock.log.steps import Steps, exhaust
from penstock.log.syncing import SyncToken
from penstock.log.timestamps import TimedOffset
from penstock.wire import batch as batches
from penstock.wire.batch import CONTROL, BatchHeader, Offset
from penstock.wire.batch_builder import Marker, read_marker

NO_APPEND_TIME = -1
BULK_BYTES = 256 << 10
WRITEBACK_BYTES = 8 << 20
"""Dirty pages beyond this are sent to the disk early, so that they never pile up."""


class Appended(NamedTuple):
    base_offset: int
    last_offset: int
    append_time_ms: int
    """-1 where records keep their own time."""
    duplicate: bool


class PartitionLog(LogState):
    __slots__ = ()

    def open(self) -> None:
        """Load what the log's folder says: a few small files, but where something is amiss all of
        it may have to be gone through. Who can wait has that done by `open_steps`."""
        while not self.open_a_little():
            pass

    def open_steps(self) -> Steps[None]:
        """The same in steps. Several may be at it, and go on with what the others have begun."""
        while not self.open_a_little():
            yield None

    def open_a_little(self) -> bool:
        """One step, of a few milliseconds: it is all that most logs need. Whether the log is open
        now."""
        if not self.is_open:
            self._go_on_opening()
        return self.is_open

    def _go_on_opening(self) -> None:
        if self.is_deleted:  # the folder may be another log's by now
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.folder} was deleted")
        steps, self.opening = self.opening or loading.load(self), None
        for _ in steps:
            self.opening = steps
            return

    # Appending

    def append(
        self, batch: memoryview | bytearray, header: BatchHeader, now_ms: int, leader_epoch: int
    ) -> Appended:
        """The leader's append of one batch that has passed validation.

        OSError, from here or from anything else that writes out, means that all appends since the
        last `write_out` are undone.
        """
        if not self.is_open:
            self.open()
        marker = None
        if header.producer_id >= 0:
            if header.attributes & CONTROL:
                marker = read_marker(batch)
                self.producers.check_marker(header, marker)
            else:
                known = self.producers.check(header)
                if known is not None:
                    return self._repeated(known)
        if self.is_torn:
            self.mend()  # or refuse, before the batch is changed: it may be looked at again
        base = self.end_offset
        append_time_ms, timestamp = NO_APPEND_TIME, header.max_timestamp
        if self.config.message_timestamp_type == "LogAppendTime":
            append_time_ms = timestamp = now_ms
            batches.stamp_append_time(batch, now_ms)
        batches.stamp(batch, Offset(base), leader_epoch)
        if self.synced_end == base:
            self.dirty_since_ms = now_ms
        self.add(batch, header, base, timestamp, leader_epoch, now_ms)
        if header.producer_id >= 0:
            self.note_producer(header, marker, base, now_ms, now_ms)
        return Appended(base, base + header.last_offset_delta, append_time_ms, False)

    def _repeated(self, known: WrittenBatch) -> Appended:
        stamped = self.config.message_timestamp_type == "LogAppendTime"
        time_ms = known.timestamp if stamped else NO_APPEND_TIME
        return Appended(known.base_offset, known.last_offset, time_ms, True)

    def append_batches(self, data: memoryview, now_ms: int) -> int:
        """A follower's append of batches as its leader has them; returns how many."""
        return following.append_batches(self, data, now_ms)

    def add(
        self,
        batch: memoryview | bytearray,
        header: BatchHeader,
        base: int,
        timestamp: int,
        leader_epoch: int,
        now_ms: int,
    ) -> None:
        """One batch with its offset, after all checks; producers are for `note_producer`."""
        config, segment = self.config, self.active
        size, last = len(batch), base + header.last_offset_delta
        written_ms = timestamp if timestamp >= 0 else now_ms
        if (
            segment is None
            or segment.size + size > config.segment_bytes
            or written_ms - segment.first_timestamp > config.segment_ms
            or last - segment.base > RELATIVE_OFFSET_MAX
            or segment.is_full(config.segment_index_bytes)
        ):
            segment = rolling.roll_if_due(self, base, last, size, written_ms)
        if not self.pending:
            self.before = segment.size, segment.max_timestamp, segment.max_timestamp_offset
            self.epochs_before = self.epochs.entries
        if leader_epoch != self.epochs.latest:
            self.epochs.assign(leader_epoch, base)
        self.pending.append(batch)
        segment.note(last, size, timestamp, config.index_interval_bytes)
        if segment.first_timestamp < 0:
            segment.first_timestamp = written_ms
        self.end_offset = last + 1

    def begin_epoch(self, epoch: int, committed: int) -> None:
        """An epoch begins at the end of the log, without a record yet. Records of before may become
        committed in it: those above `committed` count as synced once it is noted, by the next
        round of syncing. Thousands of logs may begin one at once."""
        if epoch <= self.latest_epoch:
            return
        self.write_out()
        end = self.end_offset
        self.begun = EpochStart(epoch, end)
        self.epochs.assign(epoch, end)
        self.touched = True
        self.generation += 1
        self.synced_end = min(self.synced_end, committed, end - 1)

    def note_begun(self) -> None:
        """With OSError it is as if the epoch had not begun: a record has to bring it. The one that
        was noted before counts again."""
        begun, self.begun = self.begun, None
        if begun is None or begun.start_offset != self.end_offset or self.is_deleted:
            return
        try:
            notes.write_begun(self, begun)
        except OSError:
            self.epochs.forget_from(begun.start_offset)
            notes.take_begun(self)
            raise

    def mend(self) -> None:
        """Cut off what a failed write has left; Refused as long as that cannot be done."""
        try:
            truncation.mend(self)
        except OSError as problem:
            text = f"a write failed, and what it left in the file cannot be cut off: {problem}"
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, text) from problem

    def note_producer(
        self, header: BatchHeader, marker: Marker | None, base: int, timestamp: int, now_ms: int
    ) -> None:
        if not header.attributes & CONTROL:
            self.producers.note_batch(header, base, timestamp, now_ms)
        elif marker is not None:
            aborted = self.producers.note_marker(header, marker, base, now_ms)
            if aborted is not None:
                assert self.active is not None
                assert self.active.aborted is not None
                self.active.aborted.append(aborted)

    def write_out(self) -> None:
        """Everything appended goes to the page cache, or, with OSError, is as if it never was."""
        pending = self.pending
        if not pending:
            return
        active = self.active
        assert active is not None
        self.pending = []
        self.touched = True
        if active.size - self.before[0] >= BULK_BYTES and active.size > active.reserved:
            active.reserve(self.config.segment_bytes)
        try:
            active.file.append(pending)
        except OSError:
            truncation.undo(self)
            raise
        self.written_end = self.end_offset
        if self.producers.before:
            self.producers.settle()
        if self.config.flush_on_acks_all:
            return  # the next round of sync writes it back anyway
        if active.size - active.written_back >= WRITEBACK_BYTES:
            start, active.written_back = active.written_back, active.size
            self.disk.start_writeback(active.file, start, active.size - start)

    def prepare(self) -> None:
        """Make what the first append needs, so that it is as quick as any other."""
        self.open()
        if self.active is None and not self.is_deleted:
            self.roll().file.append([])

    def roll(self, base: int | None = None) -> Segment:
        """Begin a new segment at the end of the log.

        With OSError the old one goes on being the last.
        """
        return rolling.roll(self, self.end_offset if base is None else base)

    def write_held_snapshot(self) -> Steps[None]:
        """What a roll has left to do, if there are many producers."""
        return snapshotting.write_held(self)

    # Reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        before: int,
        *,
        at_least_one: bool = True,
        cold_ok: bool = False,
    ) -> Slice | None:
        """Whole batches from the one that holds an offset, none that reaches `before`.

        None when there is nothing to read there, or the first batch does not fit and need not be
        given. Raises Cold where it would have to wait for the disk, unless that is all right.
        """
        return reading.read(self, offset, max_bytes, before, at_least_one, cold_ok)

    def offset_for_timestamp(self, timestamp: int, before: int) -> Steps[TimedOffset | None]:
        """The first record below `before` that is not older."""
        self.open()
        return timestamps.first_since(self, timestamp, before)

    def max_timestamp(self, before: int) -> Steps[TimedOffset | None]:
        """The first record below `before` that has the largest timestamp of all there."""
        self.open()
        return timestamps.newest(self, before)

    # Syncing

    def begin_sync(self) -> SyncToken:
        """What to sync now; `end_sync` once that has been done."""
        return syncing.begin(self)

    def end_sync(self, token: SyncToken) -> None:
        """A truncation in between makes the token worthless, and the next round does it again."""
        syncing.end(self, token)

    @property
    def has_enough_to_flush(self) -> bool:
        """Whether flush.messages asks for a sync now."""
        return self.end_offset - self.synced_end >= self.config.flush_messages

    def flush_due(self, now_ms: int) -> bool:
        """Whether flush.messages or flush.ms ask for a sync, whatever acknowledgements do."""
        return syncing.is_flush_due(self, now_ms)

    def lowered(self, offset: int) -> None:
        """The log ends lower now than it did: no sync that is under way counts any more."""
        self.generation += 1
        self.revision += 1
        self.touched = True
        self.synced_end = min(self.synced_end, offset)
        self.cleaned_to = min(self.cleaned_to, offset)
        self.marks.clear()
        if offset < self.recovery_point:
            self.recovery_point = offset
            if self._on_lowered is not None:
                self._on_lowered()

    # Facts

    @property
    def size_bytes(self) -> int:
        self.open()
        return sum(segment.size for segment in self.segments)

    @property
    def latest_epoch(self) -> int:
        self.open()
        return self.epochs.latest

    @property
    def safe_end(self) -> int:
        """Up to where it is as safe as the topic wants it: synced, or in the page cache."""
        if self.config.flush_on_acks_all or self.begun is not None:
            return self.synced_end
        return self.end_offset

    @property
    def empty_epoch(self) -> EpochStart | None:
        """The last epoch that has begun, if it has no record here."""
        last = self.epochs.entries[-1] if self.epochs.entries else None
        return last if last is not None and last.start_offset == self.end_offset else None

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """The largest epoch at or below the one asked for, and where it ended here."""
        self.open()
        return self.epochs.end_offset_for(epoch, self.end_offset)

    def first_unstable_offset(self, high_watermark: int | None = None) -> int:
        """Where the earliest undecided transaction begins; the end of the log if there is none.

        Given a high watermark, a transaction counts as decided once its marker is below that.
        """
        self.open()
        found = self.producers.first_unstable(high_watermark)
        return self.end_offset if found is None else found

    def last_stable_offset(self, high_watermark: int) -> int:
        """Up to where a read_committed consumer may read. Records of a transaction that is open may
        have been deleted; nobody is sent to where they were."""
        first = self.first_unstable_offset(high_watermark)
        return min(high_watermark, max(first, self.start_offset))

    def aborted_between(self, start: int, end: int) -> list[AbortedTxn]:
        """Aborted transactions with records in [start, end)."""
        self.open()
        found: list[AbortedTxn] = []
        for segment in self.segments[self.segment_of(start) :]:
            some, complete = overlapping(loading.aborted_in(self, segment), start, end)
            found += some
            if complete:
                break
        return found

    # Making it shorter

    def truncate_to(self, offset: int) -> None:
        """The log ends before the batch that holds an offset; for a follower that went astray."""
        truncation.truncate_to(self, offset)

    def start_over(self, offset: int) -> None:
        """An empty log that begins at an offset; for a follower out of its leader's range."""
        truncation.start_over(self, offset)

    def advance_start(self, offset: int) -> list[str]:
        """DeleteRecords; returns the files to remove after file.delete.delay.ms."""
        return truncation.advance_start(self, offset)

    def expire(
        self,
        now_ms: int,
        committed: int,
        hold: retention.Hold | None = None,
        pinned: int | None = None,
    ) -> Steps[list[str]]:
        """Retention; returns the files to remove after file.delete.delay.ms."""
        return retention.expire(self, now_ms, committed, hold, pinned)

    def close(self) -> None:
        """Write down what a clean start needs, so that it needs no scan."""
        exhaust(self.close_steps())

    def close_steps(self) -> Generator[None, None, None]:
        """The same in steps, between which nothing may be appended any more."""
        self.write_out()
        if self.is_open and self.touched and not self.is_deleted:
            yield from rolling.finish_last(self)
