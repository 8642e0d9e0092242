"""When which log is compacted: one at a time, the dirtiest first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from penstock.api.broker import Broker
from penstock.errors import Refused
from penstock.log import compaction_plan
from penstock.log.compaction import Compaction, Overtaken, Uncleanable
from penstock.log.compaction_plan import Dirt
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Sync, Wait
from penstock.replication.replica import Replica
from penstock.server.steps import carry_out, wait_on
from penstock.server.syncer import Syncer
from penstock.world.ports import Clock, Cold, Disk

log = logging.getLogger(__name__)

LOGS_A_SLICE = 500
"""Looked at in one go, where they are not compacted: at 1 us each."""
PAUSE_MS = 2
"""Steps are followed by a pause as long as they took, so that compaction gets at most half of a
core; timers do not count less than a millisecond, so pauses are put together until they do."""

OnReplaced = Callable[[Compaction, int], None]
"""What becomes of replaced files, after so many milliseconds."""


class Cleaner:
    def __init__(
        self, clock: Clock, disk: Disk, broker: Broker, syncer: Syncer, on_replaced: OnReplaced
    ) -> None:
        self._clock = clock
        self._disk = disk
        self._broker = broker
        self._syncer = syncer
        self._on_replaced = on_replaced
        self._uncleanable: set[PartitionLog] = set()
        """Until the next start: a pass would come to the same end."""
        self._owed_ms = 0.0

    async def run(self) -> None:
        """Compact whatever is due now."""
        due: list[tuple[tuple[bool, float], Replica]] = []
        for number, (topic, index) in enumerate(list(self._broker.log_dir.logs)):
            replica = self._compacted(topic, index)
            dirt = self._dirt_of(replica) if replica is not None else None
            if replica is not None and dirt is not None:
                due.append((dirt.urgency, replica))
            if replica is not None or number % LOGS_A_SLICE == 0:
                await asyncio.sleep(0)
        for _, replica in sorted(due, key=lambda each: each[0], reverse=True):
            dirt = self._dirt_of(replica)  # much may have happened since
            if dirt is not None:
                await self._compact(replica, dirt)

    def _compacted(self, name: str, index: int) -> Replica | None:
        """The others are not even opened, if nobody has used them since the start."""
        image = self._broker.image
        topic = image.topic(name)
        if topic is None or not image.settings.of_topic(topic).compacts:
            return None
        try:
            return self._broker.replica(topic, index)
        except Refused:  # it cannot be read, or nobody leads it
            return None

    def _dirt_of(self, replica: Replica) -> Dirt | None:
        """A log that cannot be looked at keeps no other from being compacted."""
        try:
            return self._examine(replica)
        except Exception as problem:
            name, is_bug = f"{replica.topic}-{replica.index}", not isinstance(problem, OSError)
            log.error("%s could not be examined for compaction: %s", name, problem, exc_info=is_bug)
            return None

    def _examine(self, replica: Replica) -> Dirt | None:
        partition = replica.log
        if (
            replica.over is not None
            or not partition.config.compacts
            or partition in self._uncleanable
        ):
            return None
        now_ms = self._clock.now_ms()
        compaction_plan.roll_overdue(partition, now_ms)
        dirt = compaction_plan.examine(partition, now_ms, replica.last_stable_offset)
        return dirt if dirt is not None and dirt.is_due(partition.config) else None

    async def _compact(self, replica: Replica, dirt: Dirt) -> None:
        map_bytes = self._broker.config.cleaner_dedupe_buffer_bytes
        compaction = Compaction(replica.log, dirt, self._clock.now_ms(), map_bytes)
        name = f"{replica.topic}-{replica.index}"
        try:
            await carry_out(self._wait_for, compaction.run())
        except Overtaken:
            log.info("%s was changed while it was compacted; that is tried again later", name)
        except Uncleanable as problem:
            self._uncleanable.add(replica.log)
            log.error("%s is not compacted any more: %s", name, problem)
        except OSError as problem:
            log.error("%s could not be compacted, which is tried again later: %s", name, problem)
        else:
            before, after = compaction.bytes_before, compaction.bytes_after
            log.info("%s compacted: %d bytes became %d", name, before, after)
        finally:
            self._on_replaced(compaction, replica.log.config.file_delete_delay_ms)

    async def _wait_for(self, wait: Wait) -> None:
        began_ms = self._clock.monotonic_ms()
        await wait_on(self._disk, wait, self._syncer)
        if isinstance(wait, Cold | Sync):
            return  # that was the disk's time, not a core's
        self._owed_ms += self._clock.monotonic_ms() - began_ms
        if self._owed_ms >= PAUSE_MS:
            await asyncio.sleep(self._owed_ms / 1000)
            self._owed_ms = 0.0
