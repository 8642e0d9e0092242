"""A run that does not end is ended, and says what it was waiting for."""

from __future__ import annotations

import asyncio

import pytest

from penstock.sim import run, scheduler
from penstock.sim.cluster import Cluster
from penstock.sim.loop import virtual_loop
from penstock.sim.pending import pending
from penstock.sim.run import play
from penstock.sim.scenarios import SCENARIOS, Scenario
from penstock.sim.scheduler import Endless, Scheduler
from penstock.sim.watchdog import Stuck, watched


async def _never(cluster: Cluster, _: object) -> None:
    await asyncio.Event().wait()


async def _in_circles(cluster: Cluster, _: object) -> None:
    while True:
        await asyncio.sleep(0)


async def _in_one_callback(cluster: Cluster, _: object) -> None:
    while True:
        pass


@pytest.mark.parametrize("faults", [_never, _in_circles, _in_one_callback])
def test_a_run_that_does_not_end_says_where_it_is(
    faults: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = Scenario(faults)  # type: ignore[arg-type]
    monkeypatch.setattr("penstock.sim.run.SCENARIOS", {**SCENARIOS, "endless": scenario})
    monkeypatch.setattr(run, "LIMIT_S", 3.0)
    monkeypatch.setattr(run, "CPU_S_MAX", 1.0)
    monkeypatch.setattr(scheduler, "CALLBACKS_MAX", 20_000)
    findings = play("endless", 1).findings
    assert "the run is not over after" in findings[0]
    assert any(faults.__name__ in each for each in findings)  # type: ignore[attr-defined]


def test_pending_tasks_are_told_with_the_line_that_waits() -> None:
    clock = Scheduler(1)
    loop = virtual_loop(clock, "one")

    async def inner() -> None:
        await asyncio.sleep(100)

    async def outer() -> None:
        await inner()

    task = loop.create_task(outer())
    with pytest.raises(Endless, match="virtual seconds"):
        clock.run(task.done, 1)
    (line,) = pending([loop])
    assert line.startswith("pending: one: ")
    assert line.index("outer") < line.index("inner") < line.index("sleep")
    loop.kill()
    loop.bury()


def test_what_no_timer_will_wake_is_endless() -> None:
    with pytest.raises(Endless, match="nothing is left"):
        Scheduler(1).run(lambda: False, 1)


def spin() -> None:
    with watched(0.05):
        while True:
            pass


def test_a_callback_that_does_not_return_is_interrupted() -> None:
    with pytest.raises(Stuck, match=r"CPU seconds, in .*spin"):
        spin()


def test_what_ends_in_time_is_left_alone() -> None:
    with watched(0.05):
        pass
    for _ in range(2_000_000):
        pass
