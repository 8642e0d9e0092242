"""The checker finds what it is there to find."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.spark.records import Seen, check_copy, check_same

ROWS = [
    Seen(index, offset, b"k", b"v%d" % offset, 1000 + offset, (("tag", b"t"), ("none", None)))
    for index in range(2)
    for offset in range(3)
]


def changed(number: int, **more: object) -> list[Seen]:
    row = ROWS[number]._replace(**more)  # type: ignore[arg-type]
    return [*ROWS[:number], row, *ROWS[number + 1 :]]


@pytest.mark.parametrize("check", [check_same, check_copy])
@pytest.mark.parametrize(
    "found",
    [
        ROWS[:-1],
        [*ROWS, ROWS[-1]._replace(offset=9)],
        changed(1, value=None),
        changed(1, key=b""),
        changed(1, timestamp_ms=1),
        changed(1, headers=ROWS[1].headers[::-1]),
        changed(2, partition=1),
        [ROWS[1]._replace(offset=0), ROWS[0]._replace(offset=1), *ROWS[2:]],
    ],
    ids=["lost", "twice", "value", "key", "time", "headers", "partition", "order"],
)
def test_what_differs_is_found(
    check: Callable[[list[Seen], list[Seen]], None], found: list[Seen]
) -> None:
    check(ROWS, ROWS)
    with pytest.raises(AssertionError):
        check(found, ROWS)


def test_a_copy_may_have_other_offsets_and_nothing_else() -> None:
    moved = [each._replace(offset=each.offset * 2) for each in ROWS]
    check_copy(moved, ROWS)
    with pytest.raises(AssertionError, match="number 1"):
        check_same(moved, ROWS)
