"""What a coordinator of groups does beside answering: load, keep time, follow the topics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial

from penstock.api.shard import Shard
from penstock.coordination.group import protocols
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import note_strays
from penstock.coordination.group.readers import Readers
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Turn
from penstock.metadata.cluster import Changed, Topic
from penstock.server.door import Door
from penstock.server.steps import carry_out, wait_on
from penstock.world.ports import Disk

log = logging.getLogger(__name__)

RETRY_MS = 1000
LOADS_AT_ONCE = 4
"""Each takes its turn between two looks at the connections."""
LOAD_WAIT_MS = 10_000
"""A change of topics waits for groups that are being loaded, but not for those that cannot be."""

Size = tuple[int, bytes]
"""How many partitions a topic has, and the id that members are shown."""


class Coordinating:
    def __init__(self, disk: Disk, door: Door) -> None:
        self._disk = disk
        self._door = door
        self._broker = door.broker
        self._groups = door.broker.groups
        self._clock = door.clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_ms = 0.0
        self._sizes: dict[str, Size] = {}
        """Of every topic, as the groups know it."""
        self._changed: set[str] = set()
        self._deleted: dict[str, int] = {}
        """Topics that the groups have yet to be told of; the deleted ones with the time."""
        self._has_fewer = False
        """Some of the topics have lost partitions since the last sweep."""
        self._loads: set[asyncio.Task[None]] = set()
        self._loading = asyncio.Semaphore(LOADS_AT_ONCE)
        self._sweep: asyncio.Task[None] | None = None
        self._groups.on_new_shard = self._load_soon
        self._groups.wake_by = self._wake_by

    def start(self) -> None:
        image = self._broker.image
        self._sizes = {topic.name: _size(topic) for topic in image.topics.values()}
        self._groups.follow()
        self._keep(asyncio.create_task(self._forget_old()))

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- loading

    def _load_soon(self, shard: Shard) -> None:
        task = self._keep(asyncio.create_task(self._load(shard)))
        self._loads.add(task)
        task.add_done_callback(self._loads.discard)

    async def _load(self, shard: Shard) -> None:
        await asyncio.sleep(shard.pause_ms / 1000)
        began_ms = self._clock.monotonic_ms()
        name = f"{shard.leader.topic}-{shard.leader.index}"
        while not shard.is_over:
            try:
                async with self._loading:
                    await carry_out(partial(wait_on, self._disk), shard.load())
            except Exception:
                log.exception("the groups of %s could not be loaded, which is tried again", name)
                await asyncio.sleep(RETRY_MS / 1000)
            else:
                took_ms = self._clock.monotonic_ms() - began_ms
                log.info("%d groups of %s loaded in %d ms", len(shard.groups), name, took_ms)
                return

    # -- time

    def _wake_by(self, time_ms: float) -> None:
        if self._timer is not None:
            if self._wakes_ms <= time_ms:
                return
            self._timer.cancel()
        self._wakes_ms = time_ms
        delay_ms = max(time_ms - self._clock.monotonic_ms(), 0)
        self._timer = self._door.loop.call_later(delay_ms / 1000, self._look)

    def _look(self) -> None:
        self._timer = None
        has_more = self._groups.expire()
        self._door.settle()
        due_ms = self._clock.monotonic_ms() if has_more else self._groups.next_due_ms
        if due_ms is not None:
            self._wake_by(due_ms)

    async def _forget_old(self) -> None:
        while True:
            await asyncio.sleep(self._broker.config.offsets_retention_check_interval_ms / 1000)
            await self._with_pauses(self._groups.forget_old(Pace()))

    async def _for_each(self, decide: Callable[[Turn, Group], None]) -> None:
        """For all groups, some at a time."""
        await self._with_pauses(self._groups.for_each(decide, Pace()))

    async def _with_pauses(self, work: Iterable[None]) -> None:
        for _ in work:
            self._door.settle()
            await asyncio.sleep(0)
        self._door.settle()

    # -- topics

    def follow(self, changed: Changed) -> None:
        """Of groups that share a topic's partitions, all have to share them anew."""
        self._groups.follow()
        for topic in changed.deleted.values():
            self._sizes.pop(topic.name, None)
            self._changed.add(topic.name)
            self._deleted[topic.name] = self._clock.now_ms()
        for topic in (*changed.created.values(), *changed.altered.values()):
            if self._sizes.get(topic.name) != _size(topic):
                self._sizes[topic.name] = _size(topic)
                self._changed.add(topic.name)
                self._has_fewer |= topic.id in changed.reduced
        if self._changed and (self._sweep is None or self._sweep.done()):
            self._sweep = self._keep(asyncio.create_task(self._tell_groups()))

    async def _tell_groups(self) -> None:
        """One sweep at a time, for all topics that have changed since the last one."""
        while self._changed:
            if self._loads:  # their groups are to know it too
                await asyncio.wait(self._loads, timeout=LOAD_WAIT_MS / 1000)
            changed, self._changed = self._changed, set()
            deleted, self._deleted = self._deleted, {}
            if self._has_fewer:
                self._has_fewer = False
                await self._for_each(note_strays)
            if deleted:
                await self._for_each(partial(protocols.topics_deleted, deleted=deleted))
            await self._share_anew(changed)

    async def _share_anew(self, changed: set[str]) -> None:
        pace = Pace()
        readers = Readers(changed, pace)

        def look(group: Group) -> Iterable[None]:
            return readers.look(group) if isinstance(group.body, Classic) else ()

        def decide(turn: Turn, group: Group) -> None:
            is_classic = isinstance(group.body, Classic)
            topics = readers.read(group) if is_classic else readers.topics
            protocols.topics_changed(turn, group, topics)

        await self._with_pauses(self._groups.for_each(decide, pace, look))


def _size(topic: Topic) -> Size:
    return topic.record.partitions, topic.shown_id
