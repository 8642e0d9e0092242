"""What groups need beside answers: old offsets go, topics that change are shared anew, and shares
are set up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial

from penstock.coordination.group import protocols
from penstock.coordination.group.aging import Aging
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import note_strays
from penstock.coordination.group.readers import Readers
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Turn
from penstock.metadata.cluster import Changed, Topic
from penstock.server.coordinating import Coordinating
from penstock.server.door import Door
from penstock.server.setting_up_shares import SettingUpShares
from penstock.world.ports import Disk

Size = tuple[int, bytes]
"""How many partitions a topic has, and the id that members are shown."""


class GroupUpkeep:
    def __init__(self, disk: Disk, door: Door) -> None:
        self._broker = door.broker
        self._groups = door.broker.groups
        self._clock = door.clock
        self._coordinating = Coordinating(disk, door, self._groups)
        self._setting_up = SettingUpShares(door)
        self._sizes: dict[str, Size] = {}
        """Of every topic, as the groups know it."""
        self._changed: set[str] = set()
        self._deleted: dict[str, int] = {}
        """Topics that the groups have yet to be told of; the deleted ones with the time."""
        self._has_fewer = False
        """Some of the topics have lost partitions since the last sweep."""
        self._sweep: asyncio.Task[None] | None = None

    def start(self) -> None:
        image = self._broker.image
        self._sizes = {topic.name: _size(topic) for topic in image.readable.topics.values()}
        self._groups.follow()
        self._coordinating.keep(asyncio.create_task(self._forget_old()))

    async def stop(self) -> None:
        await self._coordinating.stop()
        await self._setting_up.stop()

    async def _forget_old(self) -> None:
        while True:
            await asyncio.sleep(self._broker.config.offsets_retention_check_interval_ms / 1000)
            await self._coordinating.with_pauses(self._groups.sweep(Aging, Pace()))

    async def _for_each(self, decide: Callable[[Turn, Group], None]) -> None:
        """For all groups, some at a time."""
        await self._coordinating.with_pauses(self._groups.for_each(decide, Pace()))

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
        for name, view in changed.views.items():
            self._follow_view(name, view)
        if self._changed and (self._sweep is None or self._sweep.done()):
            self._sweep = self._coordinating.keep(asyncio.create_task(self._tell_groups()))

    def _follow_view(self, name: str, view: Topic | None) -> None:
        if view is None:
            self._sizes.pop(name, None)
            self._deleted[name] = self._clock.now_ms()
        elif self._sizes.get(name) == _size(view):
            return
        else:
            self._has_fewer |= view.shown_id != view.id
            self._sizes[name] = _size(view)
        self._changed.add(name)

    async def _tell_groups(self) -> None:
        """One sweep at a time, for all topics that have changed since the last one."""
        while self._changed:
            await self._coordinating.until_loaded()  # their groups are to know it too
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

        await self._coordinating.with_pauses(self._groups.for_each(decide, pace, look))


def _size(topic: Topic) -> Size:
    return topic.record.partitions, topic.shown_id
