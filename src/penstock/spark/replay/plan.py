"""What is to be replayed: which stretches of a table, where to, under which names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from penstock.client.metadata import Topic
from penstock.spark.errors import SparkError
from penstock.spark.tables.files import DataFile, Lane, Stretch


class Wanted(NamedTuple):
    """Of each partition of a table; None is no bound."""

    first: int | None = None
    end: int | None = None
    time_ms_first: int | None = None
    time_ms_end: int | None = None

    def has_time(self, time_ms: int) -> bool:
        if self.time_ms_first is not None and time_ms < self.time_ms_first:
            return False
        return self.time_ms_end is None or time_ms < self.time_ms_end


class Place(NamedTuple):
    """Where the progress of one of the table's partitions is kept: a group's offset in the target.

    Not under the source's name: that topic may be gone, and its offsets with it. By key, the target
    may have fewer partitions than the table, so each of these has a group of its own.
    """

    transaction: str
    group: str
    topic: str
    partition: int


def stretches(
    files: Iterable[DataFile], wanted: Wanted, deleted: Mapping[Lane, int]
) -> list[Stretch]:
    """For each partition from its first to its last offset, as far as that is wanted, and was not
    deleted."""
    bounds: dict[Lane, tuple[int, int]] = {}
    for each in files:
        first, end = bounds.get(each.lane, (each.first, each.end))
        first = max(min(first, each.first), deleted.get(each.lane, 0))
        bounds[each.lane] = first, max(end, each.end)
    found = [
        Stretch(
            index,
            first if wanted.first is None else max(first, wanted.first),
            end if wanted.end is None else min(end, wanted.end),
            log_id,
        )
        for (index, log_id), (first, end) in sorted(bounds.items())
    ]
    return [each for each in found if each.first < each.end]


def replay_id(table_id: str, target: Topic, wanted: Wanted, *, by_key: bool) -> str:
    """The same for the same command, so that it goes on where it stood."""
    told = json.dumps([table_id, target.topic_id.hex(), wanted, by_key])
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def place_of(identity: str, target: str, lane: Lane, *, by_key: bool) -> Place:
    index, log_id = lane
    transaction, group = f"penstock-replay/{identity}", f"penstock-replay-{identity}"
    if not by_key:
        return Place(f"{transaction}/{index}", group, target, index)
    own = f"{log_id[:8]}-{index}"
    return Place(f"{transaction}/{own}", f"{group}-{own}", target, 0)


def note_of(lane: Lane, wanted: Wanted) -> str:
    """What is kept with a replay's offset: the id of the partition whose records it counts, and
    the part of these that is sent."""
    _, log_id = lane
    return log_id if wanted == Wanted() else f"{log_id} {json.dumps(wanted)}"


def check_progress(identity: str, lane: Lane, wanted: Wanted, noted: str) -> None:
    """Taken for another's, or another part's, an offset would pass over records that were never
    sent."""
    index, log_id = lane
    if noted in ("", note_of(lane, wanted)):
        return
    if noted.partition(" ")[0] == log_id:
        raise SparkError(
            f"replay {identity} has sent another part of partition {index}: give this replay "
            "another --id, or the same offsets and times"
        )
    raise SparkError(
        f"replay {identity} has sent a partition {index} of another topic, or of the same one "
        "before it had fewer: give this replay another --id"
    )


def check_target(target: Topic, source_id: str, indexes: Collection[int], *, by_key: bool) -> None:
    if (target.log_id or target.topic_id).hex() == source_id:
        raise SparkError(
            f"topic {target.name} is the one that was archived: replaying into it would double "
            "it; name another with --to"
        )
    if not by_key:
        _check_order(target, indexes)
    most = max(indexes, default=-1) + 1
    if not by_key and most > target.writable:
        raise SparkError(
            f"the table has {most} partitions, and topic {target.name} takes records in "
            f"{target.writable}: `penstock topic alter {target.name} --partitions {most}`, or "
            "--by-key, which keeps the order of each key only"
        )


def _check_order(target: Topic, indexes: Collection[int]) -> None:
    """A topic that has lost partitions and got some again has two of a number in its table."""
    if len(set(indexes)) < len(indexes):
        twice = next(index for index in indexes if list(indexes).count(index) > 1)
        raise SparkError(
            f"the table has two partitions {twice}, of before and after its topic had fewer: "
            f"replay it to {target.name} with --by-key"
        )


def next_shares(whole: Iterable[Stretch], done: Mapping[Lane, int], rows_max: int) -> list[Stretch]:
    """What one round replays of each partition, from where it stands."""
    found = []
    for each in whole:
        first = max(each.first, done.get(each.lane, each.first))
        if first < each.end:
            found.append(each._replace(first=first, end=min(each.end, first + rows_max)))
    return found
