"""Carrying out what a log has to do in steps, with everything else between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import TypeVar

from penstock.log.steps import Apart, Steps, Sync, Wait
from penstock.server.syncer import Syncer
from penstock.world.ports import Cold, Disk

T = TypeVar("T")


async def carry_out(wait_for: Callable[[Wait], Awaitable[None]], steps: Steps[T]) -> T:
    """To the end. Who is cancelled here leaves nothing half done: the steps are closed."""
    with closing(steps):
        failure: Exception | None = None
        while True:
            try:
                wait = next(steps) if failure is None else steps.throw(failure)
            except StopIteration as end:
                result: T = end.value
                return result
            failure = None
            try:
                await wait_for(wait)
            except Exception as error:
                failure = error


async def wait_on(disk: Disk, wait: Wait, syncer: Syncer | None = None) -> None:
    """Where nothing but reading is done, no syncer is needed."""
    if wait is None:
        await asyncio.sleep(0)
    elif isinstance(wait, Cold):
        await disk.warm(wait.file, wait.position, wait.length)
    elif isinstance(wait, Sync):
        assert syncer is not None
        await syncer.sync(wait.files, wait.folders)
    elif isinstance(wait, Apart):
        await disk.offload_large(wait.work)
    else:
        await disk.offload(wait)
