"""Sets up the shares of share groups, and has them deleted, as the groups have decided.

A share is kept by a coordinator of its own, maybe on another broker. What is left to do is written
down with the group, so whatever fails is tried again, by the group's next coordinator if need be.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import islice

from penstock.api.broker import Broker
from penstock.api.shard import Shard
from penstock.api.sharing.states import UNCERTAIN
from penstock.coordination.group.groups import Group, Groups
from penstock.coordination.group.share import shares
from penstock.coordination.group.share.begun import Begun
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.share.names import ShareKey
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.server.door import Door

log = logging.getLogger(__name__)

ASKED_AT_ONCE = 16
"""For all groups together."""
SHARES_A_ROUND = 200
"""Of one group, after which what was done is noted."""
PAUSE_MS_MIN = 50
PAUSE_MS_MAX = 5_000
"""After what was not done; twice as long each time."""
COMMIT_MS_MAX = 1_000
"""After which it is looked again whether something is going to be committed here."""
THERE_ALREADY = ErrorCode.FENCED_STATE_EPOCH
"""The share is there, and somebody has set it to another offset since."""

Ask = Callable[[], Awaitable[None]]


class SettingUpShares:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._broker: Broker = door.broker
        self._is_over = False
        self._tasks: dict[tuple[Shard[Group], str], asyncio.Task[None]] = {}
        """By group: one at a time for each."""
        self._looking: dict[Shard[Group], None] = {}
        """That are going to be looked at soon."""
        self._asking = asyncio.Semaphore(ASKED_AT_ONCE)
        self._broker.groups.on_written = self._look_soon

    async def stop(self) -> None:
        self._is_over = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _look_soon(self, shard: Shard[Group]) -> None:
        """Once for all that is written in one pass."""
        assert isinstance(shard.kept, Groups)
        if shard.kept.at_work and shard not in self._looking:
            self._looking[shard] = None
            self._door.loop.call_soon(self._look, shard)

    def _look(self, shard: Shard[Group]) -> None:
        assert isinstance(shard.kept, Groups)
        self._looking.pop(shard, None)
        if self._is_over or shard.is_over:
            return
        for name in shard.kept.at_work:
            key = shard, name
            if key not in self._tasks:
                task = asyncio.create_task(self._see_to(shard, name))
                self._tasks[key] = task
                task.add_done_callback(partial(self._over, key))

    def _over(self, key: tuple[Shard[Group], str], task: asyncio.Task[None]) -> None:
        del self._tasks[key]
        self._look_soon(key[0])  # there may be more since its last look

    async def _see_to(self, shard: Shard[Group], name: str) -> None:
        """Until there is nothing left to do, or another broker does it."""
        pause_ms = PAUSE_MS_MIN
        while (group := self._at_work(shard, name)) is not None:
            try:
                has_gone_on = await self._go_on(shard, group)
            except Exception:
                log.exception("the shares of group %.300s are not set up yet", name)
                has_gone_on = False
            pause_ms = PAUSE_MS_MIN if has_gone_on else min(2 * pause_ms, PAUSE_MS_MAX)
            if not has_gone_on:
                await asyncio.sleep(pause_ms / 1000)

    def _at_work(self, shard: Shard[Group], name: str) -> Group | None:
        assert isinstance(shard.kept, Groups)
        if shard.is_over or name not in shard.kept.at_work:
            return None
        return shard.kept.get(name)

    async def _go_on(self, shard: Shard[Group], group: Group) -> bool:
        """Ask for some of what is left. Nothing that could be undone is told to others."""
        if not await self._committed(shard, group) or not isinstance(group.body, ShareGroup):
            return False
        begun = group.body.begun
        is_some_initialized = await self._initialize(shard, group, begun)
        is_some_deleted = await self._delete(shard, group, begun)
        return is_some_initialized or is_some_deleted

    async def _committed(self, shard: Shard[Group], group: Group) -> bool:
        rest = shard.rest(group)
        if not rest.is_committed:
            reached: asyncio.Future[None] = self._door.loop.create_future()
            shard.leader.committed.watch(rest.end, partial(_wake, reached))
            await asyncio.wait([reached], timeout=COMMIT_MS_MAX / 1000)
        return rest.is_committed and shard.is_true and not shard.is_held_up

    async def _initialize(self, shard: Shard[Group], group: Group, begun: Begun) -> bool:
        wanted = list(islice(begun.to_initialize(), SHARES_A_ROUND))
        if not wanted:
            return False
        ask = self._broker.share_states.initialize
        codes = await self._ask_each(
            group.name,
            [
                partial(ask, ShareKey(group.name, topic_id, partition), 0, start)
                for topic_id, partition, start in wanted
            ],
        )
        done: dict[bytes, frozenset[int]] = {}
        for (topic_id, partition, _), code in zip(wanted, codes, strict=True):
            if code in (ErrorCode.NONE, THERE_ALREADY):
                done[topic_id] = done.get(topic_id, frozenset()) | {partition}
        # without any done too: topics that are gone are forgotten by and by
        self._note(shard, group, lambda turn, group: shares.initialized(turn, group, done))
        return bool(done)

    async def _delete(self, shard: Shard[Group], group: Group, begun: Begun) -> bool:
        """A topic that is gone has taken its shares with it."""
        gone = [each for each in begun.deleting if await self._is_gone(group.name, each)]
        if gone:
            self._note(shard, group, lambda turn, group: shares.deleted(turn, group, gone))
        return bool(gone)

    async def _is_gone(self, group: str, topic_id: bytes) -> bool:
        topic = self._broker.image.topic_by_id(topic_id)
        partitions = iter(range(topic.record.partitions if topic else 0))
        ask = self._broker.share_states.delete
        while some := list(islice(partitions, SHARES_A_ROUND)):
            asks = [partial(ask, ShareKey(group, topic_id, partition)) for partition in some]
            if any(await self._ask_each(group, asks)):
                return False
        return True

    def _note(
        self, shard: Shard[Group], group: Group, decide: Callable[[Turn, Group], None]
    ) -> None:
        """If it is still ours to note: else it is asked for again, which does no harm."""
        if self._at_work(shard, group.name) is group and shard.is_true and not shard.is_held_up:
            shard.look_after(group, decide)
            self._door.settle()

    async def _ask_each(self, group: str, asks: Sequence[Ask]) -> list[ErrorCode]:
        return await asyncio.gather(*(self._ask(group, each) for each in asks))

    async def _ask(self, group: str, ask: Ask) -> ErrorCode:
        async with self._asking:
            try:
                await ask()
            except Refused as refused:
                if refused.code not in UNCERTAIN | {THERE_ALREADY}:
                    log.warning("a share of group %.300s is refused: %s", group, refused.message)
                return refused.code
        return ErrorCode.NONE


def _wake(reached: asyncio.Future[None]) -> None:
    if not reached.done():
        reached.set_result(None)
