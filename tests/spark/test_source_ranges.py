"""Offsets, what lies between them, and how it is shared out: by numbers alone."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.ranges import Range
from penstock.spark.errors import SparkError
from penstock.spark.source.limits import at_most, cut_at
from penstock.spark.source.offsets import Offsets
from penstock.spark.source.options import source_options
from penstock.spark.source.ranges import ROWS_A_TASK, into_tasks, ranges_between

OPTIONS = source_options({"bootstrapServers": "a:1", "subscribe": "t"}, is_stream=False)
ID = bytes(16)

places = st.tuples(st.sampled_from("ab"), st.integers(0, 3))
counts = st.dictionaries(places, st.integers(0, 3 * ROWS_A_TASK), max_size=8)


def offsets(**at: int) -> Offsets:
    """`a0=3` is partition 0 of topic a."""
    found = {(name[0], int(name[1:])): offset for name, offset in at.items()}
    return Offsets(found, dict.fromkeys(found, ID))


def test_offsets_survive_a_checkpoint() -> None:
    before = offsets(a0=3, a1=0, b7=9)
    told = before.to_json()
    assert told["a"] == {"0": 3, "1": 0}
    assert Offsets.from_json(told) == before


def test_a_partition_in_anothers_place_keeps_its_own_id() -> None:
    before = Offsets({("a", 0): 3, ("a", 1): 4}, {("a", 0): ID, ("a", 1): bytes(range(16))})
    assert Offsets.from_json(before.to_json()) == before
    after = Offsets({("a", 0): 5, ("a", 1): 9}, {("a", 0): ID, ("a", 1): ID})
    assert [each.start for each in ranges_between(before, after)] == [3, 0]


def test_a_checkpoint_of_another_source_is_named() -> None:
    with pytest.raises(SparkError, match="of another source"):
        Offsets.from_json({"orders": {"0": 3}})


def test_a_partition_that_is_new_is_read_from_its_beginning() -> None:
    found = ranges_between(offsets(a0=3, a1=5), offsets(a0=7, a1=5, a2=2))
    assert found == [Range("a", ID, 0, 3, 7), Range("a", ID, 2, 0, 2)]


@given(counts, st.none() | st.integers(1, 20), st.none() | st.integers(1, 40_000))
def test_tasks_are_the_ranges_in_their_order(
    sizes: dict[tuple[str, int], int], least: int | None, most: int | None
) -> None:
    options = dataclasses.replace(OPTIONS, tasks_min=least, rows_a_task_max=most)
    end = Offsets(sizes, dict.fromkeys(sizes, ID))
    ranges = ranges_between(Offsets({}, {}), end)
    tasks = into_tasks(ranges, options)
    assert tasks == into_tasks(ranges, options)
    assert joined([each for task in tasks for each in task]) == ranges
    assert all(task for task in tasks)
    if most:
        assert all(sum(each.end - each.start for each in task) <= most for task in tasks)
    elif ranges:
        assert len(tasks) <= max(options.tasks_max, least or 1)


def joined(ranges: list[Range]) -> list[Range]:
    found: list[Range] = []
    for each in ranges:
        if found and found[-1][:3] == each[:3] and found[-1].end == each.start:
            found[-1] = found[-1]._replace(end=each.end)
        else:
            found.append(each)
    return found


def test_a_small_batch_is_one_task() -> None:
    ranges = [Range("a", ID, index, 0, 100) for index in range(50)]
    assert len(into_tasks(ranges, OPTIONS)) == 1
    assert into_tasks([], OPTIONS) == []


@given(counts, st.integers(1, 5 * ROWS_A_TASK))
def test_a_limit_is_kept_and_shared(sizes: dict[tuple[str, int], int], rows: int) -> None:
    latest = Offsets(sizes, dict.fromkeys(sizes, ID))
    limited = at_most(rows, Offsets({}, {}), latest)
    assert limited.at.keys() == latest.at.keys()
    assert all(limited.at[place] <= end for place, end in sizes.items())
    assert sum(limited.at.values()) == min(rows, sum(sizes.values()))


@pytest.mark.parametrize("rows", [1, 3, 7, 10, 19])
@pytest.mark.parametrize("busy", [1, 3, 1000])
def test_every_partition_gets_on_though_there_are_fewer_rows_than_partitions(
    rows: int, busy: int
) -> None:
    """One has more news than others, one has a single record that waits, and none is caught up."""
    places = [("t", index) for index in range(20)]
    ids = dict.fromkeys(places, ID)
    start, ends = Offsets(dict.fromkeys(places, 0), ids), dict.fromkeys(places, 1)
    for _ in range(400):
        for index, place in enumerate(places[:-1]):
            ends[place] += busy if index == 0 else 1
        start = at_most(rows, start, Offsets(dict(ends), ids))
    assert start.at["t", 19] == 1
    assert min(start.at[place] for place in places[1:-1]) >= 15
    assert start.at["t", 0] >= 15
    assert sum(start.at.values()) == 400 * rows


def test_a_stream_that_stops_reads_no_further_and_no_partitions_of_later() -> None:
    places = [("t", index) for index in range(3)]
    latest = Offsets(dict.fromkeys(places, 10), dict.fromkeys(places, b"id"))
    cut = cut_at({("t", 0): 7, ("t", 1): 12}, latest)
    assert cut == Offsets({("t", 0): 7, ("t", 1): 10}, dict.fromkeys(places[:2], b"id"))
