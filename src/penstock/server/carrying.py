"""Held records are carried forward before retention drops the segment that they are in.

They are appended anew, with the time at which they are due and the id that they have had. A segment
of which they are the greater part stays instead: else a log that is too large would copy the same
records again and again, and be no smaller for it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from penstock.delays.copies import Copies, Copy, carried, portions
from penstock.delays.folding import off_loop
from penstock.delays.pending import Entry, Pending
from penstock.delays.schedule import Schedule
from penstock.errors import Refused
from penstock.log.retention import Hold, doomed_to
from penstock.log.segment import Segment
from penstock.log.steps import Steps
from penstock.replication.leader import Leader
from penstock.server.door import Door
from penstock.wire.batch import read_header

log = logging.getLogger(__name__)

AT_ONCE = 1000
WAIT_MS = 10_000
"""For what was carried to be committed; else the segment stays until the next time."""


class Carrying:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._broker = door.broker

    async def make_way(self, leader: Leader, now_ms: int, hold: Hold | None) -> int | None:
        """The first offset that must not go, once what can be carried forward has been."""
        partition, schedules = leader.log, self._broker.schedules
        if not partition.config.delayed_delivery:
            return None
        if not schedules.knows_all(leader):
            return partition.start_offset
        schedule = schedules.of(partition)
        committed = leader.high_watermark
        doomed: int = await self._broker.in_steps(doomed_to(partition, now_ms, committed, hold))
        if doomed <= partition.start_offset:
            return doomed
        lost: list[Entry] = []
        with suppress(Refused):
            await self._carry_all(leader, schedule, doomed, lost)
        lowest = schedule.lowest_place(sorted(entry.id for entry in lost))
        known = min(doomed, schedule.offset)  # what lies behind may be held
        end = known if lowest is None else min(known, lowest)
        for entry in lost:
            if entry.place < end:
                text = "%s-%d: the record at %d was due, cannot be read, and goes with its segment"
                log.error(text, leader.topic, leader.index, entry.place)
        return end

    async def _carry_all(
        self, leader: Leader, schedule: Schedule, doomed: int, lost: list[Entry]
    ) -> None:
        kept = await self._broker.in_steps(_below(schedule, doomed))
        kept.sort(key=lambda entry: entry.place)
        for segment, end in _segments_below(leader, doomed):
            entries = [entry for entry in kept if segment.base <= entry.place < end]
            if not entries:
                continue
            size = await self._broker.in_steps(self._size(leader, entries, segment.size // 2))
            if size > segment.size // 2:
                text = "%s-%d: segment %d stays, as most of it is still to be delivered"
                log.info(text, leader.topic, leader.index, segment.base)
                return
            await self._broker.in_steps(self._carry(leader, schedule, entries, lost))
        await self._committed(leader, leader.log.end_offset)
        await self._broker.in_steps(self._broker.schedules.caught_up(leader))

    def _size(self, leader: Leader, entries: list[Entry], limit: int) -> Steps[int]:
        """Of what would be copied, about, as far as it is within a limit."""
        size = 0
        while entries and size <= limit:
            copies = yield from _read(leader, entries)
            entries = entries[len(copies.wanted) :]
            size += sum(copy.size for copy in copies.found.values())
        return size

    def _carry(
        self, leader: Leader, schedule: Schedule, entries: list[Entry], lost: list[Entry]
    ) -> Steps[None]:
        """What was due, and cannot be read now either, is lost: it would keep its segment, and all
        that comes after it, for ever. What is not due yet has until then."""
        epoch, pending = leader.epoch, schedule.pending
        while entries:
            copies = yield from _read(leader, entries)
            entries = entries[len(copies.wanted) :]
            lost += (each for each in copies.missing if pending.is_unreadable(each.id))
            for copy in copies.found.values():
                pending.try_again(copy.entry.id)
            for some in portions(copies.in_order()):
                waiting = [copy for copy in some if _is_as_read(schedule.pending, copy)]
                if waiting:
                    yield from self._append(leader, epoch, waiting)

    def _append(self, leader: Leader, epoch: int, some: list[Copy]) -> Steps[None]:
        now_ms = self._door.clock.now_ms()
        batch = yield from off_loop(lambda: carried(some, now_ms))
        if leader.over is not None or leader.epoch != epoch or not self._broker.has_lease():
            return
        pending = self._broker.schedules.of(leader.log).pending
        if all(_is_as_read(pending, copy) for copy in some):  # else the next time
            leader.log.append(batch, read_header(batch), now_ms, epoch)
            self._broker.appended(leader)
            self._door.settle()

    async def _committed(self, leader: Leader, end: int) -> None:
        reached = asyncio.Event()
        if leader.high_watermark < end:
            leader.committed.watch(end, reached.set)
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT_MS / 1000):
                    await reached.wait()


def _segments_below(leader: Leader, doomed: int) -> list[tuple[Segment, int]]:
    """With where each ends."""
    segments = leader.log.segments
    ends = [*(each.base for each in segments[1:]), leader.log.end_offset]
    pairs = zip(list(segments), ends, strict=True)
    return [(segment, end) for segment, end in pairs if end <= doomed]


def _below(schedule: Schedule, offset: int) -> Steps[list[Entry]]:
    """A step for each block; what comes meanwhile has the next round."""
    found: list[Entry] = []
    for columns in list(schedule.pending.blocks()):
        found += [Entry(*row) for row in zip(*columns, strict=True) if row[2] < offset]
        yield None
    return found


def _is_as_read(pending: Pending, copy: Copy) -> bool:
    """One that repeats may have been delivered since: it must not be held until then again."""
    return pending.is_waiting(copy.entry.id) and pending.get(copy.entry.id) == copy.entry


def _read(leader: Leader, entries: list[Entry]) -> Steps[Copies]:
    copies = Copies(leader.log, leader.high_watermark, entries[:AT_ONCE], None)
    yield from copies.read()
    return copies
