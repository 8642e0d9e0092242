"""Which logs are worth compacting, how far, and which of their segments become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.config import FOREVER_MS, TopicConfig
from penstock.log.layout import RELATIVE_OFFSET_MAX
from penstock.log.partition_log import PartitionLog
from penstock.log.segment import Segment
from penstock.log.time_index import ENTRY_SIZE
from penstock.wire.batch import HEADER_SIZE, read_header


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole segments, none of which is ever written to again, and where the next one begins."""

    segments: list[Segment]
    end: int

    @property
    def base(self) -> int:
        return self.segments[0].base

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)


@dataclass(frozen=True, slots=True)
class Dirt:
    """What compaction could do in a log, and how much it is needed."""

    cleanable: Stretch
    first_dirty: int
    """Below this every key is there only once."""
    dirty_bytes: int
    is_overdue: bool

    @property
    def ratio(self) -> float:
        return self.dirty_bytes / max(self.cleanable.size, 1)

    @property
    def urgency(self) -> tuple[bool, float]:
        return self.is_overdue, self.ratio

    def is_due(self, config: TopicConfig) -> bool:
        return self.is_overdue or self.ratio > config.min_cleanable_dirty_ratio


def examine(log: PartitionLog, now_ms: int, stable_offset: int) -> Dirt | None:
    """What could be compacted below the last stable offset; None if there is nothing dirty.

    A damaged log is left alone: the copy of a damaged stretch would look whole.
    """
    log.open()
    if log.damage:
        return None
    first_dirty = log.cleaned_to if log.cleaned_to <= log.end_offset else 0
    count = _cleanable(log, first_dirty, now_ms, stable_offset)
    if not count:
        return None
    cleanable = Stretch(log.segments[:count], log.segments[count].base)
    dirty = log.segments[log.segment_of(first_dirty) : count] if first_dirty < cleanable.end else []
    dirty_bytes = sum(segment.size for segment in dirty)
    if not dirty_bytes:
        return None
    first = next(segment for segment in dirty if segment.size)
    is_overdue = _is_overdue(first, log.config, now_ms)
    return Dirt(cleanable, max(first_dirty, cleanable.base), dirty_bytes, is_overdue)


def _cleanable(log: PartitionLog, first_dirty: int, now_ms: int, stable_offset: int) -> int:
    """How many segments, from the first on, hold only what is decided and old enough."""
    youngest_ms = now_ms - log.config.min_compaction_lag_ms
    for count, (segment, following) in enumerate(pairwise(log.segments)):
        if following.base > stable_offset:
            return count
        is_dirty = following.base > first_dirty
        if (
            is_dirty
            and log.config.min_compaction_lag_ms
            and segment.largest_timestamp() > youngest_ms
        ):
            return count
    return max(len(log.segments) - 1, 0)


def _is_overdue(segment: Segment, config: TopicConfig, now_ms: int) -> bool:
    """Whether what is dirty has waited longer than max.compaction.lag.ms allows."""
    if config.max_compaction_lag_ms == FOREVER_MS:
        return False
    if segment.first_timestamp < 0:
        segment.first_timestamp = read_header(segment.file.read(0, HEADER_SIZE)).max_timestamp
    return 0 <= segment.first_timestamp < now_ms - config.max_compaction_lag_ms


def roll_overdue(log: PartitionLog, now_ms: int) -> None:
    """Begin a new segment when max.compaction.lag.ms asks for what is in the present one."""
    log.open()
    active = log.active
    if active is None or not active.size or active.first_timestamp < 0:
        return
    if now_ms - active.first_timestamp > log.config.max_compaction_lag_ms:
        log.roll().file.append([])  # its name says where the log ends


def groups(segments: Sequence[Segment], end: int, config: TopicConfig) -> Iterator[Stretch]:
    """Neighbours that fit into one segment together, so that small ones do not pile up."""
    group: list[Segment] = []
    size = 0
    for number, segment in enumerate(segments):
        beyond = segments[number + 1].base if number + 1 < len(segments) else end
        size += segment.size
        if group and not _fits(size, beyond - 1 - group[0].base, config):
            yield Stretch(group, segment.base)
            group, size = [], segment.size
        group.append(segment)
    if group:
        yield Stretch(group, end)


def _fits(size: int, last_relative: int, config: TopicConfig) -> bool:
    entries = size // max(config.index_interval_bytes, HEADER_SIZE)
    return (
        size <= config.segment_bytes
        and last_relative <= RELATIVE_OFFSET_MAX
        and entries * ENTRY_SIZE < config.segment_index_bytes
    )
