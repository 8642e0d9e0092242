"""Opens logs of which something has to be made again: a step of each in turn.

There may be thousands of them, so only one step is taken between two turns of everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from penstock.api.opening import Opening
from penstock.log.partition_log import PartitionLog


class Opener:
    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._under_way: dict[PartitionLog, asyncio.Future[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def soon(self, log: PartitionLog) -> bool:
        if log not in self._under_way:
            self._under_way[log] = asyncio.get_running_loop().create_future()
        if self._task is None:
            self._task = asyncio.create_task(self._open_all(), name="opener")
        return False

    async def _open_all(self) -> None:
        while self._under_way:
            for log in list(self._under_way):
                if self._opening.go_on(log):
                    self._under_way.pop(log).set_result(None)
                await asyncio.sleep(0)
        self._task = None

    async def ended(self, logs: Sequence[PartitionLog], wait_ms: float) -> None:
        """Whether these could be opened or not shows when they are asked for again."""
        waiting = [self._under_way[log] for log in logs if log in self._under_way]
        if waiting:
            await asyncio.wait(waiting, timeout=wait_ms / 1000)

    async def stop(self) -> None:
        """What is half opened is as if it had not been begun."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
