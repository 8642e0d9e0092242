"""After a stop that was not clean: what of the log can be believed.

Everything past the recovery point, and the segment that it lies in, is read and checked batch by
batch. Bad bytes with nothing good after them are a torn tail, and are cut off. Bad bytes below the
recovery point were promised; and so may those be that good batches follow, since syncs are noted a
while after they were done, unless it shows that they never reached the disk (`unwritten`). A last
batch that is whole but for its offset was not torn either. All these are kept and reported as
damage. Indexes and producer state are made anew on the way. Interrupted at any point and begun
again it comes to the same end. See docs/decisions/0010.

Past the recovery point it is the disk that is asked, not the page cache: after a failed sync that
may hold what the disk does not.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from penstock.log import cutting, drafting, loading, notes, snapshotting, unwritten
from penstock.log.damage import Damage
from penstock.log.epoch_reading import EpochReader
from penstock.log.segment import Segment
from penstock.log.window import Window
from penstock.wire.batch import BatchHeader

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

BATCHES_A_SLICE = 500
LARGE_BYTES = 1 << 18

lines = logging.getLogger(__name__)


def recover(log: PartitionLog, known_end: int | None = None) -> Iterator[None]:
    """Yields between slices of work of a few milliseconds. `known_end`: where the log ended at a
    clean stop."""
    yield from loading.find_segments(log)
    if not log.segments:
        _recover_empty(log)
        return
    log.recovery_point = max(log.recovery_point, log.segments[0].base)
    noted = notes.read_damage(log)
    first = 0 if noted is None else log.segment_of(log.recovery_point)
    if noted is None:
        lines.error("what is damaged in %s cannot be read: all of it is looked through", log.folder)
    for segment in log.segments[:first]:
        if not segment.has_indexes():  # synced ones, with the recovery point, should be there
            yield from drafting.remake_in_steps(segment)
        yield
    scanned_from = log.segments[first].base
    log.damage = [each for each in noted or () if each.segment_base < scanned_from]
    loading.mark_gaps(log)
    epochs = yield from _epochs_before(log, scanned_from)
    for segment in log.segments[first:]:
        segment.size = 0
    yield from loading.rebuild_producers(log, scanned_from)
    yield from Scan(log, epochs, known_end).run(first)
    notes.take_begun(log)
    log.start_offset = _believable_start(log)
    log.epochs.truncate_start(log.start_offset)
    log.written_end = log.end_offset
    log.synced_end = min(log.recovery_point, log.end_offset)
    for folder in (log.folder, log.folder.rpartition("/")[0]):
        log.note_folder(folder)  # its last segment may have been made just before the crash
    notes.write_damage(log)
    log.is_open = True


def _believable_start(log: PartitionLog) -> int:
    """Where the log begins. A start past its end would make all its records unreadable, and have
    them deleted: rather than that, some come back that were."""
    first = log.segments[0].base
    if log.start_offset > log.end_offset:
        text = "%s should begin at %d, which is past its end %d: all that is there is kept, from %d"
        lines.error(text, log.folder, log.start_offset, log.end_offset, first)
        return first
    return max(log.start_offset, first)


def _recover_empty(log: PartitionLog) -> None:
    """A folder without segments: what the checkpoints promised of it is missing."""
    end = max(log.recovery_point, log.start_offset)
    if log.has_folder and log.start_offset < log.recovery_point:
        log.damage = [Damage(log.start_offset, end, log.start_offset, 0, 0)]
        notes.write_damage(log)
    log.end_offset = log.written_end = log.synced_end = end
    log.is_open = True


def _epochs_before(log: PartitionLog, scanned_from: int) -> Generator[None, None, EpochReader]:
    """What is noted of epochs, as far as that is known to be all, and who finds out the rest.
    They are noted before the recovery point is."""
    noted = notes.read_epochs(log)
    if noted is None:
        log.end_offset = scanned_from
        log.epochs = yield from loading.rebuild_epochs(log)
        return EpochReader(log.epochs, scanned_from, notes.begun_epochs(log))
    begin = max(log.recovery_point, scanned_from)
    sure = [each.epoch for each in noted.entries] + notes.begun_epochs(log)
    noted.truncate_end(max(scanned_from, log.recovery_point - 1))
    log.epochs = noted
    return EpochReader(noted, begin, sure)


class Scan:
    """One pass over the segments that are not to be trusted."""

    def __init__(
        self, log: PartitionLog, epochs: EpochReader, known_end: int | None = None
    ) -> None:
        self.log = log
        self._epochs = epochs
        self._known_end = known_end
        self.expected = 0
        """The least offset that the next batch can have."""
        self.count = 0
        self._sound = -1
        """The last segment that was looked at ahead, and found to have a good batch."""
        self._is_synced = True
        """What is being read is below the recovery point."""

    def run(self, first: int) -> Iterator[None]:
        log = self.log
        for number in range(first, len(log.segments)):
            segment = log.segments[number]
            if (yield from self._segment(number)):
                break
            if number + 1 < len(log.segments):
                segment.write_indexes()
                segment.forget_indexes()
                log.rolled.append(segment)
        self._finish()

    def _finish(self) -> None:
        log = self.log
        log.active = active = log.segments[-1]
        if self.expected < log.recovery_point:
            self._note_damage(active, active.size, log.recovery_point)
            active.sealed = True
        log.end_offset = self.expected
        self._epochs.finish(log.epoch_reached, log.folder)
        snapshotting.drop_after(log, log.end_offset)

    def _segment(self, number: int) -> Generator[None, None, bool]:
        """Returns whether the log was cut off in this segment."""
        segment, following = self.log.segments[number], self._following(number)
        window = self._window(number)
        segment.begin()
        segment.size = segment.indexed_at = 0
        self.expected = max(self.expected, segment.base)
        while segment.size < window.size:
            if self._is_synced and self.expected >= self.log.recovery_point:
                self._forget_cached(number, window)
            header = window.good_batch(segment.size, self.expected)
            if header is not None and not self._leaps(segment, window, header):
                self._take(segment, header)
            else:
                found = yield from window.next_good(segment.size, self.expected)
                if found is None:
                    return (yield from self._end_early(number, window))
                if self._may_be_unsynced and self._has_hole(segment, window):
                    yield from cutting.cut_unsynced(self.log, number, self.expected)
                    return True
                self._skip(segment, *found)
            self.count += 1
            if self.count % BATCHES_A_SLICE == 0 or (header and header.size > LARGE_BYTES):
                yield
        if following is not None and self.expected < following and not self.log.may_have_gaps:
            return (yield from self._end_early(number, window))
        return False

    def _leaps(self, segment: Segment, window: Window, header: BatchHeader) -> bool:
        """Whether it is the last, and past the known end after a gap, where it would have had room
        before: no compaction has made that gap."""
        if self._known_end is None or header.base_offset == self.expected:
            return False
        is_last = segment.size + header.size == window.size
        fits = self.expected + header.last_offset_delta < self._known_end
        return is_last and fits and header.last_offset >= self._known_end

    def _forget_cached(self, number: int, window: Window) -> None:
        self._is_synced = False
        segment, *later = self.log.segments[number:]
        segment.file.forget(segment.size)
        for each in later:
            each.file.forget(0)
        window.forget()

    @property
    def _may_be_unsynced(self) -> bool:
        return self.log.is_sync_noted and self.expected >= self.log.recovery_point

    def _has_hole(self, segment: Segment, window: Window) -> bool:
        return unwritten.has_hole(window, segment.size, self.expected)

    def _window(self, number: int) -> Window:
        segment, gaps = self.log.segments[number], self.log.may_have_gaps
        return Window(segment.file, segment.base, self._following(number), may_have_gaps=gaps)

    def _following(self, number: int) -> int | None:
        segments = self.log.segments
        return segments[number + 1].base if number + 1 < len(segments) else None

    def _take(self, segment: Segment, header: BatchHeader) -> None:
        log, position = self.log, segment.size
        segment.note(
            header.last_offset,
            header.size,
            header.newest_timestamp,
            log.config.index_interval_bytes,
        )
        self._epochs.take(header.leader_epoch, header.base_offset)
        aborted = loading.feed(log.producers, segment, position, header)
        if aborted is not None and segment.aborted is not None:
            segment.aborted.append(aborted)
        self.expected = header.next_offset

    def _skip(self, segment: Segment, after: int, offset: int) -> None:
        """Go on with the next good batch of the segment."""
        position, segment.size = segment.size, after
        segment.indexed_at = position - (1 << 31)  # so that the next batch is indexed
        self._note_damage(segment, position, offset)

    def _end_early(self, number: int, window: Window) -> Generator[None, None, bool]:
        """Nothing good is left in a segment. Returns whether the log ends there: not so if what is
        missing was promised, or is no torn batch, or good batches come later; unless it was never
        synced."""
        segment, following = self.log.segments[number], self._following(number)
        lost_end = self._lost_end(segment, window)
        if self.expected >= lost_end and not (yield from self._goes_on_after(number)):
            cutting.cut(self.log, number, self.expected)
            return True
        if following is not None and following <= self.expected:
            cutting.cut_file(segment, self.expected)  # no offset is missing
            return False
        if self._may_be_unsynced and self._is_unwritten(segment, window):
            yield from cutting.cut_unsynced(self.log, number, self.expected)
            return True
        position, segment.size, segment.sealed = segment.size, window.size, True
        end = lost_end if following is None else following
        self._note_damage(segment, position, end)
        return False

    def _is_unwritten(self, segment: Segment, window: Window) -> bool:
        is_cut = unwritten.is_cut(window, segment.size, self.expected)
        return is_cut or self._has_hole(segment, window)

    def _lost_end(self, segment: Segment, window: Window) -> int:
        """Up to where there were records: promised ones, those of a batch that is whole but for its
        offset, and those of batches that the search could not look at."""
        whole = window.whole_batch(segment.size)
        whole_end = 0 if whole is None else self.expected + whole.last_offset_delta + 1
        return max(self.log.recovery_point, window.unseen_end, whole_end)

    def _goes_on_after(self, number: int) -> Generator[None, None, bool]:
        """Whether a later segment has a good batch. None is looked through for this twice."""
        segments = self.log.segments
        for later in range(max(number + 1, self._sound), len(segments)):
            if later == self._sound or (yield from self._has_good(later)):
                self._sound = later
                return True
        return False

    def _has_good(self, number: int) -> Generator[None, None, bool]:
        base, window = self.log.segments[number].base, self._window(number)
        if window.good_batch(0, base) is not None:
            return True
        found = yield from window.next_good(0, base)
        return found is not None or window.unseen_end > base

    def _note_damage(self, segment: Segment, position: int, end_offset: int) -> None:
        log, after = self.log, segment.size
        log.damage.append(Damage(self.expected, end_offset, segment.base, position, after))
        segment.note_gap(position, after)
        self.expected = end_offset
