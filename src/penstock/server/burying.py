"""What share groups give up is written to their topics of dead letters, and only then finished.

What cannot be written waits, and is tried again: it counts as in flight, so a group whose dead
letters cannot be written comes to a stop one day, and loses nothing. Only where its settings name
no topic that could ever take them, they are dropped, and the log says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from penstock.api.sharing.shared import Shared
from penstock.errors import Malformed, Refused
from penstock.metadata.changes import create_topic
from penstock.metadata.cluster import Topic
from penstock.metadata.dead_letters import OPTED_IN, NotNow, NoTopic, Nowhere, topic_for
from penstock.server.door import Door
from penstock.server.letter_post import Carrier, Post, TooLarge
from penstock.sharing.letters import Letter, singly, together
from penstock.sharing.partition import SharePartition
from penstock.world.ports import Network

log = logging.getLogger(__name__)

SHARES_AT_ONCE = 8
"""That read records for it and wait for an answer. Others wait for their turn."""
PAUSE_MS_MIN = 100
PAUSE_MS_MAX = 10_000
"""Before something is tried again; twice as long each time."""
TELL_EVERY_MS = 60_000
TOLD_MAX = 1000


class Burying:
    def __init__(self, network: Network, door: Door, changed: Callable[[Shared], None]) -> None:
        """`changed` is told of a share with something to be stored."""
        self._door = door
        self._broker = door.broker
        self._changed = changed
        self._carrier = Carrier(network, door)
        self._tasks: dict[Shared, asyncio.Task[None]] = {}
        self._turn = asyncio.Semaphore(SHARES_AT_ONCE)
        self._told_ms: dict[str, float] = {}
        """By group."""

    def look_at(self, shared: Shared) -> None:
        share = shared.share
        if share is not None and share.has_dead_letters and shared not in self._tasks:
            self._tasks[shared] = asyncio.create_task(self._bury(shared, share))

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._carrier.close()

    async def _bury(self, shared: Shared, share: SharePartition) -> None:
        post, pause_ms = Post(self._carrier, shared), PAUSE_MS_MIN
        letters: list[Letter] = []
        large: list[Letter] = []
        """Their topic does not take them as it is."""
        try:
            while shared.is_current:
                letters += singly(share.take_dead_letters())
                if not letters and not large:
                    break
                if letters and await self._bury_some(shared, share, post, letters, large):
                    pause_ms = PAUSE_MS_MIN
                    continue
                await asyncio.sleep(pause_ms / 1000)
                pause_ms = min(2 * pause_ms, PAUSE_MS_MAX)
                letters, large = letters + large, []
        finally:
            del self._tasks[shared]

    async def _bury_some(
        self,
        shared: Shared,
        share: SharePartition,
        post: Post,
        letters: list[Letter],
        large: list[Letter],
    ) -> bool:
        """Whether to go on at once."""
        try:
            async with self._turn:
                count = await post.send(await self._topic(shared.key.group), letters)
        except Nowhere as problem:
            count = len(letters)
            log.error("group %s: %d records are dropped: %s", shared.key.group, count, problem)
        except TooLarge as problem:
            self._tell(shared, str(problem))
            large.append(letters.pop(0))
            return True
        except (NotNow, OSError, TimeoutError, Malformed, Refused) as problem:
            self._tell(shared, str(problem) or "no answer")
            return False
        except Exception:  # a bug; the others must not be lost with it
            log.exception("group %s: dead letters could not be written", shared.key.group)
            return False
        self._are_buried(shared, share, letters[:count])
        del letters[:count]
        return True

    def _are_buried(self, shared: Shared, share: SharePartition, letters: Sequence[Letter]) -> None:
        for first, last in together(letters):
            share.buried(first, last)
        self._changed(shared)

    async def _topic(self, group: str) -> Topic:
        image = self._broker.image
        try:
            return topic_for(image, group)
        except NoTopic:
            if not self._broker.config.creates_dead_letter_topics:
                raise
        await self._create(image.settings.of_group(group).dead_letter_topic)
        return topic_for(image, group)

    async def _create(self, name: str) -> None:
        config, now_ms = self._broker.config, self._door.clock.now_ms()
        topic_id = self._broker.chance.uuid()
        await self._door.change(
            lambda image: create_topic(
                image,
                name,
                topic_id=topic_id,
                now_ms=now_ms,
                partitions=config.num_partitions,
                replication=config.default_replication_factor,
                configs={OPTED_IN: "true"},
            )
        )

    def _tell(self, shared: Shared, problem: str) -> None:
        """Once in a while, for all partitions of the group."""
        group, now_ms = shared.key.group, self._door.clock.monotonic_ms()
        if now_ms < self._told_ms.get(group, 0.0):
            return
        if len(self._told_ms) >= TOLD_MAX:
            self._told_ms.clear()
        self._told_ms[group] = now_ms + TELL_EVERY_MS
        log.warning(
            "group %s: dead letters of %s-%d wait to be written: %s",
            group,
            shared.leader.topic,
            shared.leader.index,
            problem,
        )
