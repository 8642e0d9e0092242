"""From offsets to tasks: which ranges there are, and who reads which.

Nothing but offsets and options goes into it, so a batch that is run again is split the same way.
Each task costs some 25 ms whatever it reads, so small batches are read by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.client.ranges import Range
from penstock.spark.source.offsets import Offsets
from penstock.spark.source.options import SourceOptions

ROWS_A_TASK = 100_000


def ranges_between(start: Offsets, end: Offsets) -> list[Range]:
    """A partition that was not there yet at the start is read from its beginning; so is one that
    has taken the place of another."""
    found = []
    for place, stop in sorted(end.at.items()):
        is_same = start.ids.get(place) == end.ids[place]
        begin = start.at[place] if is_same else 0
        if begin < stop:
            found.append(Range(place[0], end.ids[place], place[1], begin, stop))
    return found


def into_tasks(ranges: Sequence[Range], options: SourceOptions) -> list[list[Range]]:
    total = sum(each.end - each.start for each in ranges)
    if not total:
        return []
    count = min(options.tasks_max, -(-total // ROWS_A_TASK))
    count = min(total, max(count, options.tasks_min or 1))
    share = -(-total // count)
    if options.rows_a_task_max:
        share = min(share, options.rows_a_task_max)
    return list(filled(ranges, share))


def filled(ranges: Iterable[Range], share: int) -> Iterable[list[Range]]:
    """Tasks of `share` offsets each, the last one of fewer."""
    task: list[Range] = []
    room = share
    for each in ranges:
        rest = each
        while rest.start < rest.end:
            cut = min(rest.end, rest.start + room)
            task.append(rest._replace(end=cut))
            room -= cut - rest.start
            rest = rest._replace(start=cut)
            if not room:
                yield task
                task, room = [], share
    if task:
        yield task
