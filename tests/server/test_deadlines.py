"""One timer for all waits that last equally long."""

from __future__ import annotations

import asyncio

from penstock.server.deadlines import Deadlines


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
