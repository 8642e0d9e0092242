"""When which log is compacted: one at a time, the dirtiest first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from penstock.api.broker import Broker
from penstock.log import compaction_plan
from penstock.log.compaction import Compaction, Overtaken, Uncleanable
from penstock.log.compaction_plan import Dirt
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Sync, Wait
from penstock.replication.leader import Leader
from penstock.server.steps import carry_out, wait_on
from penstock.world.ports import Clock, Cold, Disk

log = logging.getLogger(__name__)

PAUSE_MS = 2
"""Steps are followed by a pause as long as they took, so that compaction gets at most half of a
core; timers do not count less than a millisecond, so pauses are put together until they do."""

OnReplaced = Callable[[Compaction, int], None]
"""What becomes of replaced files, after so many milliseconds."""


class Cleaner:
    def __init__(self, clock: Clock, disk: Disk, broker: Broker, on_replaced: OnReplaced) -> None:
        self._clock = clock
        self._disk = disk
        self._broker = broker
        self._on_replaced = on_replaced
        self._uncleanable: set[PartitionLog] = set()
        """Until the next start: a pass would come to the same end."""
        self._owed_ms = 0.0

    async def run(self) -> None:
        """Compact whatever is due now."""
        due: list[tuple[tuple[bool, float], Leader]] = []
        for leader in self._broker.leaders_with_data():
            dirt = self._examine(leader)
            if dirt is not None:
                due.append((dirt.urgency, leader))
            await asyncio.sleep(0)
        for _, leader in sorted(due, key=lambda each: each[0], reverse=True):
            dirt = self._examine(leader)  # much may have happened since
            if dirt is not None:
                await self._compact(leader, dirt)

    def _examine(self, leader: Leader) -> Dirt | None:
        partition = leader.log
        if leader.deleted or not partition.config.compacts or partition in self._uncleanable:
            return None
        now_ms = self._clock.now_ms()
        compaction_plan.roll_overdue(partition, now_ms)
        dirt = compaction_plan.examine(partition, now_ms, leader.last_stable_offset)
        return dirt if dirt is not None and dirt.is_due(partition.config) else None

    async def _compact(self, leader: Leader, dirt: Dirt) -> None:
        map_bytes = self._broker.config.cleaner_dedupe_buffer_bytes
        compaction = Compaction(leader.log, dirt, self._clock.now_ms(), map_bytes)
        name = f"{leader.topic}-{leader.index}"
        try:
            await carry_out(self._wait_for, compaction.run())
        except Overtaken:
            log.info("%s was changed while it was compacted; that is tried again later", name)
        except Uncleanable as problem:
            self._uncleanable.add(leader.log)
            log.error("%s is not compacted any more: %s", name, problem)
        except OSError as problem:
            log.error("%s could not be compacted, which is tried again later: %s", name, problem)
        else:
            before, after = compaction.bytes_before, compaction.bytes_after
            log.info("%s compacted: %d bytes became %d", name, before, after)
        finally:
            self._on_replaced(compaction, leader.log.config.file_delete_delay_ms)

    async def _wait_for(self, wait: Wait) -> None:
        began_ms = self._clock.monotonic_ms()
        await wait_on(self._disk, wait)
        if isinstance(wait, Cold | Sync):
            return  # that was the disk's time, not a core's
        self._owed_ms += self._clock.monotonic_ms() - began_ms
        if self._owed_ms >= PAUSE_MS:
            await asyncio.sleep(self._owed_ms / 1000)
            self._owed_ms = 0.0
