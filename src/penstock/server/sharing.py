"""What shared partitions need beside answers: to be read, stored, and looked at when locks end."""

from __future__ import annotations

import asyncio
import logging
from typing import NamedTuple

from penstock.api.sharing.shared import Shared
from penstock.api.sharing.states import UNCERTAIN
from penstock.config import offset_reset
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.state import State
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.cluster import Changed
from penstock.server.burying import Burying
from penstock.server.door import Door
from penstock.sharing.partition import NOT_STORED, SharePartition
from penstock.sharing.restoring import Extent, Stored, has_lost_records, restore
from penstock.sharing.writes import Write
from penstock.world.ports import Network

log = logging.getLogger(__name__)

PAUSE_MS_MIN = 20
PAUSE_MS_MAX = 2000
"""Before something is tried again; twice as long each time."""
LEFT_MS = 30_000
"""After which one that could not be read, and that nobody has asked for, is not tried again."""
LOOK_ROUND_MS = 60_000
UNUSED_MS = 600_000
"""After which one that nobody has asked for is forgotten."""


class _Timer(NamedTuple):
    """uvloop's own does not know when it is, if that is at once."""

    when_s: float
    handle: asyncio.Handle


class Sharing:
    def __init__(self, network: Network, door: Door) -> None:
        self._door = door
        self._burying = Burying(network, door, self._changed)
        self._broker = door.broker
        self._shared = door.broker.shared
        self._tasks: set[asyncio.Task[None]] = set()
        self._storing: set[Shared] = set()
        self._timers: dict[Shared, _Timer] = {}
        self._shared.on_new = self._take_up
        self._shared.on_changed = self._changed
        self._shared.on_return = self._look_again
        self._shared.wake_soon = self._wake_soon

    def start(self) -> None:
        self._keep(asyncio.create_task(self._look_round()))

    async def stop(self) -> None:
        for timer in self._timers.values():
            timer.handle.cancel()
        self._timers.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._burying.stop()

    def follow(self, changed: Changed) -> None:
        """Others may lead now what was shared here."""
        if changed.partitions or changed.deleted or changed.reduced:
            self._shared.follow()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- reading

    def _take_up(self, shared: Shared) -> None:
        self._keep(asyncio.create_task(self._begin(shared)))

    async def _begin(self, shared: Shared) -> None:
        pause_ms = PAUSE_MS_MIN
        while shared.is_current:
            try:
                share = await self._read(shared)
            except Refused as refused:
                if refused.code is ErrorCode.FENCED_LEADER_EPOCH:
                    self._shared.drop(shared)  # another one leads, or is about to
                    return
                _tell_once(shared, refused, pause_ms)
                if self._is_unused(shared, LEFT_MS):
                    break  # it may be of a group that was never there
            except Exception:
                log.exception("share %s could not be taken up", shared.key.name)
            else:
                if shared.is_current:
                    shared.begin(share)
                    self._changed(shared)
                return
            await asyncio.sleep(pause_ms / 1000)
            pause_ms = min(2 * pause_ms, PAUSE_MS_MAX)
        self._shared.drop(shared)

    async def _read(self, shared: Shared) -> SharePartition:
        states, partition = self._broker.share_states, shared.leader.log
        state = await states.read(shared.key, shared.epoch)
        extent = Extent(partition.start_offset, partition.end_offset)
        if has_lost_records(_stored(state), extent):
            log.warning(
                "share %s is at records that %s-%d does not have any more: it begins anew at %d",
                shared.key.name,
                shared.leader.topic,
                shared.leader.index,
                extent.end,
            )
            await states.initialize(shared.key, state.state_epoch + 1, extent.end)
            state = await states.read(shared.key, shared.epoch)
        begun = state.start_offset != NOT_STORED
        beginning = 0 if begun else await self._broker.in_steps(self._beginning(shared))
        return restore(_stored(state), shared.limits, extent, beginning)

    def _look_again(self, shared: Shared) -> None:
        self._keep(asyncio.create_task(self._drop_if_other(shared)))

    async def _drop_if_other(self, shared: Shared) -> None:
        """While its group had no members somebody may have deleted the group, or set it to another
        offset. A pause of hours must not keep that from being noticed."""
        state = (await self._broker.share_states.summaries([shared.key]))[shared.key]
        share = shared.share
        if share is None or not shared.is_current:
            return
        if isinstance(state, Refused):
            shared.was_left = True  # to be looked at with the next fetch
        elif state.state_epoch != share.state_epoch or state.start_offset < share.stored_start:
            log.info("share %s is read again: it was set to another offset", shared.key.name)
            self._shared.drop(shared)

    def _beginning(self, shared: Shared) -> Steps[int]:
        """Where the group's settings want it to begin."""
        leader = shared.leader
        config = self._broker.image.settings.of_group(shared.key.group)
        now_ms = self._door.clock.now_ms()
        timestamp = offset_reset.timestamp_of(config.share_auto_offset_reset, now_ms)
        if timestamp == offset_reset.EARLIEST_TIMESTAMP:
            return leader.log.start_offset
        if timestamp == offset_reset.LATEST_TIMESTAMP:
            return leader.high_watermark
        found = yield from leader.log.offset_for_timestamp(timestamp, leader.high_watermark)
        return leader.high_watermark if found is None else found.offset

    # -- storing

    def _changed(self, shared: Shared) -> None:
        share = shared.share
        if share is None or shared.is_over:
            return
        self._watch_locks(shared, share)
        if shared not in self._storing and share.has_changes:
            self._storing.add(shared)
            self._keep(asyncio.create_task(self._store(shared, share)))
        self._burying.look_at(shared)

    async def _store(self, shared: Shared, share: SharePartition) -> None:
        try:
            pause_ms = PAUSE_MS_MIN
            while shared.is_current and (write := share.take_write()) is not None:
                if await self._is_stored(shared, share, write):
                    pause_ms = PAUSE_MS_MIN
                else:
                    await asyncio.sleep(pause_ms / 1000)
                    pause_ms = min(2 * pause_ms, PAUSE_MS_MAX)
        except Exception:
            log.exception("share %s could not be stored", shared.key.name)
            self._shared.drop(shared)
        finally:
            self._storing.discard(shared)

    async def _is_stored(self, shared: Shared, share: SharePartition, write: Write) -> bool:
        try:
            await self._broker.share_states.write(shared.key, _written(shared, write))
        except Refused as refused:
            share.undo(write)
            if refused.code in UNCERTAIN:
                shared.stored.fire()
            else:  # somebody has set it to another offset, say, or deleted it: read it again
                log.info("share %s is read again: %s", shared.key.name, refused.message)
                self._shared.drop(shared)
            return False
        share.keep(write)
        shared.stored.fire()
        shared.wake()
        self._watch_locks(shared, share)
        self._burying.look_at(shared)
        return True

    # -- time

    def _watch_locks(self, shared: Shared, share: SharePartition) -> None:
        due_ms = share.next_due_ms
        timer = self._timers.get(shared)
        if due_ms is None or shared.is_over:
            return
        delay_s = max(due_ms - self._door.clock.monotonic_ms(), 0) / 1000
        loop = self._door.loop
        when_s = loop.time() + delay_s
        if timer is not None:
            if timer.when_s <= when_s:
                return
            timer.handle.cancel()
        handle = loop.call_later(delay_s, self._locks_end, shared)
        self._timers[shared] = _Timer(when_s, handle)

    def _locks_end(self, shared: Shared) -> None:
        self._timers.pop(shared, None)
        share = shared.share
        if share is None or not shared.is_current:
            return
        share.expire(self._door.clock.monotonic_ms())
        shared.wake()  # a request may have ended these locks just before, for itself alone
        self._changed(shared)

    def _wake_soon(self, shared: Shared) -> None:
        self._door.loop.call_soon(shared.wake)

    async def _look_round(self) -> None:
        while True:
            await asyncio.sleep(LOOK_ROUND_MS / 1000)
            self.forget_unused()

    def forget_unused(self) -> None:
        for shared in self._shared:
            if self._is_unused(shared, UNUSED_MS):
                self._shared.drop(shared)

    def _is_unused(self, shared: Shared, for_ms: int) -> bool:
        long_ago = self._door.clock.monotonic_ms() - for_ms
        return shared.used_ms < long_ago and not shared.is_in_use


def _stored(state: State) -> Stored:
    return Stored(state.state_epoch, state.start_offset, state.batches)


def _written(shared: Shared, write: Write) -> Written:
    return Written(
        write.state_epoch, shared.epoch, write.start_offset, write.complete_count, write.batches
    )


def _tell_once(shared: Shared, refused: Refused, pause_ms: int) -> None:
    """After a while: at first that is how it has to be."""
    if pause_ms < PAUSE_MS_MAX <= 2 * pause_ms:
        log.warning("share %s cannot be taken up yet: %s", shared.key.name, refused.message)
