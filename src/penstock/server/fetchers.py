"""Followers at work: for each broker that leads something of ours, a task that copies from it.

One request asks for all partitions that a broker leads. What it brings is written and, where the
topic wants that, synced, before the next one tells the leader that we have it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice

from penstock.api.broker import Broker
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.replication.fetch_plan import FetchPlan, Place
from penstock.replication.follower import Follower
from penstock.replication.throttle import Throttle
from penstock.server.door import Door
from penstock.server.handshake import connect_to
from penstock.server.peer import Peer
from penstock.settings import LONG_MAX
from penstock.wire.messages.k01_fetch import FetchResponse, PartitionData
from penstock.world.ports import Network

log = logging.getLogger(__name__)

VERSION = 17
"""Of Fetch: with topic ids and the follower's registration."""
ANSWER_MS_MAX = 30_000
RETRY_MS = 100
LOGS_A_SLICE = 20
OPEN_AGAIN_MS = 1000
PAUSE_MS = 200
"""For a partition that its leader refuses, which is mostly because one of us is behind the news."""
DISK_PAUSE_MS = 1000
"""For one that our own disk refuses."""


class Fetchers:
    def __init__(self, network: Network, door: Door) -> None:
        self._network = network
        self._door = door
        self._broker = door.broker
        self._fetchers: dict[int, Fetcher] = {}
        self._throttle = Throttle()
        self._sources: dict[Place, int] = {}
        """Whom each partition is copied from."""
        self._changed: dict[Place, None] = {}
        self._sorting: asyncio.Task[None] | None = None

    def look_at(self, places: Iterable[Place]) -> None:
        """Partitions that may be followed from now on, or under another leader, or no more."""
        self._changed.update(dict.fromkeys(places))
        if self._changed and (self._sorting is None or self._sorting.done()):
            self._sorting = asyncio.create_task(self._sort(), name="followers")

    async def _sort(self) -> None:
        """In slices: a log is opened for each, and there may be thousands."""
        while places := list(islice(self._changed, LOGS_A_SLICE)):
            for place in places:
                del self._changed[place]
                self._sort_one(place)
            await asyncio.sleep(0)

    def _sort_one(self, place: Place) -> None:
        before = self._sources.pop(place, None)
        if before is not None:
            self._fetchers[before].drop(place)
        if not self._broker.is_follower(place):
            return
        try:
            follower = self._broker.follower(place)
        except Refused as refused:
            log.info("a partition cannot be followed yet: %s", refused.message)
            self._door.loop.call_later(OPEN_AGAIN_MS / 1000, self.look_at, [place])
            return
        leader_id = follower.leader_id
        self._sources[place] = leader_id
        if leader_id not in self._fetchers:
            throttle = self._throttle
            self._fetchers[leader_id] = Fetcher(self._network, self._door, leader_id, throttle)
        self._fetchers[leader_id].add(place, follower)

    async def stop(self) -> None:
        if self._sorting is not None:
            self._sorting.cancel()
            await asyncio.wait([self._sorting])
        for fetcher in self._fetchers.values():
            await fetcher.stop()


class Fetcher:
    def __init__(self, network: Network, door: Door, leader_id: int, throttle: Throttle) -> None:
        self._network = network
        self._door = door
        self._broker: Broker = door.broker
        self._leader_id = leader_id
        self._throttle = throttle
        """Of all fetchers of this broker together."""
        config = door.config
        self._plan = FetchPlan(
            config.node_id,
            max_wait_ms=config.replica_fetch_wait_max_ms,
            max_bytes=config.replica_fetch_response_max_bytes,
            partition_max_bytes=config.replica_fetch_max_bytes,
        )
        self._unsettled: dict[Place, Follower] = {}
        """Of these there is something that does not count yet."""
        self._paused: dict[Place, tuple[Follower, float]] = {}
        """Refused by the leader, or by our disk, or held back; until when."""
        self._waiting: set[Place] = set()
        """Of these it was said, until they go on."""
        self._ends: dict[Place, int] = {}
        """Where logs should end after what the last answer brought."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_told = False

    def add(self, place: Place, follower: Follower) -> None:
        self._plan.add(place, follower)
        self._note_unsettled(place, follower)
        self._wake.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"copying from {self._leader_id}")

    def drop(self, place: Place) -> None:
        self._plan.drop(place)
        self._paused.pop(place, None)
        self._waiting.discard(place)
        self._unsettled.pop(place, None)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            try:
                await self._copy()
            except (OSError, TimeoutError, Malformed, Refused) as problem:
                self._tell(problem)
            except Exception:
                log.exception("copying from broker %d failed", self._leader_id)
            await asyncio.sleep(RETRY_MS / 1000)

    def _tell(self, problem: Exception) -> None:
        """Once, until it works again."""
        if not self._is_told:
            log.warning("cannot copy from broker %d: %s", self._leader_id, problem)
        self._is_told = True

    async def _copy(self) -> None:
        """Over one connection, for as long as it lasts."""
        await self._until(lambda: len(self._plan) > 0)
        peer = await self._connected()
        self._plan.reset()
        try:
            while True:
                await self._until(self._has_something)
                if self._unsettled:
                    self._door.settle()
                    await self._until(self._is_settled)
                await self._ask(peer)
                self._is_told = False
        finally:
            peer.close()

    async def _connected(self) -> Peer:
        return await connect_to(self._network, self._door, self._leader_id)

    async def _ask(self, peer: Peer) -> None:
        request = self._plan.request(self._broker.epoch)
        deadlines = self._door.deadlines
        deadlines.begin(peer, ANSWER_MS_MAX)
        try:
            await peer.ask(request, VERSION, FetchResponse, self._take)
        finally:
            deadlines.end(peer, ANSWER_MS_MAX)

    # -- answers

    def _take(self, answer: FetchResponse) -> None:
        if answer.error_code:
            raise Refused(ErrorCode(answer.error_code), "the leader refuses to be copied from")
        try:
            self._take_all(answer)
        finally:
            self._door.settle()  # what was taken lies in a buffer that is used again
        self._plan.answered(answer.session_id)
        self._pause_unwritten()

    def _take_all(self, answer: FetchResponse) -> None:
        now_ms = self._door.clock.now_ms()
        self._ends.clear()
        for topic in answer.responses:
            for part in topic.partitions:
                place = topic.topic_id, part.partition_index
                follower = self._plan.asked(place)
                if follower is not None and follower.over is None:
                    self._take_one(place, follower, part, now_ms)

    def _take_one(self, place: Place, follower: Follower, part: PartitionData, now_ms: int) -> None:
        try:
            self._broker.check_room()
            has_new = follower.take(part, now_ms)
        except (Refused, OSError) as problem:
            self._note_unsettled(place, follower)  # batches before a bad one were taken
            self._pause(place, follower, str(problem))
            return
        self._ends[place] = follower.log.end_offset
        follower.moved.fire()
        if has_new:
            self._plan.touch(place)
            self._note_unsettled(place, follower)
            self._hold_back(place, follower, part)
        follower.log.deleted_to = max(follower.log.deleted_to, part.deleted_to)
        if part.log_start_offset > follower.log.start_offset:
            self._broker.advance_start(follower, part.log_start_offset)
            self._plan.touch(place)  # so that the leader hears of it

    def _note_unsettled(self, place: Place, follower: Follower) -> None:
        self._unsettled[place] = follower
        self._broker.appended(follower)

    def _pause_unwritten(self) -> None:
        """What the disk did not take is asked for again, but not at once."""
        for place, end in self._ends.items():
            follower = self._plan.get(place)
            if follower is not None and follower.log.end_offset < end:
                self._pause(place, follower, "its log could not be written", DISK_PAUSE_MS)
            else:
                self._waiting.discard(place)

    def _pause(
        self, place: Place, follower: Follower, problem: str, pause_ms: int = PAUSE_MS
    ) -> None:
        if place not in self._waiting:
            log.info("%s-%d waits: %s", follower.topic, follower.index, problem)
        self._waiting.add(place)
        self._plan.drop(place)
        self._paused[place] = follower, self._door.clock.monotonic_ms() + pause_ms

    def _hold_back(self, place: Place, follower: Follower, part: PartitionData) -> None:
        """Who is not in sync yet is copied no faster than it may be; all others as it comes."""
        rate = self._broker.config.follower_throttled_rate
        if rate == LONG_MAX:
            return
        record = self._broker.image.partition(*place)
        if record is None or self._broker.node_id in record.isr:
            return
        now_ms = self._door.clock.monotonic_ms()
        until_ms = self._throttle.took(len(part.records or b""), now_ms, rate)
        self._plan.drop(place)
        self._paused[place] = follower, until_ms

    def _take_up_paused(self) -> None:
        now_ms = self._door.clock.monotonic_ms()
        over = [place for place, (_, until_ms) in self._paused.items() if until_ms <= now_ms]
        for place in over:
            self._plan.add(place, self._paused.pop(place)[0])

    # -- waiting

    def _has_something(self) -> bool:
        """Whether there is a partition to ask for, once those that had to wait are taken up."""
        self._take_up_paused()
        return len(self._plan) > 0

    def _is_settled(self) -> bool:
        """Whether all that was copied counts: it is as safe as the topics want it."""
        done = [place for place, each in self._unsettled.items() if each.over or each.is_settled]
        for place in done:
            del self._unsettled[place]
        return not self._unsettled

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._wake.clear()
            watched = list(self._unsettled.values())
            for follower in watched:
                follower.settled.watch(self._wake.set)
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_MS / 1000):
                    await self._wake.wait()
            for follower in watched:
                follower.settled.unwatch(self._wake.set)
