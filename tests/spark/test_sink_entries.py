"""What is decided, as the order of a log says it, compacted or not."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.open_transaction import OpenTransaction
from penstock.spark.errors import SparkError
from penstock.spark.sink.entries import NOTHING, Entry, History, decode, encode, key_of

ONE, TWO = OpenTransaction("one", 1, 0), OpenTransaction("two", 2, 5)


def log_of(*entries: Entry) -> History:
    history = History()
    for each in entries:
        history.apply(key_of(each.query, each.writer), encode(each))
    return history


def test_an_entry_is_read_as_it_was_written() -> None:
    entry = Entry("q", "run", 7, 3, (ONE, TWO), (TWO,))
    assert decode(encode(entry)) == entry


def test_nothing_is_decided_of_a_query_that_nobody_knows() -> None:
    assert log_of().last("q") == Entry("q", "", 0, NOTHING)


def test_the_last_entry_counts_for_each_query() -> None:
    first = Entry("q").deciding("run", 0, [ONE])
    ended = first.ended("run")
    other = Entry("other").deciding("run", 9, [TWO])
    history = log_of(first, other, ended)
    assert history.last("q") == ended
    assert (ended.batch, ended.decided) == (0, ())
    assert history.last("other") == other


def test_of_two_drivers_the_first_one_decides() -> None:
    first = Entry("q").deciding("run-1", 0, [ONE])
    second = Entry("q").deciding("run-2", 0, [TWO])
    assert log_of(first, second).last("q") == first
    assert log_of(second, first).last("q") == second


def test_what_is_condemned_before_it_is_decided_stays_so() -> None:
    decided = Entry("q").deciding("run", 0, [ONE])
    condemned = Entry("q").condemning("orphans-1", [ONE])
    assert log_of(condemned, decided).last("q") == condemned
    assert log_of(decided, condemned).last("q") == decided


def test_a_decision_leaves_behind_what_was_condemned_before() -> None:
    entry = Entry("q").condemning("orphans-1", [ONE]).deciding("run", 1, [TWO])
    assert (entry.decided, entry.condemned, entry.number) == ((TWO,), (), 2)


def test_what_is_forgotten_is_gone() -> None:
    history = log_of(Entry("q").deciding("run", 0, [ONE]))
    history.apply(key_of("q", "run"), None)
    assert history.last("q") == Entry("q")


def test_only_the_last_batch_may_come_again() -> None:
    entry = Entry("q").deciding("run", 1, [ONE])
    assert entry.is_decided(1)
    assert not entry.is_decided(2)
    with pytest.raises(SparkError, match=r"query q comes after batch 1.*new checkpoint"):
        entry.is_decided(0)


def test_a_record_of_somebody_else_is_told_of() -> None:
    with pytest.raises(SparkError, match="cannot be read"):
        History().apply(b"q/run", b"hello")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=30), st.data())
def test_a_compacted_log_says_the_same(made: list[tuple[str, int]], data: st.DataObject) -> None:
    """Each key's own numbers rise."""
    numbers: dict[str, int] = {}
    entries: list[Entry] = []
    for writer, step in made:
        numbers[writer] = numbers.get(writer, 0) + 1 + step
        entries.append(Entry("q", writer, numbers[writer], batch=len(entries)))
    upto = data.draw(st.integers(0, len(entries)))
    newest = {each.writer: each for each in entries[:upto]}
    compacted = [each for each in entries[:upto] if newest[each.writer] is each]
    assert log_of(*compacted, *entries[upto:]).last("q") == log_of(*entries).last("q")


@given(st.lists(st.integers(0, 8), max_size=30), st.data())
def test_what_is_forgotten_never_changes_what_counts(
    delays: list[int], data: st.DataObject
) -> None:
    """Whoever writes has read up to somewhere, and forgets and numbers by that, however late."""
    history, all_of_it = History(), History()
    views = [History()]
    for place, behind in enumerate(delays):
        seen = views[max(0, len(views) - 1 - behind)]
        entry = Entry("q", "run", seen.last("q").number + 1, batch=place)
        records = [(f"run.{place}", entry), *((name, None) for name in seen.outdated("q"))]
        for name, each in data.draw(st.permutations(records)):
            history.apply(key_of("q", name), encode(each) if each else None)
        all_of_it.apply(key_of("q", f"run.{place}"), encode(entry))
        assert history.last("q") == all_of_it.last("q")
        views.append(deepcopy(history))


def test_of_a_query_that_runs_again_and_again_little_is_kept() -> None:
    history = History()
    for run in range(100):
        name, entry = f"run-{run}", history.last("q").deciding(f"run-{run}", run, [ONE])
        gone = history.outdated("q")
        history.apply(key_of("q", name), encode(entry))
        for each in gone:
            history.apply(key_of("q", each), None)
    assert len(history.names("q")) <= 2
