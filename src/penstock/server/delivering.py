"""Held records are delivered when they are due: by the leader of their partition, with a copy.

Each replica of a partition with delays is tended by a task of its own, which keeps the schedule in
step with the log. Leaders append what is due. Such an append is also the note that it was done: so
the next leader, which goes through all that it has before it begins, does nothing twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress

from penstock.api.opening import NotOpen
from penstock.delays import stored
from penstock.delays.copies import Copies, Copy, delivery, portions
from penstock.delays.folding import catch_up, off_loop
from penstock.delays.pending import UNREADABLE, Entry
from penstock.delays.schedule import NOT_READ, Schedule
from penstock.errors import Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.segment import Amiss
from penstock.log.steps import Steps
from penstock.metadata.cluster import Changed, Topic
from penstock.metadata.delayed_topics import has_delays
from penstock.metadata.election import Place
from penstock.replication.leader import Leader
from penstock.replication.replica import Replica
from penstock.server.door import Door
from penstock.wire.batch import read_header
from penstock.wire.compression import Codec

log = logging.getLogger(__name__)

AT_ONCE = 1000
"""Records that are copied at a time."""
IN_FLIGHT_MAX = 20_000
"""Copies that are still to be committed: more have to wait."""
LOOK_MS = 1000
"""How often it is looked at what cannot be waited for, such as a lease; also a pause after a
failure."""
CLOCK_MS = 10_000
"""How often it is looked at the clock, which may have been set, while something is pending."""
STOPPED_AT_ONCE = 50
KEPT_BYTES, KEPT_LOOK = 64 << 20, 1000
"""Of a log that are gone through again after a start, at most; looked at after so many offsets."""


class Delivering:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._broker = door.broker
        self._tended: dict[Place, Tended] = {}

    def start(self) -> None:
        self._look_at(self._broker.image.topics.values())

    async def stop(self) -> None:
        """What is known is written down, for a start that need not read it again."""
        tended = list(self._tended.values())
        self._tended.clear()
        for start in range(0, len(tended), STOPPED_AT_ONCE):
            some = tended[start : start + STOPPED_AT_ONCE]
            await asyncio.gather(*(each.stop() for each in some))

    def follow(self, changed: Changed) -> None:
        """Topics, settings or leaders are others."""
        image = self._broker.image
        if changed.deleted or changed.reduced:
            for place in [place for place in self._tended if image.partition(*place) is None]:
                self._end(place)
        self._look_at([*changed.created.values(), *changed.altered.values()])
        for topic_id, index in changed.partitions:
            topic = image.topic_by_id(topic_id)
            if topic is not None and has_delays(topic.record):
                self._look_at_place(topic, index)

    def tended(self, replica: Replica) -> Tended | None:
        return self._tended.get((replica.topic_id, replica.index))

    def _look_at(self, topics: Iterable[Topic]) -> None:
        for topic in topics:
            if has_delays(topic.record):
                for index in range(topic.record.partitions):
                    self._look_at_place(topic, index)

    def _look_at_place(self, topic: Topic, index: int) -> None:
        record, place = topic.partition(index), (topic.id, index)
        if record is None or self._broker.node_id not in record.replicas:
            self._end(place)
        elif place in self._tended:
            self._tended[place].wake()
        else:
            self._tended[place] = Tended(self._door, topic, index)

    def _end(self, place: Place) -> None:
        tended = self._tended.pop(place, None)
        if tended is not None:
            tended.end()


class Tended:
    """One replica of one partition."""

    def __init__(self, door: Door, topic: Topic, index: int) -> None:
        self._door = door
        self._broker = door.broker
        self._topic = topic
        self._index = index
        self._name = f"{topic.name}-{index}"
        self._log: PartitionLog | None = None
        self._kept_at = self._looked_at = 0
        """How large the log was when its schedule was last written down, and how far that was when
        it was last looked at."""
        self._kept_offset = NOT_READ
        """What the file beside the log stands for."""
        self._seen = 0
        """The high watermark when it was last looked at."""
        self._woken = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"delays of {self._name}")

    def wake(self) -> None:
        self._woken.set()

    def end(self) -> None:
        """The broker has the partition no more."""
        self._task.cancel()
        if self._log is not None:
            self._broker.schedules.forget(self._log)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._log is not None:
            with suppress(OSError):
                await self._keep(self._log)

    async def _run(self) -> None:
        """A failure is told once, until it works again."""
        has_failed = False
        while True:
            self._woken.clear()
            replica: Replica | None = None
            wait_ms: float | None = LOOK_MS
            try:
                replica = self._replica()
                wait_ms = await self._tend(replica)
                has_failed = False
            except NotOpen as not_open:
                await self._broker.opening.waited_for([not_open.log], LOOK_MS)
                replica, wait_ms = None, 0
            except Refused:
                replica = None  # it has no leader yet, or is gone in a moment
            except Exception as problem:
                replica = None
                if not has_failed:
                    is_bug = not isinstance(problem, OSError | Amiss)
                    text = "delays of %s cannot be looked after for now: %s"
                    log.error(text, self._name, problem, exc_info=is_bug)
                has_failed = True
            await self._wait(replica, wait_ms)

    def _replica(self) -> Replica:
        replica = self._broker.replica(self._topic, self._index)
        if self._log is not replica.log:
            if self._log is not None:
                self._broker.schedules.forget(self._log)
            self._log = replica.log
        return replica

    async def _wait(self, replica: Replica | None, wait_ms: float | None) -> None:
        """Until more is committed, something is due, or the partition has another leader."""
        if wait_ms is not None and wait_ms <= 0:
            await asyncio.sleep(0)
            return
        if replica is not None:
            replica.moved.watch(self._woken.set)
            if replica.over is not None or replica.high_watermark > self._seen:
                self._woken.set()  # it has moved meanwhile, when nobody watched
        with suppress(TimeoutError):
            async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000):
                await self._woken.wait()
        if replica is not None:
            replica.moved.unwatch(self._woken.set)

    async def _tend(self, replica: Replica) -> float | None:
        """For how long there is nothing to do, as far as is known; None: until it is woken."""
        broker, partition = self._broker, replica.log
        if not broker.schedules.of(partition).is_read:
            await broker.in_steps(self._load(partition))
        schedule = broker.schedules.of(partition)
        self._seen = replica.high_watermark
        await broker.in_steps(catch_up(schedule, partition, self._seen))
        schedule.pending.take_back(schedule.offset, partition.end_offset)
        broker.schedules.count(partition)
        await self._keep_now_and_then(partition)
        if not isinstance(replica, Leader) or not len(schedule.pending):
            return None
        if not self._may_deliver(replica):
            return LOOK_MS
        return await self._deliver(replica, schedule)

    # -- delivering

    def _may_deliver(self, leader: Leader) -> bool:
        return (
            leader.over is None
            and self._broker.schedules.knows_all(leader)
            and self._broker.has_lease()
            and not self._broker.disk_is_full
            and not leader.has_too_few_in_sync
            and not leader.writing.is_closed
        )

    async def _deliver(self, leader: Leader, schedule: Schedule) -> float:
        pending = schedule.pending
        now_ms = self._door.clock.now_ms()
        due = pending.due_by(now_ms, AT_ONCE) if pending.aside < IN_FLIGHT_MAX else ()
        if due:
            entries = [entry for number in due if (entry := pending.get(number)) is not None]
            epoch = leader.epoch
            copies = Copies(leader.log, leader.high_watermark, entries, now_ms)
            await self._broker.in_steps(copies.read())
            await asyncio.sleep(0)
            await self._broker.in_steps(self._append(leader, epoch, schedule, copies))
            return 0 if self._may_deliver(leader) else LOOK_MS
        next_ms = pending.next_ms
        if pending.aside >= IN_FLIGHT_MAX or next_ms is None:
            return LOOK_MS
        return min(next_ms - now_ms, CLOCK_MS)

    def _append(
        self, leader: Leader, epoch: int, schedule: Schedule, copies: Copies
    ) -> Steps[None]:
        for entry in copies.missing:
            self._miss(schedule, entry)
        for some in portions(copies.in_order()):
            batch = yield from _built(some, self._door.clock.now_ms())
            if leader.epoch != epoch or not self._may_deliver(leader):
                return
            waiting = [copy for copy in some if schedule.pending.is_waiting(copy.entry.id)]
            if len(waiting) != len(some):  # some were cancelled meanwhile
                if not waiting:
                    continue
                batch = delivery(waiting, self._door.clock.now_ms())
            now_ms = self._door.clock.now_ms()
            done = leader.log.append(batch, read_header(batch), now_ms, epoch)
            self._broker.appended(leader)
            for number, copy in enumerate(waiting, done.base_offset):
                comes_back = copy.next_ms is not None
                schedule.pending.set_aside(copy.entry.id, number, comes_back=comes_back)
            self._door.settle()
            yield None

    def _miss(self, schedule: Schedule, entry: Entry) -> None:
        """It was deleted; or it is damaged, and stays until the partition is read anew."""
        known = schedule.pending.get(entry.id)
        if known is None or known.place != entry.place:
            return  # it was carried forward meanwhile, or cancelled
        assert self._log is not None
        if entry.place < self._log.start_offset:
            schedule.pending.remove(entry.id)
            return
        log.error("%s: the record at %d is due, and cannot be read", self._name, entry.place)
        schedule.pending.set_aside(entry.id, UNREADABLE)

    # -- kept in a file

    def _load(self, partition: PartitionLog) -> Steps[None]:
        schedule = yield from stored.load(partition)
        self._kept_offset = schedule.offset
        if not schedule.is_read:
            schedule.begin(partition.start_offset)
        self._broker.schedules.replace(partition, schedule)

    async def _keep_now_and_then(self, partition: PartitionLog) -> None:
        offset = self._broker.schedules.of(partition).offset
        if offset - self._looked_at < KEPT_LOOK:
            return
        self._looked_at = offset
        size = sum(segment.size for segment in partition.segments)
        if abs(size - self._kept_at) >= KEPT_BYTES:
            await self._keep(partition)
            self._kept_at = size

    async def _keep(self, partition: PartitionLog) -> None:
        schedule = self._broker.schedules.of(partition)
        if not schedule.is_read or schedule.offset == self._kept_offset:
            return
        if partition.has_folder and not partition.is_deleted:
            self._kept_offset = await self._broker.in_steps(stored.write(partition, schedule))


def _built(some: Sequence[Copy], now_ms: int) -> Steps[bytearray]:
    """Off the loop, where it is compressed."""
    if some[0].codec == Codec.NONE:
        return delivery(some, now_ms)
    return (yield from off_loop(lambda: delivery(some, now_ms)))
