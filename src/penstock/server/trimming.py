"""Queues whose messages go away once all have accepted them (`queue.delete.on.ack`).

Whoever leads a partition asks now and then which share groups there are to its topic, and how far
each is, by what is stored of it: what lies below the lowest of them goes, as if by retention. A
group that has not begun, or of which anything is not known, holds all of it, and without a group
nothing goes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence

from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import State
from penstock.errors import Malformed, Refused
from penstock.metadata.cluster import Topic
from penstock.replication.leader import Leader
from penstock.server.archive_hold import ArchiveHold
from penstock.server.asking import Asking
from penstock.server.asking_itself import AskingItself
from penstock.server.door import Door
from penstock.server.surveying import Surveyor
from penstock.world.ports import Network

log = logging.getLogger(__name__)

ROUND_MS = 5000
PLACES_AT_ONCE = 2000
"""Groups times partitions."""
TELL_EVERY_MS = 3_600_000
TOLD_MAX = 1000
NOWHERE = -1

Starts = Mapping[str, int]
"""By group, up to where it has done with a partition; -1 if that is not known."""


class Trimming:
    def __init__(self, network: Network, door: Door) -> None:
        self._door = door
        self._broker = door.broker
        self._asking = Asking(network, door, AskingItself(door))
        self._surveyor = Surveyor(
            door.broker.image, self._asking, lambda: self._broker.share_states
        )
        self._hold = ArchiveHold(network, door)
        self._task: asyncio.Task[None] | None = None
        self._told_ms: dict[str, float] = {}

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._asking.close()
        self._hold.close()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(ROUND_MS / 1000)
            await self.trim_all()

    async def trim_all(self) -> None:
        for topic, leaders in self._queues():
            try:
                await self._trim(topic, leaders)
            except (OSError, TimeoutError, Malformed, Refused) as problem:
                why = str(problem) or "no answer"
                self._tell(topic.name, "%s: nothing is deleted for now: %s", topic.name, why)
            except Exception:  # a bug; the other topics must not grow for it
                log.exception("%s could not be trimmed", topic.name)
        self._hold.end_round()

    def _queues(self) -> Iterator[tuple[Topic, list[Leader]]]:
        """With partitions that have something to be deleted, for all that is known here."""
        found: dict[bytes, list[Leader]] = {}
        for leader in self._broker.open_leaders():
            config = leader.log.config
            if config.deletes_on_ack and leader.log.start_offset < leader.high_watermark:
                found.setdefault(leader.topic_id, []).append(leader)
        held = {
            (shared.key.topic_id, shared.key.partition)
            for shared in self._broker.shared
            if shared.share is not None
            and shared.share.stored_start <= shared.leader.log.start_offset
        }
        for topic_id, leaders in found.items():
            topic = self._broker.image.topic_by_id(topic_id)
            wanted = [each for each in leaders if (topic_id, each.index) not in held]
            if topic is not None and wanted:
                yield topic, wanted

    async def _trim(self, topic: Topic, leaders: Sequence[Leader]) -> None:
        groups = await self._surveyor.share_groups(topic.name)
        if not groups:
            return
        at_once = max(1, PLACES_AT_ONCE // len(groups))
        for first in range(0, len(leaders), at_once):
            some = [(each, each.epoch) for each in leaders[first : first + at_once]]
            keys = [ShareKey(name, topic.id, each.index) for each, _ in some for name in groups]
            states = await self._broker.share_states.summaries(keys)
            for leader, epoch in some:
                starts = {
                    name: _start(states[ShareKey(name, topic.id, leader.index)]) for name in groups
                }
                await self._trim_one(leader, epoch, starts)
                self._tell_abandoned(leader, groups, starts)

    async def _trim_one(self, leader: Leader, epoch: int, starts: Starts) -> None:
        """What an archive waits for stays, as it does with retention."""
        hold = await self._hold.of(leader)
        if leader.over is not None or leader.epoch != epoch:
            return
        offset = self._above_held(leader, min(*starts.values(), leader.high_watermark))
        if hold is not None:
            offset = min(offset, hold.archived)
        if offset > leader.log.start_offset:
            self._broker.advance_start(leader, offset)

    def _above_held(self, leader: Leader, offset: int) -> int:
        """What is held back until it is due is nobody's yet, and all groups have passed it."""
        if not leader.log.config.delayed_delivery:
            return offset
        schedule = self._broker.schedules.of(leader.log)
        if schedule.offset < offset:
            return leader.log.start_offset  # not all of it is known
        lowest = schedule.lowest_place()
        return offset if lowest is None else min(offset, lowest)

    def _tell_abandoned(self, leader: Leader, groups: Mapping[str, bool], starts: Starts) -> None:
        """Somebody has to know why a queue grows."""
        for name, start in starts.items():
            if not groups[name] and start < leader.high_watermark:
                self._tell(
                    f"{leader.topic} {name}",
                    "%s: nobody reads it for group %s, which keeps all from offset %d of partition "
                    "%d on: start its members, or delete the group",
                    leader.topic,
                    name,
                    max(start, leader.log.start_offset),
                    leader.index,
                )

    def _tell(self, about: str, text: str, *values: object) -> None:
        """Once in a while."""
        now_ms = self._door.clock.monotonic_ms()
        if now_ms < self._told_ms.get(about, 0.0):
            return
        if len(self._told_ms) >= TOLD_MAX:
            self._told_ms.clear()
        self._told_ms[about] = now_ms + TELL_EVERY_MS
        log.warning(text, *values)


def _start(state: State | Refused) -> int:
    return NOWHERE if isinstance(state, Refused) else state.start_offset
