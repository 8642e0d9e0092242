from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from tests.server.house import FailingDisk

from penstock.log.steps import Steps, Sync, Wait
from penstock.server.steps import carry_out, wait_on
from penstock.server.syncer import Syncer
from penstock.world.ports import Cold


async def test_each_step_is_waited_for(tmp_path: Path) -> None:
    disk = FailingDisk()
    done: list[str] = []

    def steps() -> Steps[str]:
        file = disk.open(str(tmp_path / "file"))
        file.append([b"data"])
        yield Cold(file, 0, 4)
        yield Sync([file], [str(tmp_path)])
        yield lambda: done.append("offloaded")
        assert done == ["offloaded"]
        yield None
        return "result"

    failures: list[Exception] = []
    syncer = Syncer(disk, failures.append)
    assert await carry_out(partial(wait_on, disk, syncer=syncer), steps()) == "result"
    assert not failures
    disk.close()


async def test_a_failure_is_raised_at_the_step(tmp_path: Path) -> None:
    disk = FailingDisk()

    def steps(*, is_caught: bool) -> Steps[str]:
        try:
            yield Cold(disk.open(str(tmp_path / "gone")), 0, 4)
        except FileNotFoundError:
            if not is_caught:
                raise
        yield None
        return "went on"

    wait_for = partial(wait_on, disk)
    assert await carry_out(wait_for, steps(is_caught=True)) == "went on"
    with pytest.raises(FileNotFoundError):
        await carry_out(wait_for, steps(is_caught=False))
    disk.close()


async def test_who_is_cancelled_closes_the_steps() -> None:
    closed: list[bool] = []

    def steps() -> Steps[None]:
        try:
            while True:
                yield None
        finally:
            closed.append(True)

    async def wait_for(_: Wait) -> None:
        await asyncio.sleep(0)

    task = asyncio.create_task(carry_out(wait_for, steps()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == [True]
