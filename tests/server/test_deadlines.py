"""One timer for all waits that last equally long."""

from __future__ import annotations

import asyncio

import pytest

from penstock.server.deadlines import WAIT_MS_MAX, Deadlines, rounded


class Wait:
    def __init__(self, name: str, ended: list[str]) -> None:
        self.name, self.ended = name, ended

    def expire(self) -> None:
        self.ended.append(self.name)


async def until(ended: list[str], count: int) -> None:
    async with asyncio.timeout(10):
        while len(ended) < count:
            await asyncio.sleep(0.001)


async def test_waits_end_in_the_order_of_their_deadlines() -> None:
    deadlines = Deadlines(asyncio.get_running_loop())
    ended: list[str] = []
    for name, wait_ms in (("long", 60), ("short", 1), ("also long", 60), ("none", 0)):
        deadlines.begin(Wait(name, ended), wait_ms)
    await until(ended, 4)
    assert sorted(ended[:2]) == ["none", "short"]
    assert ended[2:] == ["long", "also long"]


async def test_a_wait_that_was_ended_does_not_expire() -> None:
    deadlines = Deadlines(asyncio.get_running_loop())
    ended: list[str] = []
    first, second = Wait("first", ended), Wait("second", ended)
    deadlines.begin(first, 5)
    deadlines.begin(second, 5)
    deadlines.end(first, 5)
    await until(ended, 1)
    assert ended == ["second"]


async def test_a_wait_that_begins_while_another_expires_gets_its_whole_time() -> None:
    deadlines = Deadlines(asyncio.get_running_loop())
    ended: list[str] = []

    class Restarting(Wait):
        def expire(self) -> None:
            super().expire()
            if len(ended) < 3:
                deadlines.begin(self, 2)

    deadlines.begin(Restarting("again", ended), 2)
    await until(ended, 3)
    assert ended == ["again"] * 3


async def test_a_wait_may_end_another_that_is_due_with_it() -> None:
    deadlines = Deadlines(asyncio.get_running_loop())
    ended: list[str] = []
    other = Wait("other", ended)

    class Ending(Wait):
        def expire(self) -> None:
            super().expire()
            deadlines.end(other, 1)

    deadlines.begin(Ending("first", ended), 1)
    deadlines.begin(other, 1)
    last = Wait("last", ended)
    deadlines.begin(last, 1)
    await until(ended, 2)
    assert ended == ["first", "last"]


@pytest.mark.parametrize(
    ("asked_ms", "given_ms"),
    [
        *((-5, 0), (0, 0), (7, 7), (99, 99), (100, 100), (101, 110), (500, 500), (991, 1000)),
        *((30_000, 30_000), (30_001, 31_000), (3_599_999, WAIT_MS_MAX), (2**31 - 1, WAIT_MS_MAX)),
    ],
)
def test_times_are_rounded_up_to_two_digits_and_to_an_hour_at_most(
    asked_ms: int, given_ms: int
) -> None:
    assert rounded(asked_ms) == given_ms
    assert rounded(given_ms) == given_ms


async def test_however_many_times_are_asked_for_there_are_few_timers() -> None:
    timers: list[float] = []

    class CountingLoop:
        def call_later(self, delay: float, *_: object) -> None:
            timers.append(delay)

        def time(self) -> float:
            return 0.0

    deadlines = Deadlines(CountingLoop())  # type: ignore[arg-type]
    wait = Wait("w", [])
    for wait_ms in (*range(20_000), *range(20_000, 2**31, 100_003)):
        deadlines.begin(wait, wait_ms)
        deadlines.end(wait, wait_ms)
    assert len(timers) < 600
    assert max(timers) * 1000 == WAIT_MS_MAX
    assert not any(deadlines._queues.values())


async def test_a_time_that_is_not_round_ends_too() -> None:
    deadlines = Deadlines(asyncio.get_running_loop())
    ended: list[str] = []
    first, second = Wait("first", ended), Wait("second", ended)
    deadlines.begin(first, 101)
    deadlines.begin(second, 107)
    deadlines.end(first, 101)
    await until(ended, 1)
    assert ended == ["second"]
    assert not deadlines._queues
