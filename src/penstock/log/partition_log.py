"""One partition's log: append, read, truncate. A plain object; only its caller awaits anything.

Nothing is opened or read before it is needed, and a partition that was never written has no folder.
What is appended is kept as views until `write_out` hands all of it to the disk in one call; whoever
appends calls that before the buffers are used for something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log import layout, loading, notes, reading, retention, timestamps, truncation
from penstock.log.aborted_index import AbortedTxn, overlapping
from penstock.log.damage import Damage
from penstock.log.leader_epochs import LeaderEpochs
from penstock.log.producer_state import ProducerStates, WrittenBatch, marker_in
from penstock.log.reading import Slice
from penstock.log.segment import IndexCache, Segment
from penstock.log.steps import Steps
from penstock.log.timestamps import TimedOffset
from penstock.wire import batch as batches
from penstock.wire.batch import CONTROL, LENGTH_OVERHEAD, NO_TIMESTAMP, BatchHeader, Offset
from penstock.wire.batch_builder import Marker, read_marker
from penstock.world.ports import Disk, File

RELATIVE_OFFSET_MAX = 0x7FFFFFFF
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


class SyncToken(NamedTuple):
    """What a round of syncing must cover for the log to be durable up to an offset."""

    files: list[File]
    folders: list[str]
    end_offset: int
    generation: int


class PartitionLog:
    __slots__ = (
        "_dirty_since_ms",
        "_folders",
        "_generation",
        "_on_lowered",
        "active",
        "before",
        "cleaned_to",
        "config",
        "damage",
        "disk",
        "end_offset",
        "epochs",
        "folder",
        "has_folder",
        "high_watermark",
        "indexes",
        "is_compacted",
        "is_deleted",
        "is_open",
        "is_torn",
        "marks",
        "pending",
        "producers",
        "recovery_point",
        "revision",
        "rolled",
        "segments",
        "start_offset",
        "synced_end",
        "topic_id",
        "touched",
        "unsynced_files",
        "written_end",
    )

    def __init__(
        self,
        disk: Disk,
        folder: str,
        topic_id: bytes,
        config: TopicConfig,
        indexes: IndexCache | None = None,
        *,
        on_lowered: Callable[[], None] | None = None,
    ) -> None:
        self.disk = disk
        self.folder = folder
        self.topic_id = topic_id
        self.config = config
        self.indexes = indexes or IndexCache()
        self.start_offset = self.end_offset = self.written_end = self.synced_end = 0
        self.high_watermark = 0
        """Set by the broker, to be noted in checkpoints; nothing here depends on it."""
        self.recovery_point = 0
        """Up to where the last checkpoint says that the log is synced."""
        self.cleaned_to = 0
        """Up to where the log is compacted."""
        self.is_compacted = False
        """Some of it, once: noted beside it before anything was replaced."""
        self.revision = 0
        """Changes whenever batches that were there are gone, or in another file."""
        self.segments: list[Segment] = []
        self.active: Segment | None = None
        self.is_open = False
        self.has_folder = False
        self.is_deleted = False
        self.touched = True
        """Changed since it was loaded: what is noted beside it must be written again."""
        self.producers = ProducerStates()
        self.epochs = LeaderEpochs()
        self.damage: list[Damage] = []
        self.unsynced_files: list[File] = []
        self._on_lowered = on_lowered
        self.pending: list[memoryview | bytearray] = []
        self.before = 0, NO_TIMESTAMP, 0
        """What was known of the active segment when nothing was pending: its size, its largest
        timestamp and the offset of that."""
        self.is_torn = False
        """A write failed, and what got through all the same could not be cut off yet."""
        self.rolled: list[Segment] = []
        self._folders: list[str] = []
        self.marks: dict[int, tuple[Segment, int]] = {}
        self._generation = 0
        self._dirty_since_ms = 0

    def open(self) -> None:
        """Load what the log's folder says. Reads a few small files: off the loop if it matters."""
        if not self.is_open:
            loading.load(self)

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
            self._mend()  # or refuse, before the batch is changed: it may be looked at again
        base = self.end_offset
        append_time_ms, timestamp = NO_APPEND_TIME, header.max_timestamp
        if self.config.message_timestamp_type == "LogAppendTime":
            append_time_ms = timestamp = now_ms
            batches.stamp_append_time(batch, now_ms)
        batches.stamp(batch, Offset(base), leader_epoch)
        if self.synced_end == base:
            self._dirty_since_ms = now_ms
        self._add(batch, header, base, timestamp, leader_epoch, now_ms)
        if header.producer_id >= 0:
            self._note_producer(header, marker, base, now_ms, now_ms)
        return Appended(base, base + header.last_offset_delta, append_time_ms, False)

    def _repeated(self, known: WrittenBatch) -> Appended:
        stamped = self.config.message_timestamp_type == "LogAppendTime"
        time_ms = known.timestamp if stamped else NO_APPEND_TIME
        return Appended(known.base_offset, known.last_offset, time_ms, True)

    def append_batches(self, data: memoryview, now_ms: int) -> int:
        """A follower's append of batches as its leader has them; returns how many.

        What is left of a batch that was cut off at the end is ignored. Offsets may skip (the
        leader's log is compacted), but never go back.
        """
        if not self.is_open:
            self.open()
        position, count = 0, 0
        while position + LENGTH_OVERHEAD <= len(data):
            size = batches.size_at(data, position)
            if size < batches.HEADER_SIZE or position + size > len(data):
                break
            self._follow(data[position : position + size], now_ms)
            position += size
            count += 1
        return count

    def _follow(self, batch: memoryview, now_ms: int) -> None:
        header = batches.check(batch)
        base = header.base_offset
        if base < self.end_offset:
            raise Refused(
                ErrorCode.CORRUPT_MESSAGE,
                f"a batch at {base} in a log that ends at {self.end_offset}",
            )
        if self.is_torn:
            self._mend()
        if base > self.end_offset and self.active is not None and not self.is_compacted:
            self._note_gaps()
        if self.synced_end == self.end_offset:
            self._dirty_since_ms = now_ms
        self._add(batch, header, base, header.max_timestamp, header.leader_epoch, now_ms)
        if header.producer_id >= 0:
            marker = marker_in(batch) if header.attributes & CONTROL else None
            self._note_producer(header, marker, base, header.max_timestamp, now_ms)

    def _note_gaps(self) -> None:
        """The leader's log has them; synced no later than the batch that comes after the first."""
        self.write_out()
        self.unsynced_files.append(notes.write_compacted(self))
        self.note_folder(self.folder)
        self.is_compacted = True

    def _add(
        self,
        batch: memoryview | bytearray,
        header: BatchHeader,
        base: int,
        timestamp: int,
        leader_epoch: int,
        now_ms: int,
    ) -> None:
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
            segment = self._roll_if_due(base, last, size, written_ms)
        if not self.pending:
            self.before = segment.size, segment.max_timestamp, segment.max_timestamp_offset
        if leader_epoch != self.epochs.latest:
            self.epochs.assign(leader_epoch, base)
        self.pending.append(batch)
        segment.note(last, size, timestamp, config.index_interval_bytes)
        if segment.first_timestamp < 0:
            segment.first_timestamp = written_ms
        self.end_offset = last + 1

    def _roll_if_due(self, base: int, last: int, size: int, written_ms: int) -> Segment:
        """The quick test errs on the side of rolling; this one decides."""
        segment, config = self.active, self.config
        if segment is None:
            return self.roll(base)
        if not segment.size and not segment.sealed and last - segment.base <= RELATIVE_OFFSET_MAX:
            return segment
        young = segment.first_timestamp < 0 or (
            written_ms - segment.first_timestamp <= config.segment_ms - segment.jitter_ms(config)
        )
        roomy = segment.size + size <= config.segment_bytes
        indexable = last - segment.base <= RELATIVE_OFFSET_MAX
        if young and roomy and indexable and not segment.is_full(config.segment_index_bytes):
            return segment
        return self.roll(base)

    def _mend(self) -> None:
        try:
            truncation.mend(self)
        except OSError as problem:
            text = f"a write failed, and what it left in the file cannot be cut off: {problem}"
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, text) from problem

    def _note_producer(
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
        """Begin a new segment at the end of the log; the old one's indexes go to disk.

        With OSError the old one goes on being the last.
        """
        self.write_out()
        if self.is_torn:
            truncation.mend(self)
        self.touched = True
        base = self.end_offset if base is None else base
        if not self.has_folder:
            self._make_folder()
        if self.active is not None:
            self._finish(self.active, base)
        segment = Segment(self.disk, self.folder, base)
        segment.begin()
        self.segments.append(segment)
        self.active = segment
        self.note_folder(self.folder)
        return segment

    def _finish(self, active: Segment, end: int) -> None:
        """Whatever can fail comes first."""
        if not active.size:
            self.disk.remove(active.file.path)  # nothing was ever written to it
            self.segments.pop()
            return
        active.unsynced_indexes = []  # of an attempt that failed
        active.write_indexes()
        notes.write_snapshot(self, end)
        self.rolled.append(active)
        self.indexes.remember(active)

    def _make_folder(self) -> None:
        self.disk.make_folder(self.folder)
        self.note_folder(self.folder.rpartition("/")[0])
        notes.write_partition_file(self)
        self.has_folder = True

    def note_folder(self, folder: str) -> None:
        """Names in it changed: the next round of syncing covers it."""
        if folder not in self._folders:
            self._folders.append(folder)

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

    def segment_of(self, offset: int) -> int:
        """The index of the segment that an offset belongs to."""
        segments = self.segments
        low, high = 0, len(segments)
        while low < high:
            middle = (low + high) // 2
            if segments[middle].base <= offset:
                low = middle + 1
            else:
                high = middle
        return max(low - 1, 0)

    def forget_marks(self) -> None:
        self.marks.clear()

    # Syncing

    def begin_sync(self) -> SyncToken:
        """What to sync now; `end_sync` once that has been done."""
        self.write_out()
        files = self.unsynced_files
        for segment in self.rolled:
            files += [segment.file, *segment.unsynced_indexes]
            segment.unsynced_indexes = []
        active = self.active
        if active is not None and active.size and self.synced_end < self.end_offset:
            files.append(active.file)
            reading.mark(self, self.end_offset, active, active.size)
        token = SyncToken(files, self._folders, self.written_end, self._generation)
        self.unsynced_files, self.rolled, self._folders = [], [], []
        return token

    def end_sync(self, token: SyncToken) -> None:
        """A truncation in between makes the token worthless, and the next round does it again."""
        if token.generation == self._generation:
            self.synced_end = max(self.synced_end, token.end_offset)
        for file in token.files:
            if not file.path.endswith(layout.LOG):
                file.close()  # indexes and notes are not written to again

    @property
    def has_enough_to_flush(self) -> bool:
        """Whether flush.messages asks for a sync now."""
        return self.end_offset - self.synced_end >= self.config.flush_messages

    def flush_due(self, now_ms: int) -> bool:
        """Whether flush.messages or flush.ms ask for a sync, whatever acknowledgements do."""
        unsynced, config = self.end_offset - self.synced_end, self.config
        if unsynced <= 0:
            return False
        return unsynced >= config.flush_messages or now_ms - self._dirty_since_ms >= config.flush_ms

    def lowered(self, offset: int) -> None:
        """The log ends lower now than it did: no sync that is under way counts any more."""
        self._generation += 1
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
    def may_have_gaps(self) -> bool:
        """Whether compaction may have left offsets without a record; else they are lost records."""
        return self.is_compacted or self.config.compacts or self.cleaned_to > 0

    @property
    def latest_epoch(self) -> int:
        self.open()
        return self.epochs.latest

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
        """Up to where a read_committed consumer may read."""
        return min(high_watermark, self.first_unstable_offset(high_watermark))

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

    def expire(self, now_ms: int, committed: int) -> Steps[list[str]]:
        """Retention; returns the files to remove after file.delete.delay.ms."""
        return retention.expire(self, now_ms, committed)

    def close(self) -> None:
        """Write down what a clean start needs, so that it needs no scan."""
        self.write_out()
        if self.is_open and self.touched and not self.is_deleted:
            notes.write_down(self)
