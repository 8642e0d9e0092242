"""Segments read straight from disk, whether a broker runs or not, and held against what must be."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from penstock.errors import Unusable
from penstock.log import layout
from penstock.log.offset_index import OffsetIndex
from penstock.log.time_index import TimeIndex
from penstock.wire.batch import (
    HEADER_SIZE,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    crc_of,
    read_header,
)

PROBLEMS_MAX = 100
"""Of one segment: after so many, more of them tell nothing new."""


class Found(NamedTuple):
    """One batch in a segment."""

    position: int
    header: BatchHeader
    data: memoryview
    crc_ok: bool


class Torn(Exception):
    """What lies at a position is no batch; nothing after it can be told apart either."""

    def __init__(self, position: int, size: int, reason: str) -> None:
        super().__init__(f"at byte {position}: {reason}; {size - position} bytes follow")
        self.position = position


@dataclass(slots=True)
class Report:
    """What verifying one segment comes to, batch by batch."""

    segment: Path
    base: int
    batches: int = 0
    records: int = 0
    first_offset: int | None = None
    next_offset: int = 0
    problems: list[str] = field(default_factory=list)
    gap: str | None = None
    """What is missing before it; no problem where compaction, which leaves such gaps, ran."""
    lasts: dict[int, int] = field(default_factory=dict)
    """By the position of each batch, its last offset: what the offset index points at."""
    newest: list[tuple[int, int]] = field(default_factory=list)
    """By last offset, the newest timestamp up to there: what the time index tells."""

    def blame(self, problem: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(problem)

    def note(self, found: Found) -> None:
        header, where = found.header, f"at byte {found.position}"
        if not found.crc_ok:
            self.blame(f"{where}: the CRC does not match")
        if header.base_offset < self.next_offset:
            self.blame(f"{where}: offset {header.base_offset} after {self.next_offset - 1}")
        if self.first_offset is None:
            self.first_offset = header.base_offset
        self.next_offset = max(self.next_offset, header.next_offset)
        self.batches += 1
        self.records += header.record_count
        self.lasts[found.position] = header.last_offset
        before = self.newest[-1][1] if self.newest else NO_TIMESTAMP
        self.newest.append((header.last_offset, max(before, header.newest_timestamp)))

    def compare_with(self, before: Report) -> None:
        """Segments of one partition do not overlap, and one begins where the one before ends."""
        if self.first_offset is not None and self.first_offset < before.next_offset:
            self.blame(f"begins at offset {self.first_offset}, within the segment before it")
        if self.base > before.next_offset:
            self.gap = (
                f"begins at offset {self.base}, and the segment before it ends at "
                f"{before.next_offset}: unless the log is compacted, what lay between is missing"
            )


def segments_at(path: str) -> list[Path]:
    """The segments of a data folder, a partition's folder, or the one file, in their order."""
    place = Path(path)
    if not place.exists():
        raise Unusable(f"there is no {path}; give a data folder, a partition's folder or a segment")
    if place.is_file():
        if layout.parse_offset(place.name, layout.LOG) is None:
            raise Unusable(f"{path} is no segment: those are named by 20 digits and .log")
        return [place]
    own = _segments_of(place)
    folders = sorted(each for each in place.iterdir() if layout.parse_folder(each.name))
    found = own or [segment for folder in folders for segment in _segments_of(folder)]
    if not found:
        raise Unusable(f"{path} has no segments in it, and no folders of partitions")
    return found


def _segments_of(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        each for each in folder.iterdir() if layout.parse_offset(each.name, layout.LOG) is not None
    )


def mapped(path: Path) -> memoryview:
    """A file's bytes without reading it whole; the map goes when nothing looks at it any more."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return memoryview(b"")  # which cannot be mapped
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def batches_of(data: memoryview) -> Iterator[Found]:
    """Every batch; Torn where the file goes on with something else."""
    position, size = 0, len(data)
    while position < size:
        if size - position < HEADER_SIZE:
            raise Torn(position, size, "too little for a batch")
        header = read_header(data, position)
        if header.magic != MAGIC or header.size < HEADER_SIZE or header.last_offset_delta < 0:
            raise Torn(position, size, "this is no batch")
        if position + header.size > size:
            raise Torn(position, size, f"a batch of {header.size} bytes is cut short")
        batch = data[position : position + header.size]
        yield Found(position, header, batch, crc_of(batch) == header.crc)
        position += header.size


def verify(segment: Path) -> Report:
    """CRCs, the order of offsets, and whether the indexes say what the batches do."""
    base = layout.parse_offset(segment.name, layout.LOG) or 0
    report = Report(segment, base, next_offset=base)
    data = mapped(segment)
    try:
        for found in batches_of(data):
            report.note(found)
    except Torn as error:
        report.blame(str(error))
    _verify_offset_index(report, len(data))
    _verify_time_index(report)
    return report


def _verify_offset_index(report: Report, size: int) -> None:
    path = report.segment.with_suffix(layout.INDEX)
    if not path.exists():
        return
    index = OffsetIndex.decode(path.read_bytes(), size)
    if index is None:
        report.blame(f"{path.name} is not an index of this segment")
        return
    for relative, position in zip(index.lasts, index.positions, strict=True):
        told, last = report.base + relative, report.lasts.get(position)
        if last is None:
            report.blame(f"{path.name} leads to byte {position}, where no batch begins")
        elif last != told:
            report.blame(f"{path.name} has offset {told} at byte {position}; it is {last}")


def _verify_time_index(report: Report) -> None:
    path = report.segment.with_suffix(layout.TIME_INDEX)
    if not path.exists():
        return
    index = TimeIndex.decode(path.read_bytes())
    if index is None:
        report.blame(f"{path.name} is not a time index")
        return
    at, seen = 0, NO_TIMESTAMP
    for timestamp, relative in zip(index.timestamps, index.offsets, strict=True):
        last = report.base + relative
        while at < len(report.newest) and report.newest[at][0] <= last:
            seen = report.newest[at][1]
            at += 1
        if seen > timestamp:
            report.blame(f"{path.name} has {timestamp} as the newest up to {last}; it is {seen}")
