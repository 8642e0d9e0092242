"""Virtual time, drawn order, and processes that can be stopped or killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from penstock.sim.loop import VirtualLoop, virtual_loop
from penstock.sim.scheduler import Failed, Scheduler
from penstock.sim.trace import Trace

LIMIT_S = 1e6


def run(scheduler: Scheduler, *tasks: asyncio.Task[None]) -> None:
    scheduler.run(lambda: all(task.done() for task in tasks), LIMIT_S)


def order_of_ten(
    seed: int, schedule: Callable[[VirtualLoop, Callable[[int], None], int], object]
) -> list[int]:
    scheduler = Scheduler(seed)
    loop = virtual_loop(scheduler, "one")
    seen: list[int] = []
    for number in range(10):
        schedule(loop, seen.append, number)
    scheduler.run(lambda: len(seen) == 10, LIMIT_S)
    return seen


def soon(loop: VirtualLoop, callback: Callable[[int], None], number: int) -> object:
    return loop.call_soon(callback, number)


def at_five(loop: VirtualLoop, callback: Callable[[int], None], number: int) -> object:
    return loop.call_at(5.0, callback, number)


def test_time_jumps_to_the_next_timer() -> None:
    scheduler = Scheduler(1)
    loop = virtual_loop(scheduler, "one")
    times: list[float] = []

    async def sleep() -> None:
        await asyncio.sleep(3600)
        times.append(loop.time())

    run(scheduler, loop.create_task(sleep()))
    assert times[0] == pytest.approx(3600, abs=0.01)


@pytest.mark.parametrize("schedule", [soon, at_five])
def test_the_order_of_what_is_due_together_is_drawn_from_the_seed(
    schedule: Callable[[VirtualLoop, Callable[[int], None], int], object],
) -> None:
    orders = [order_of_ten(seed, schedule) for seed in range(20)]
    assert orders == [order_of_ten(seed, schedule) for seed in range(20)]
    assert len({tuple(order) for order in orders}) > 15


def test_timers_of_different_times_keep_their_order() -> None:
    scheduler = Scheduler(1)
    loop = virtual_loop(scheduler, "one")
    seen: list[float] = []
    for when in (3.0, 1.0, 2.0):
        loop.call_at(when, seen.append, when)
    scheduler.run(lambda: len(seen) == 3, LIMIT_S)
    assert seen == [1.0, 2.0, 3.0]


def test_a_cancelled_timer_neither_runs_nor_takes_time() -> None:
    scheduler = Scheduler(1)
    loop = virtual_loop(scheduler, "one")
    seen: list[str] = []
    loop.call_later(100, seen.append, "cancelled").cancel()
    loop.call_later(200, seen.append, "due")
    scheduler.run(lambda: bool(seen), LIMIT_S)
    assert seen == ["due"]


def test_a_task_that_fails_unheard_fails_the_run() -> None:
    scheduler = Scheduler(1)
    loop = virtual_loop(scheduler, "one")

    async def fail() -> None:
        raise ValueError("nobody looks")

    loop.create_task(fail())
    loop.call_later(1, lambda: None)
    with pytest.raises(Failed, match="nobody looks"):
        scheduler.run(lambda: False, LIMIT_S)


def test_a_callback_that_raises_fails_the_run() -> None:
    scheduler = Scheduler(1)
    virtual_loop(scheduler, "one").call_soon(int, "no number")
    with pytest.raises(Failed, match="no number"):
        scheduler.run(lambda: False, LIMIT_S)


def test_a_run_that_cannot_come_to_its_end_fails() -> None:
    with pytest.raises(Failed, match="nothing is left"):
        Scheduler(1).run(lambda: False, LIMIT_S)


def test_a_run_that_goes_on_for_ever_fails() -> None:
    scheduler = Scheduler(1)

    async def turn_in_circles() -> None:
        while True:
            await asyncio.sleep(0)

    loop = virtual_loop(scheduler, "one")
    task = loop.create_task(turn_in_circles())
    with pytest.raises(Failed, match="not over"):
        scheduler.run(lambda: False, 0.5)
    loop.kill()
    loop.bury()
    assert not task.done()


def test_there_are_no_threads() -> None:
    loop = virtual_loop(Scheduler(1), "one")
    with pytest.raises(RuntimeError, match="no threads"):
        loop.run_in_executor(None, print)


def test_nothing_of_a_killed_process_runs_any_more() -> None:
    scheduler = Scheduler(1)
    dying, other = virtual_loop(scheduler, "dying"), virtual_loop(scheduler, "other")
    seen: list[str] = []

    async def live() -> None:
        try:
            while True:
                await asyncio.sleep(1)
                seen.append("alive")
        finally:
            seen.append("finally")

    task = dying.create_task(live())
    other.call_at(3.5, dying.kill)
    scheduler.run(lambda: scheduler.now_s > 3.5 and dying.is_dead, LIMIT_S)
    dying.call_soon(seen.append, "after")
    over = other.create_task(asyncio.sleep(10))
    scheduler.run(over.done, LIMIT_S)
    assert seen == ["alive"] * 3
    assert not task.done()
    dying.bury()
    assert seen[-1] == "finally"


def test_what_falls_due_in_a_pause_is_late() -> None:
    scheduler = Scheduler(1)
    paused, other = virtual_loop(scheduler, "paused"), virtual_loop(scheduler, "other")
    times: list[float] = []

    async def sleep() -> None:
        await asyncio.sleep(2)
        times.append(scheduler.now_s)

    task = paused.create_task(sleep())
    other.call_at(1, paused.pause)
    other.call_at(9, paused.resume)
    run(scheduler, task)
    assert times[0] == pytest.approx(9, abs=0.01)


def test_a_trace_names_code_and_not_addresses() -> None:
    hashes = set()
    for _ in range(2):
        scheduler = Scheduler(3, Trace())
        loop = virtual_loop(scheduler, "one")
        run(scheduler, loop.create_task(asyncio.sleep(1, None)))
        assert scheduler.trace is not None
        assert any("one sleep" in line for line in scheduler.trace.last)
        hashes.add(scheduler.trace.hash)
    assert len(hashes) == 1
