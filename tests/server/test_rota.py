"""Turns on the loop: on a loop and a clock that a test moves by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from penstock.server.rota import SHARE_MS, Rota, Round


class HandLoop:
    """Rounds of it are gone through one by one."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None], *args: Any) -> None:
        self.soon.append(callback)

    def go_round(self) -> None:
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()


class HandClock:
    def __init__(self) -> None:
        self.time_ms = 1_000.0

    def now_ms(self) -> int:
        return int(self.time_ms)

    def monotonic_ms(self) -> float:
        return self.time_ms


class Works:
    def __init__(self, *, has_two_ends: bool = False) -> None:
        self.loop, self.clock = HandLoop(), HandClock()
        loop = cast(asyncio.AbstractEventLoop, self.loop)
        self.rota = Rota(loop, self.clock, has_two_ends=has_two_ends)
        self.round = Round(loop, self.clock)
        self.done: list[int] = []

    def add(self, number: int, takes_ms: float = 1.0) -> None:
        def work() -> None:
            self.clock.time_ms += takes_ms
            self.done.append(number)

        self.rota.add(work)

    def go_round(self) -> list[int]:
        self.done = []
        self.loop.go_round()
        return self.done


def test_work_is_done_in_order_in_the_next_round() -> None:
    works = Works()
    for number in range(3):
        works.add(number)
    assert works.done == []
    assert works.go_round() == [0, 1, 2]
    assert works.loop.soon == [], "without work nobody is called"


def test_more_than_a_share_is_left_for_the_rounds_after() -> None:
    works = Works()
    for number in range(1_000):
        works.add(number)
    rounds = []
    while len(works.rota):
        rounds.append(works.go_round())
    assert max(map(len, rounds)) == SHARE_MS + 1, "the last one begins within the share"
    assert [number for each in rounds for number in each] == list(range(1_000))


def test_work_that_is_longer_than_a_share_does_not_keep_the_rest_for_ever() -> None:
    works = Works()
    for number in range(3):
        works.add(number, takes_ms=1_000)
    assert [works.go_round() for _ in range(3)] == [[0], [1], [2]]


def test_work_may_bring_about_more_of_it() -> None:
    works = Works()
    works.rota.add(lambda: works.add(7))
    assert works.go_round() == [7]


def test_one_who_comes_behind_a_crowd_does_not_wait_for_all_of_it() -> None:
    works = Works(has_two_ends=True)
    for number in range(1_000):
        works.add(number)
    works.go_round()
    works.add(5_000)
    assert 5_000 in works.go_round()


def test_whoever_keeps_coming_the_first_in_line_is_not_forgotten() -> None:
    works = Works(has_two_ends=True)
    for number in range(100):
        works.add(number)
    seen: list[int] = []
    for late in range(100):
        for number in range(10):
            works.add(1_000 + 10 * late + number)
        seen += works.go_round()
    assert set(range(100)) <= set(seen)


def test_a_round_is_over_when_it_has_taken_a_share_in_one_go() -> None:
    works = Works()
    assert not works.round.is_over()
    works.clock.time_ms += SHARE_MS
    assert not works.round.is_over()
    works.clock.time_ms += 1
    assert works.round.is_over()
    works.loop.go_round()
    assert not works.round.is_over()


def test_rounds_that_are_short_are_never_over_however_many_there_are() -> None:
    works = Works()
    for _ in range(1_000):
        works.clock.time_ms += 0.9 * SHARE_MS
        assert not works.round.is_over()
        works.loop.go_round()


def test_the_end_of_a_round_is_awaited_once_a_share_and_not_with_each_call() -> None:
    works = Works()
    for _ in range(100):
        works.round.is_over()
    assert len(works.loop.soon) == 1
    works.loop.go_round()
    for _ in range(100):
        works.round.is_over()
    assert works.loop.soon == []
