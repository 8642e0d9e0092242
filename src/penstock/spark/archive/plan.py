"""What a round archives: numbers in, ranges out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.client.ranges import Range
from penstock.spark.errors import SparkError
from penstock.spark.source.limits import shortened
from penstock.spark.source.ranges import filled
from penstock.spark.tables.files import DataFile, Lane, Stretch, missing

ROWS_A_TASK_MIN = 20_000
"""Fewer are not worth a task, and a file, of their own."""
ROWS_FIRST = 20_000
"""Of the first round, which shows how large records are."""


class Situation(NamedTuple):
    """A topic and its table, at one moment, by partition."""

    topic: str
    marks: Mapping[Lane, int]
    """The next offset to archive. A partition without one came later, and is archived from 0."""
    starts: Mapping[Lane, int]
    ends: Mapping[Lane, int]
    """Up to where nothing is undecided."""

    def mark(self, lane: Lane) -> int:
        return self.marks.get(lane, 0)

    @property
    def lost(self) -> list[Stretch]:
        """What the topic does not have any more, and the table not yet."""
        return [
            Stretch(lane[0], self.mark(lane), start, lane[1])
            for lane, start in sorted(self.starts.items())
            if self.mark(lane) < start
        ]

    @property
    def behind_ends(self) -> list[Lane]:
        """Partitions that end before what was archived of them."""
        return [lane for lane, end in sorted(self.ends.items()) if end < self.mark(lane)]

    @property
    def lag(self) -> int:
        return lag_to(self, self.ends)


class Plan(NamedTuple):
    ranges: list[Range]
    before: dict[Lane, int]
    """Marks of the partitions that move, as they are."""
    after: dict[Lane, int]


def lag_to(situation: Situation, goal: Mapping[Lane, int]) -> int:
    """How many offsets there are to archive, up to these."""
    return sum(
        max(0, end - max(situation.mark(lane), situation.starts.get(lane, 0)))
        for lane, end in goal.items()
    )


def plan_round(situation: Situation, goal: Mapping[Lane, int], rows_max: int) -> Plan:
    """From the marks on, or from the starts where these lie behind what was lost."""
    waiting = []
    for lane, end in sorted(goal.items()):
        index, log_id = lane
        start = max(situation.mark(lane), situation.starts[lane])
        if start < end:
            waiting.append(Range(situation.topic, bytes.fromhex(log_id), index, start, end))
    ranges = [each for each in shortened(waiting, rows_max) if each.start < each.end]
    skipped = {each.lane: each.end for each in situation.lost if each.lane in goal}
    after = skipped | {lane_of(each): each.end for each in ranges}
    before = {lane: situation.marks[lane] for lane in after if lane in situation.marks}
    return Plan(ranges, before, after)


def lane_of(place: Range) -> Lane:
    return place.partition, place.log_id.hex()


def stretch_of(place: Range) -> Stretch:
    return Stretch(place.partition, place.start, place.end, place.log_id.hex())


def into_tasks(ranges: Sequence[Range], count: int) -> list[list[Range]]:
    """As many as can run at the same time, of equal size."""
    total = sum(each.end - each.start for each in ranges)
    share = max(ROWS_A_TASK_MIN, -(-total // max(1, count)))
    return list(filled(ranges, share))


def check_whole(plan: Plan, files: Sequence[DataFile]) -> None:
    """Files are committed only if they are all of the round, and nothing of it twice."""
    wanted = sum(each.end - each.start for each in plan.ranges)
    lacking = [each for place in plan.ranges for each in missing(files, stretch_of(place))]
    if lacking or sum(each.end - each.first for each in files) != wanted:
        told = f"not {'; '.join(map(str, lacking))}" if lacking else "some offsets twice"
        raise SparkError(f"the tasks of a round wrote {told}: nothing was committed")


class Pace:
    """How many rows a round has: not more than allowed, and by the size of those before not more
    bytes."""

    def __init__(self, rows_max: int, bytes_max: int) -> None:
        self._rows_max = rows_max
        self._bytes_max = bytes_max
        self.rows = min(rows_max, ROWS_FIRST)

    def note(self, rows: int, size_bytes: int) -> None:
        if rows:
            fitting = self._bytes_max * rows // max(1, size_bytes)
            self.rows = max(1, min(self._rows_max, fitting))
