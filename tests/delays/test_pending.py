"""Held records by id and by due time, against a plain dictionary."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from penstock.delays import by_due, pending
from penstock.delays.by_due import ByDue
from penstock.delays.pending import UNREADABLE, Entry, Pending

numbers = st.integers(0, 60)
dues = st.integers(0, 8)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that they are cut."""
    monkeypatch.setattr(pending, "BLOCK_MAX", 4)
    monkeypatch.setattr(by_due, "BLOCK_MAX", 4)


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.pending = Pending()
        self.entries: dict[int, Entry] = {}
        self.aside: dict[int, int] = {}
        self.coming_back: set[int] = set()
        """Of those set aside."""

    @rule(number=numbers, due_ms=dues, place=numbers)
    def put(self, number: int, due_ms: int, place: int) -> None:
        if number in self.entries:
            due_ms = self.entries[number].due_ms  # it is carried forward, to the same time
        self.entries[number] = Entry(number, due_ms, place)
        self.pending.put(self.entries[number])

    @rule(number=numbers)
    def remove(self, number: int) -> None:
        assert self.pending.remove(number) == self.entries.pop(number, None)
        self.aside.pop(number, None)

    @rule(number=numbers, offset=st.integers(0, 20), comes_back=st.booleans())
    def set_aside(self, number: int, offset: int, comes_back: bool) -> None:
        self.pending.set_aside(number, offset, comes_back=comes_back)
        if number in self.entries and (number not in self.aside or number in self.coming_back):
            self.aside[number] = offset
            self.coming_back.discard(number)
            self.coming_back.update([number] if comes_back else [])

    @rule(number=numbers, due_ms=dues, offset=st.integers(0, 20))
    def move(self, number: int, due_ms: int, offset: int) -> None:
        self.pending.move(number, due_ms, offset)
        if number in self.entries:
            self.entries[number] = self.entries[number]._replace(due_ms=due_ms)
            if self.aside.get(number, offset) <= offset:
                self.aside.pop(number, None)

    @rule(number=numbers)
    def give_up(self, number: int) -> None:
        if number not in self.aside:
            self.pending.set_aside(number, UNREADABLE)
        if number in self.entries:
            self.aside.setdefault(number, UNREADABLE)

    @rule(before=st.integers(0, 20), end=st.integers(0, 20))
    def take_back(self, before: int, end: int) -> None:
        lost = [
            number
            for number, offset in self.aside.items()
            if offset != UNREADABLE and (offset < before or offset >= end)
        ]
        assert self.pending.take_back(before, end) == len(lost)
        for number in lost:
            del self.aside[number]

    @invariant()
    def is_the_same(self) -> None:
        self.coming_back &= self.aside.keys()
        assert len(self.pending) == len(self.entries)
        on_their_way = [each for each in self.aside.values() if each != UNREADABLE]
        assert self.pending.aside == len(on_their_way)
        for number in range(61):
            assert self.pending.get(number) == self.entries.get(number)
            waits = number in self.entries and number not in self.aside
            assert self.pending.is_waiting(number) == waits
            may_come = waits or number in self.coming_back
            assert self.pending.may_come(number) == may_come
        rows = [row for block in self.pending.blocks() for row in zip(*block, strict=True)]
        assert rows == sorted(map(tuple, self.entries.values()))
        assert self.pending.ids_between(10, 40) == sorted(
            each for each in self.entries if 10 <= each < 40
        )
        for lost in ([], [12, 20, 33]):
            places = [each.place for each in self.entries.values() if each.id not in lost]
            assert self.pending.lowest_place(lost) == min(places, default=None)
        walked, number = list[int](), -1
        while (block := self.pending.block_after(number)) is not None:
            walked += (each for each in block[0] if each > number)
            number = block[0][-1]
        assert walked == sorted(self.entries)
        for first, end in ((10, 40), (0, 1000), (40, 40)):
            found = self.pending.ids_between(first, end)
            assert self.pending.count_between(first, end) == len(found)

    @invariant()
    def is_due_in_order(self) -> None:
        waiting = sorted(
            (entry.due_ms, number)
            for number, entry in self.entries.items()
            if number not in self.aside
        )
        assert self.pending.next_ms == (waiting[0][0] if waiting else None)
        for time_ms in range(9):
            due = [number for due_ms, number in waiting if due_ms <= time_ms]
            assert self.pending.due_by(time_ms, 1000) == due
            assert self.pending.due_by(time_ms, 3) == due[:3]


def test_pending_records_are_kept_as_a_dictionary_would() -> None:
    run_state_machine_as_test(
        Model, settings=settings(deadline=None, max_examples=150, stateful_step_count=40)
    )


def test_what_is_lost_comes_back_whatever_was_set_aside_after_it() -> None:
    """The log was cut between the second and the third."""
    found = Pending()
    for number, offset in ((1, 5), (2, 20), (3, 6)):
        found.put(Entry(number, 0, number))
        found.set_aside(number, offset)
    assert found.take_back(0, 10) == 1
    assert found.is_waiting(2)


def test_many_are_put_at_the_end_at_once_or_not_at_all() -> None:
    order = Pending()
    assert order.put_last(array("q", [3, 5]), array("q", [9, 1]), array("q", [3, 5]))
    assert not order.put_last(array("q", [5, 6]), array("q", [1, 1]), array("q", [5, 6]))
    assert order.put_last(array("q", [6]), array("q", [4]), array("q", [8]))
    assert order.due_by(100, 10) == [5, 6, 3]
    assert order.get(6) == Entry(6, 4, 8)
    assert len(order) == 3


@settings(deadline=None, max_examples=100)
@given(st.sets(st.tuples(dues, numbers), max_size=80), st.data())
def test_what_falls_due_together_is_in_the_order_of_ids(
    wanted: set[tuple[int, int]], data: st.DataObject
) -> None:
    order = ByDue()
    for due_ms, number in data.draw(st.permutations(sorted(wanted))):
        order.add(due_ms, number)
    gone = data.draw(st.sets(st.sampled_from(sorted(wanted)))) if wanted else set()
    for due_ms, number in gone:
        assert order.remove(due_ms, number)
        assert not order.remove(due_ms, number)
    assert order.due_by(100, 1000) == [number for _, number in sorted(wanted - gone)]
    assert len(order) == len(wanted - gone)


def test_a_million_take_less_than_fifty_bytes_each() -> None:
    count = 200_000
    order = Pending()
    for number in range(count):
        order.put(Entry(number, (number * 7919) % 1_000_003, number))
    columns = [column for block in order.blocks() for column in block]
    taken = sum(column.buffer_info()[1] * column.itemsize for column in columns)
    assert taken == count * 24
    assert len(order) == count
