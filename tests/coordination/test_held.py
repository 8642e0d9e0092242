"""What open transactions have written, until they are over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from tests.coordination.stepping import lines_run

from penstock.coordination.held import Held
from penstock.coordination.loading import Gathered
from penstock.wire.batch import Offset, stamp
from penstock.wire.batch_builder import build_batch, end_marker
from penstock.wire.records import Record

MANY = 2000


@pytest.fixture
def held() -> Held[str, int]:
    return Held()


def test_what_was_taken_or_dropped_is_held_no_more(held: Held[str, int]) -> None:
    held.add(1, "a", 10, 1)
    held.add(2, "a", 20, 2)
    held.add(2, "b", 30, 3)
    held.drop("a")
    assert list(held) == [(2, "b", (30, 3))]
    assert held.take(1) == {}
    assert held.take(2) == {"b": (30, 3)}
    assert not held
    assert "a" not in held
    assert not held.keys


def test_only_what_was_written_before_is_dropped(held: Held[str, int]) -> None:
    held.add(1, "a", 10, 1)
    held.add(2, "a", 20, 2)
    held.add(1, "a", 11, 3)
    held.drop("a", before=2)
    assert list(held) == [(1, "a", (11, 3))]


def work_among(others: int, same_key: bool) -> Callable[[], None]:
    held: Held[str, int] = Held()
    held.add(-1, "a", 0, 9)
    for number in range(others):
        held.add(number, "a" if same_key else f"other {number}", 0, 10 + number)

    def work() -> None:
        assert "a" in held
        held.take(-1)
        held.drop("a", before=9)
        held.add(-1, "a", 0, 10 + others)

    return work


@pytest.mark.parametrize("same_key", [False, True])
def test_how_many_others_there_are_makes_no_more_work(same_key: bool) -> None:
    assert lines_run(work_among(MANY, same_key)) <= lines_run(work_among(1, same_key))


def batch(producer_id: int, key: bytes, offset: int) -> memoryview:
    made = build_batch(
        [Record(0, 0, key, b"value")],
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        transactional=producer_id >= 0,
    )
    stamp(made, Offset(offset), 0)
    return memoryview(made)


def gathered_with(open_transactions: int) -> Gathered:
    gathered = Gathered()
    for number in range(open_transactions):
        gathered.add(batch(number, b"other %d" % number, number))
    return gathered


def test_a_commit_is_loaded_as_fast_however_many_transactions_are_open() -> None:
    marker = end_marker(MANY, 0, commit=True, coordinator_epoch=0, timestamp_ms=0)
    later = [batch(-1, b"a", MANY), batch(MANY, b"a", MANY + 1), memoryview(marker)]

    def load(gathered: Gathered) -> None:
        for each in later:
            gathered.add(each)

    few, many = (lines_run(partial(load, gathered_with(count))) for count in (1, MANY))
    assert many <= few
