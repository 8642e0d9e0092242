"""How far groups have read partitions that are to go."""

from __future__ import annotations

from penstock.server.surveying import Ends, Reader, Survey

ENDS = {2: Ends(start=0, stable=10, end=10), 3: Ends(start=4, stable=6, end=6)}


def behind(committed: dict[int, int], *, is_reading: bool = True, with_idle: bool = True) -> int:
    survey = Survey(ENDS, {"g": Reader(is_reading, committed)})
    return survey.behind(survey.marks(), with_idle=with_idle).get("g", 0)


def test_a_group_at_all_ends_is_not_behind() -> None:
    assert behind({2: 10, 3: 6}) == 0


def test_a_group_lacks_what_comes_after_its_offsets() -> None:
    assert behind({2: 7, 3: 6}) == 3


def test_a_group_lacks_all_that_is_there_of_a_partition_it_has_never_read() -> None:
    assert behind({2: 10, 3: -1}) == behind({2: 10}) == 2


def test_what_retention_has_removed_is_not_waited_for() -> None:
    assert behind({2: 10, 3: 1}) == 2


def test_a_group_without_members_counts_only_where_all_groups_do() -> None:
    assert behind({2: 0, 3: 6}, is_reading=False, with_idle=False) == 0
    assert behind({2: 0, 3: 6}, is_reading=False) == 10


def test_a_group_that_has_read_what_there_was_a_while_ago_is_near_the_end() -> None:
    survey = Survey(ENDS, {"g": Reader(True, {2: 8, 3: 6})})
    assert not survey.behind({2: 8, 3: 6}, with_idle=True)


def test_something_is_under_way_where_not_all_is_committed() -> None:
    assert Survey(ENDS, {}).is_settled()
    assert not Survey({**ENDS, 4: Ends(0, 1, 2)}, {}).is_settled()


def test_partitions_are_empty_where_all_has_expired() -> None:
    assert not Survey(ENDS, {}).is_empty()
    assert Survey({2: Ends(10, 10, 10)}, {}).is_empty()
