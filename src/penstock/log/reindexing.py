"""Going through a segment that was found amiss while the log is in use, in steps.

If its batches are all there, an index was wrong, and is made again. What is no batch is damage:
it is noted as recovery would have done, so that reads of it are refused and all others go on. So
is a batch that does not follow the one before, where compaction has left no gaps; and so are
records that are missing between a segment's last batch and the next segment.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from penstock.log import notes, reading
from penstock.log.damage import Damage
from penstock.log.drafting import Draft, Taken
from penstock.log.scanning import NotABatch, Place
from penstock.log.searching import Search
from penstock.log.segment import Amiss, Segment, Unsure
from penstock.log.steps import Steps, warmed
from penstock.wire.batch import HEADER_SIZE, read_header

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

lines = logging.getLogger(__name__)

T = TypeVar("T")

BATCHES_A_STEP = 1000
"""At about a microsecond each."""


def reindexed(log: PartitionLog, action: Callable[[bool], T]) -> Steps[T]:
    """Try again after each cold read, and after each segment that was amiss has been gone through.

    Raises Amiss where that does not help.
    """
    seen: set[tuple[Segment, type[Amiss]]] = set()
    while True:
        try:
            return (yield from warmed(action))
        except Amiss as amiss:
            segment, kind = amiss.segment, type(amiss)
            if (segment, kind) in seen:
                raise
        seen.add((segment, kind))
        yield from settle_newest(log, segment) if kind is Unsure else reindex(log, segment)


def reindex(log: PartitionLog, segment: Segment) -> Steps[None]:
    """Who comes while somebody is at the same waits for that, and has it done."""
    before = segment.times_reindexed
    yield from _until_free(segment)
    if segment.times_reindexed > before:
        return
    with _alone(segment):
        draft = yield from _redrafted(log, segment)
        if draft is not None:
            _put_in_place(log, segment, draft.made)
            lines.warning("%s was gone through, and its indexes are made again", segment.file.path)
            yield from _note_missing(log, segment, draft.end_offset)
        segment.times_reindexed += 1


def settle_newest(log: PartitionLog, segment: Segment) -> Steps[None]:
    """See whether the batches agree with what an index says is the newest of them: from that one
    on, and from the beginning if they do not."""
    yield from _until_free(segment)
    if segment.newest_is_sure:
        return
    try:
        place = yield from warmed(partial(_newest_place, log, segment))
    except Amiss:
        place = None
    yield from _until_free(segment)
    if place is not None:
        with _alone(segment):
            draft = yield from _redrafted(log, segment, place.position)
        if draft is None:
            return
        if draft.made.max_timestamp == segment.max_timestamp:
            segment.newest_is_sure = True
            return
    yield from reindex(log, segment)


def _newest_place(log: PartitionLog, segment: Segment, cold_ok: bool) -> Place | None:
    """The batch that an index says is the newest; None where it is not."""
    log.write_out()
    place = segment.find(segment.max_timestamp_offset, log.indexes, cold_ok)
    if place is None or place.base_offset > segment.max_timestamp_offset:
        return None
    header = read_header(segment.reader(cold_ok)(place.position, HEADER_SIZE))
    return place if header.newest_timestamp == segment.max_timestamp else None


def _until_free(segment: Segment) -> Steps[None]:
    while segment.is_being_reindexed:
        yield None


@contextmanager
def _alone(segment: Segment) -> Iterator[None]:
    assert not segment.is_being_reindexed
    segment.is_being_reindexed = True
    try:
        yield
    finally:
        segment.is_being_reindexed = False


def _redrafted(log: PartitionLog, segment: Segment, start: int = 0) -> Steps[Draft | None]:
    """None if the segment has gone meanwhile, or is another. It may grow, or cease to."""
    draft = Draft(segment, may_have_gaps=log.may_have_gaps, start=start)
    cuts = segment.cuts
    while _brought_up_to_date(log, segment, cuts, draft):
        if draft.is_complete:
            draft.settle()
            return draft
        try:
            yield from warmed(partial(_advance, log, segment, cuts, draft))
        except NotABatch:
            yield from _note_damage(log, segment, draft)
        yield None
    return None


def _advance(log: PartitionLog, segment: Segment, cuts: int, draft: Draft, cold_ok: bool) -> None:
    """Asked again after each cold read, since which there may be more batches, or others."""
    if _brought_up_to_date(log, segment, cuts, draft):
        draft.advance(BATCHES_A_STEP, cold_ok)


def _brought_up_to_date(log: PartitionLog, segment: Segment, cuts: int, draft: Draft) -> bool:
    """Whether a draft can go on, with what was appended meanwhile."""
    log.write_out()
    if not _is_as_before(log, segment, cuts):
        return False
    draft.before = reading.end_of(log, segment)
    return True


def _is_as_before(log: PartitionLog, segment: Segment, cuts: int) -> bool:
    """Not compacted, cut or deleted while others had their turn."""
    return not log.is_deleted and segment in log.segments and segment.cuts == cuts


def _while_as_before(log: PartitionLog, segment: Segment, steps: Steps[T]) -> Steps[T | None]:
    """Nobody goes on looking through what is another by now, or gone from the disk."""
    cuts, failure = segment.cuts, None
    while _is_as_before(log, segment, cuts):
        try:
            wait = next(steps) if failure is None else steps.throw(failure)
        except StopIteration as end:
            result: T = end.value
            return result
        failure = None
        try:
            yield wait
        except OSError as problem:
            failure = problem
    return None


def _put_in_place(log: PartitionLog, segment: Segment, made: Segment) -> None:
    if segment is log.active:
        segment.adopt(made)
        return
    made.write_indexes()
    segment.unsynced_indexes += made.unsynced_indexes
    log.rolled.append(segment)  # for the next round of syncing
    log.indexes.drop(segment)
    segment.adopt(made)
    segment.forget_indexes()


def _note_damage(log: PartitionLog, segment: Segment, draft: Draft) -> Steps[None]:
    """Where the batches do not go on, or not as they should, one of the last is to blame, or what
    comes now. Nothing is noted if the segment is another after the search for the next good one."""
    cuts, ended = segment.cuts, draft.is_at_end
    end = log.segments[log.segment_of(segment.base) + 1].base if segment is not log.active else None
    after, end_offset = segment.size, log.end_offset if end is None else end
    search = Search(segment.file, segment.base, end)
    wrong = yield from _while_as_before(log, segment, _first_wrong(search, draft))
    if not _is_as_before(log, segment, cuts):
        return
    if wrong is not None:
        draft.go_back(wrong)
    elif ended:
        draft.settle()  # what is missing was after all of them
        return
    position, offset = draft.position, draft.end_offset
    found = yield from _while_as_before(log, segment, search.next_good(position, offset))
    if not _is_as_before(log, segment, cuts):
        return
    if found is not None and found[0] < after:
        after, end_offset = found
    elif end is None:
        segment.sealed = True
    yield from _note(log, segment, Damage(offset, end_offset, segment.base, position, after))


def _first_wrong(search: Search, draft: Draft) -> Steps[Taken | None]:
    """Of the last batches that were gone through by their headers."""
    for taken in draft.recent:
        if not (yield from search.bears_out(taken)):
            return taken
    return None


def _note_missing(log: PartitionLog, segment: Segment, offset: int) -> Steps[None]:
    """Of a segment that was gone through up to an offset, and any damage after it."""
    if segment is log.active or log.may_have_gaps:
        return
    following = log.segments[log.segment_of(segment.base) + 1].base
    known = (each.end_offset for each in log.damage if each.segment_base == segment.base)
    offset = max([offset, *known])
    if offset < following:
        size = segment.size
        yield from _note(log, segment, Damage(offset, following, segment.base, size, size))


def _note(log: PartitionLog, segment: Segment, stretch: Damage) -> Steps[None]:
    segment.note_gap(stretch.position, stretch.end_position)
    log.forget_marks()  # some may have come from what is known to be damaged now
    log.damage = sorted([*log.damage, stretch])
    lines.error("%s is damaged: %s; reads of it are refused", log.folder, stretch)
    yield from notes.write_damage_in_steps(log, segment.base)
