"""The mark of a data folder, raised in the folder and then in the store: older copies have less."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from penstock.errors import Refused
from penstock.log.log_dir import LogDir
from penstock.metadata.cluster_changes import note_mark
from penstock.metadata.keeper import Keeper
from penstock.world.ports import Disk

log = logging.getLogger(__name__)

MARK_MS = 600_000
"""So old may a copy of the data folder be, at most, that is not known for one."""
STOP_MS_MAX = 2000


class Marking:
    def __init__(self, log_dir: LogDir, keeper: Keeper, disk: Disk) -> None:
        self._log_dir = log_dir
        self._keeper = keeper
        self._disk = disk

    async def run(self) -> None:
        while True:
            await asyncio.sleep(MARK_MS / 1000)
            try:
                await self.raise_once()
            except (OSError, Refused) as problem:
                log.warning("the data folder's mark is raised another time: %s", problem)

    async def raise_once(self) -> None:
        """In the folder first: one that is ahead of the store is no older copy."""
        meta, mark = self._log_dir.meta, self._log_dir.mark + 1
        owner = meta.directory_id.encode()
        await self._disk.offload(partial(self._log_dir.write_mark, mark))
        await self._keeper.change(lambda image: note_mark(image, meta.node_id, owner, mark))

    async def stop(self) -> None:
        """Copies of the folder that were made while the broker ran are older from here on."""
        try:
            async with asyncio.timeout(STOP_MS_MAX / 1000):
                await self.raise_once()
        except Exception as problem:  # it is no reason not to stop cleanly
            log.info("the data folder's mark is not raised at this stop: %s", problem)
