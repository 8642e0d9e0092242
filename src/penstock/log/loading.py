"""Opening a log after a clean stop: a few small reads, and no scan unless something is amiss.

All of it yields where it takes longer than a few milliseconds.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from penstock.log import drafting, layout, notes, producer_snapshot, recovery, scanning
from penstock.log.aborted_index import AbortedTxn
from penstock.log.epoch_reading import EpochReader
from penstock.log.leader_epochs import LeaderEpochs
from penstock.log.leftovers import tidy
from penstock.log.producer_state import NOT_KNOWN, ProducerStates, marker_in
from penstock.log.scanning import NotABatch
from penstock.log.segment import Amiss, Segment
from penstock.log.steps import Pauses, exhaust
from penstock.wire.batch import HEADER_SIZE, BatchHeader, read_header

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

lines = logging.getLogger(__name__)


def load(log: PartitionLog) -> Iterator[None]:
    """The log is expected to end where the checkpoint says; if it does not, it is recovered."""
    yield from find_segments(log)
    if log.active is not None:
        _begin_with(log, log.segments[0].base)
        noted = notes.read_damage(log)
        if noted is None:
            yield from recovery.recover(log)
            return
        log.damage = noted
        mark_gaps(log)
        yield from _prepare(log.active)
        if not (yield from _ends_as_expected(log, log.active)):
            yield from recovery.recover(log, log.end_offset)
            return
        yield from rebuild_producers(log, log.end_offset)
        log.epochs = notes.read_epochs(log) or (yield from rebuild_epochs(log))
        notes.take_begun(log)
        log.epochs.truncate_start(log.start_offset)
        if log.active.aborted is None:
            log.active.aborted = yield from _rebuild_aborted(log, log.active)
        log.touched = log.epochs.changed
    log.is_open = True


def _begin_with(log: PartitionLog, base: int) -> None:
    """After a clean stop it is known where the log began; nobody can read there any more."""
    if log.start_offset < base:
        text = "%s begins with offset %d, not %d: what was before is gone from the disk"
        lines.error(text, log.folder, base, log.start_offset)
        log.start_offset = base


def find_segments(log: PartitionLog) -> Iterator[None]:
    names = yield from tidy(log.disk, log.folder, log.may_have_gaps)
    log.has_folder = bool(names)
    log.is_compacted = layout.COMPACTED_FILE in names
    bases = [layout.parse_offset(name, layout.LOG) for name in names]
    log.segments = [Segment(log.disk, log.folder, base) for base in bases if base is not None]
    for segment in log.segments:
        segment.size = segment.own_from = segment.file.size
        segment.has_aborted = layout.offset_name(segment.base) + layout.TXN_INDEX in names
    log.active = log.segments[-1] if log.segments else None


def _prepare(segment: Segment) -> Iterator[None]:
    """The last one, which grows."""
    try:
        segment.load_indexes(rebuild=False)
    except Amiss:
        yield from drafting.rebuild_in_steps(segment)
    segment.written_back = segment.size
    if segment.size >= HEADER_SIZE:
        segment.first_timestamp = read_header(segment.file.read(0, HEADER_SIZE)).max_timestamp


def mark_gaps(log: PartitionLog) -> None:
    for stretch in log.damage:
        segment = log.segments[log.segment_of(stretch.segment_base)]
        segment.note_gap(stretch.position, stretch.end_position)


def _ends_as_expected(log: PartitionLog, active: Segment) -> Generator[None, None, bool]:
    if log.damage and log.damage[-1].end_offset == log.end_offset:
        active.sealed = active.base < log.end_offset
        return True
    try:
        return (yield from active.next_offset()) == log.end_offset
    except NotABatch:
        return False


def rebuild_producers(log: PartitionLog, up_to: int) -> Generator[None, None, None]:
    """From the latest snapshot that is whole, and the batches since; yields now and then."""
    states, start = yield from _latest_snapshot(log, up_to)
    log.producers, pauses = states, Pauses()
    for segment, position, header in batches_between(log, start, up_to):
        feed(states, segment, position, header)
        if pauses.is_due():
            yield


def _latest_snapshot(
    log: PartitionLog, up_to: int
) -> Generator[None, None, tuple[ProducerStates, int]]:
    offsets = [layout.parse_offset(n, layout.SNAPSHOT) for n in log.disk.list(log.folder)]
    for offset in sorted((o for o in offsets if o is not None and o <= up_to), reverse=True):
        path = f"{log.folder}/{layout.offset_name(offset)}{layout.SNAPSHOT}"
        states = yield from producer_snapshot.decoded(log.disk.read_whole(path), path)
        if states is not None:
            return states, offset
        log.disk.remove(path)
    return ProducerStates(), log.segments[0].base if log.segments else 0


def batches_between(
    log: PartitionLog, start: int, end: int
) -> Iterator[tuple[Segment, int, BatchHeader]]:
    """Headers of all batches with offsets in [start, end), read as they come."""
    for segment in log.segments[log.segment_of(start) :]:
        if segment.base >= end:
            return
        begin = 0
        if segment.offsets is not None:
            begin = segment.offsets.position_before(start - segment.base)
        file = segment.file
        headers = scanning.headers_outside(file.read, begin, file.size, segment.gaps)
        for position, header in headers:
            if header.base_offset >= end:
                return
            if header.last_offset >= start:
                yield segment, position, header


def feed(
    states: ProducerStates, segment: Segment, position: int, header: BatchHeader
) -> AbortedTxn | None:
    """One batch of the log, whatever its producer may have been allowed to do."""
    if header.producer_id < 0:
        return None
    aborted, base = None, header.base_offset
    if not header.is_control:
        states.note_batch(header, base, header.max_timestamp, NOT_KNOWN)
    elif marker := marker_in(segment.file.read(position, header.size)):
        aborted = states.note_marker(header, marker, base, NOT_KNOWN)
    states.settle()
    return aborted


def aborted_in(log: PartitionLog, segment: Segment) -> list[AbortedTxn]:
    """The aborted transactions that end in a segment."""
    if segment.aborted is None and not segment.has_aborted and segment is not log.active:
        return []
    if segment.aborted is None:
        log.indexes.load(segment)
    if segment.aborted is None:
        segment.aborted = exhaust(_rebuild_aborted(log, segment))
    return segment.aborted


def _rebuild_aborted(
    log: PartitionLog, segment: Segment
) -> Generator[None, None, list[AbortedTxn]]:
    """From the batches before it, as far as a snapshot makes that necessary, and in it."""
    states, start = yield from _latest_snapshot(log, segment.base)
    found: list[AbortedTxn] = []
    pauses = Pauses()
    end = segment.base + (1 << 31)
    for each, position, header in batches_between(log, start, end):
        if each.base > segment.base:
            break
        aborted = feed(states, each, position, header)
        if aborted is not None and each is segment:
            found.append(aborted)
        if pauses.is_due():
            yield
    return found


def rebuild_epochs(log: PartitionLog) -> Generator[None, None, LeaderEpochs]:
    epochs, pauses = LeaderEpochs(), Pauses()
    start = log.segments[0].base
    reader = EpochReader(epochs, start, notes.begun_epochs(log))
    for _, _, header in batches_between(log, start, log.end_offset):
        reader.take(header.leader_epoch, header.base_offset)
        if pauses.is_due():
            yield
    reader.finish(log.epoch_reached, log.folder)
    return epochs
