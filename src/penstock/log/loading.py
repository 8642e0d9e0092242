"""Opening a log after a clean stop: a few small reads, and no scan unless something is amiss."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.log import layout, notes, producer_snapshot, recovery, scanning
from penstock.log.aborted_index import AbortedTxn
from penstock.log.leader_epochs import LeaderEpochs
from penstock.log.leftovers import tidy
from penstock.log.producer_state import NOT_KNOWN, ProducerStates, marker_in
from penstock.log.scanning import NotABatch
from penstock.log.segment import Segment
from penstock.wire.batch import HEADER_SIZE, BatchHeader, read_header

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

BATCHES_A_SLICE = 1000

lines = logging.getLogger(__name__)


def load(log: PartitionLog) -> None:
    """The log is expected to end where the checkpoint says; if it does not, it is recovered."""
    find_segments(log)
    if log.active is not None:
        _begin_with(log, log.segments[0].base)
        log.damage = notes.read_damage(log)
        mark_gaps(log)
        prepare_active(log.active)
        if not _ends_as_expected(log, log.active):
            for _ in recovery.recover(log):
                pass
            return
        for _ in rebuild_producers(log, log.end_offset):
            pass
        log.epochs = notes.read_epochs(log) or rebuild_epochs(log)
        log.epochs.truncate_start(log.start_offset)
        aborted_in(log, log.active)
        log.touched = log.epochs.changed
    log.is_open = True


def _begin_with(log: PartitionLog, base: int) -> None:
    """After a clean stop it is known where the log began; nobody can read there any more."""
    if log.start_offset < base:
        text = "%s begins with offset %d, not %d: what was before is gone from the disk"
        lines.error(text, log.folder, base, log.start_offset)
        log.start_offset = base


def find_segments(log: PartitionLog) -> None:
    names = tidy(log.disk, log.folder)
    log.has_folder = bool(names)
    log.is_compacted = layout.COMPACTED_FILE in names
    bases = [layout.parse_offset(name, layout.LOG) for name in names]
    log.segments = [Segment(log.disk, log.folder, base) for base in bases if base is not None]
    for segment in log.segments:
        segment.size = segment.file.size
        segment.has_aborted = layout.offset_name(segment.base) + layout.TXN_INDEX in names
    log.active = log.segments[-1] if log.segments else None


def prepare_active(segment: Segment) -> None:
    segment.load_indexes()
    segment.written_back = segment.size
    if segment.size >= HEADER_SIZE:
        segment.first_timestamp = read_header(segment.file.read(0, HEADER_SIZE)).max_timestamp


def mark_gaps(log: PartitionLog) -> None:
    for stretch in log.damage:
        segment = log.segments[log.segment_of(stretch.segment_base)]
        segment.note_gap(stretch.position, stretch.end_position)


def _ends_as_expected(log: PartitionLog, active: Segment) -> bool:
    if log.damage and log.damage[-1].end_offset == log.end_offset:
        active.sealed = active.base < log.end_offset
        return True
    try:
        return active.next_offset() == log.end_offset
    except NotABatch:
        return False


def rebuild_producers(log: PartitionLog, up_to: int) -> Iterator[None]:
    """From the latest snapshot that is whole, and the batches since; yields now and then."""
    states, start = _latest_snapshot(log, up_to)
    log.producers = states
    for count, (segment, position, header) in enumerate(batches_between(log, start, up_to)):
        feed(states, segment, position, header)
        if count % BATCHES_A_SLICE == BATCHES_A_SLICE - 1:
            yield


def _latest_snapshot(log: PartitionLog, up_to: int) -> tuple[ProducerStates, int]:
    offsets = [layout.parse_offset(n, layout.SNAPSHOT) for n in log.disk.list(log.folder)]
    for offset in sorted((o for o in offsets if o is not None and o <= up_to), reverse=True):
        path = f"{log.folder}/{layout.offset_name(offset)}{layout.SNAPSHOT}"
        states = producer_snapshot.decode(log.disk.read_whole(path), path)
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
        segment.aborted = _rebuild_aborted(log, segment)
    return segment.aborted


def _rebuild_aborted(log: PartitionLog, segment: Segment) -> list[AbortedTxn]:
    """From the batches before it, as far as a snapshot makes that necessary, and in it."""
    states, start = _latest_snapshot(log, segment.base)
    found: list[AbortedTxn] = []
    end = segment.base + (1 << 31)
    for each, position, header in batches_between(log, start, end):
        if each.base > segment.base:
            break
        aborted = feed(states, each, position, header)
        if aborted is not None and each is segment:
            found.append(aborted)
    return found


def rebuild_epochs(log: PartitionLog) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for _, _, header in batches_between(log, log.segments[0].base, log.end_offset):
        if header.leader_epoch != epochs.latest:
            epochs.assign(header.leader_epoch, header.base_offset)
    return epochs
