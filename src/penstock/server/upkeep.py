"""What a broker does beside serving: retention, compaction, checkpoints, idle connections, room.

Each task runs in slices, so that none holds the loop for long.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from penstock.api.broker import Broker
from penstock.log.compaction import Compaction
from penstock.log.retention import Hold
from penstock.metadata.cluster import Topic
from penstock.replication.leader import Leader
from penstock.replication.replica import Replica
from penstock.server.archive_hold import ArchiveHold
from penstock.server.cleaner import Cleaner
from penstock.server.door import Door
from penstock.server.reserve import Reserve
from penstock.server.syncer import Syncer
from penstock.world.ports import Clock, Disk

log = logging.getLogger(__name__)

Work = Callable[[], Iterable[None] | Awaitable[None]]
"""In slices, or with waits of its own."""

MakeWay = Callable[[Leader, int, Hold | None], Awaitable[int | None]]
"""At this time, and with what is held for an archive; an offset that must not go, if there is."""

ROOM_CHECK_MS = 1000
DROPPED_CHECK_MS = 200
FLUSH_CHECK_MS = 1000
SNAPSHOT_CHECK_MS = 1000
PARTITIONS_A_SLICE = 64
DELETIONS_A_SLICE = 20
LAG_CHECK_MS = 50
LAG_WORTH_A_LINE_MS = 200


class Upkeep:
    def __init__(
        self,
        clock: Clock,
        disk: Disk,
        broker: Broker,
        door: Door,
        syncer: Syncer,
        reserve: Reserve,
        hold: ArchiveHold,
    ) -> None:
        self._clock = clock
        self._disk = disk
        self._broker = broker
        self._door = door
        self._syncer = syncer
        self._reserve = reserve
        self._hold = hold
        self._cleaner = Cleaner(clock, disk, broker, syncer, self._remove_replaced)
        self._tasks: list[asyncio.Task[None]] = []
        self._removals: set[asyncio.Task[None]] = set()
        self._writing: asyncio.Future[None] | None = None
        self._told_free = -1
        """What was free when writes were last said to be tried again; -1 once they are refused."""
        self.make_way: MakeWay = nothing_in_the_way
        """Saves what is still needed of what retention is about to drop."""
        self.loop_lag_ms_max = 0.0
        """The longest that anything ready has had to wait for its turn, as far as was noticed."""

    def start(self) -> None:
        config = self._broker.config
        idle_ms = min(config.connections_max_idle_ms, config.request_receive_timeout_ms) / 4
        self._every(ROOM_CHECK_MS, "looking after free disk space", self.keep_room)
        self._every(DROPPED_CHECK_MS, "removing dropped segments", self._remove_dropped)
        self._every(FLUSH_CHECK_MS, "looking for logs to flush", self._flush_due)
        self._every(SNAPSHOT_CHECK_MS, "writing down producers", self._write_snapshots)
        self._every(min(idle_ms, 10_000), "closing idle connections", self._close_idle)
        self._every(config.retention_check_interval_ms, "retention", self._drop_expired)
        self._every(config.cleaner_backoff_ms, "compaction", self._cleaner.run)
        self._every(config.checkpoint_interval_ms, "writing a checkpoint", self._checkpoint)
        self._tasks.append(asyncio.create_task(self._watch_lag()))
        self.remove_doomed()

    async def stop(self) -> None:
        """What was to be removed later is left: the next start knows it by its name."""
        for task in (*self._tasks, *self._removals):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._removals, return_exceptions=True)
        if self._writing is not None:  # or it would overwrite what the stop writes
            await asyncio.wait([self._writing])
        self._hold.close()

    def _every(self, interval_ms: float, name: str, work: Work) -> None:
        self._tasks.append(asyncio.create_task(self._repeat(interval_ms, name, work)))

    async def _repeat(self, interval_ms: float, name: str, work: Work) -> None:
        """A failure is told once, until it works again."""
        has_failed = False
        while True:
            await asyncio.sleep(interval_ms / 1000)
            try:
                await _carry_out(work)
            except Exception as problem:
                if not has_failed:
                    is_bug = not isinstance(problem, OSError)
                    reason = "%s failed, and is tried again every %d ms: %s"
                    log.error(reason, name, interval_ms, problem, exc_info=is_bug)
                has_failed = True
            else:
                if has_failed:
                    log.warning("%s works again", name)
                has_failed = False

    async def _watch_lag(self) -> None:
        while True:
            due_ms = self._clock.monotonic_ms() + LAG_CHECK_MS
            await asyncio.sleep(LAG_CHECK_MS / 1000)
            lag_ms = self._clock.monotonic_ms() - due_ms
            self.loop_lag_ms_max = max(self.loop_lag_ms_max, lag_ms)
            if lag_ms > LAG_WORTH_A_LINE_MS:
                log.warning("the loop was held up for %d ms", lag_ms)

    def check_room(self) -> None:
        """Without the reserve there is none for records, or they would fill what it has left."""
        config = self._broker.config
        free = self._disk.free_bytes(config.data_dir)
        is_full = free < max(config.disk_free_min_bytes + self._reserve.needed_bytes, 1)
        if is_full:
            self._told_free = -1
        if is_full != self._broker.disk_is_full:
            self._broker.disk_is_full = is_full
            self._tell_room(is_full, free)

    def _tell_room(self, is_full: bool, free: int) -> None:
        """Writes that are tried again may fail again, every time, until more becomes free."""
        if is_full:
            log.error("the disk has %d bytes left: writes are refused", free)
        elif free > self._told_free:
            log.warning("the disk has %d bytes left: writes are tried again", free)
            self._told_free = free

    async def keep_room(self) -> None:
        """Also before the first records come, which may be more than there is room for."""
        try:
            if self._reserve.can_be_made:
                await self._disk.offload(self._reserve.make)
        finally:
            self.check_room()

    def _remove_dropped(self) -> Iterable[None]:
        for paths, delay_ms in self._broker.take_dropped():
            self._remove_later(paths, delay_ms, self._disk.remove)
        return ()

    def _flush_due(self) -> Iterable[None]:
        now_ms = self._clock.now_ms()
        for count, replica in enumerate(self._broker.open_replicas()):
            is_due = replica.log.flush_due(now_ms) or replica.log.rolled
            if is_due or (isinstance(replica, Leader) and replica.note_beginning_again()):
                self._syncer.want(replica)
            if count % PARTITIONS_A_SLICE == 0:
                yield

    async def _write_snapshots(self) -> None:
        """Of logs with many producers, which take longer than a roll may."""
        logs = [replica.log for replica in self._broker.open_replicas()]
        for each in [each for each in logs if each.held_snapshot is not None]:
            await self._broker.in_steps(each.write_held_snapshot())

    def _close_idle(self) -> Iterable[None]:
        self._door.close_idle()
        return ()

    async def _drop_expired(self) -> None:
        now_ms = self._clock.now_ms()
        self.remove_doomed()
        in_use = set(self._broker.open_replicas())
        for replica in self._broker.replicas_with_data():
            try:
                await self._drop_expired_of(replica, now_ms)
                if replica not in in_use:
                    _close_files(replica)
            except Exception as problem:  # the others must not grow for it
                name, is_bug = f"{replica.topic}-{replica.index}", not isinstance(problem, OSError)
                log.error("%s: retention failed: %s", name, problem, exc_info=is_bug)
            await asyncio.sleep(0)
        self._hold.end_round()

    async def _drop_expired_of(self, replica: Replica, now_ms: int) -> None:
        """A follower drops what its leader has dropped, and so nothing by itself."""
        partition = replica.log
        if isinstance(replica, Leader):
            hold = await self._hold.of(replica)
            pinned = await self.make_way(replica, now_ms, hold)
            if replica.over is not None:
                return
            steps = partition.expire(now_ms, replica.high_watermark, hold, pinned)
            dropped = await self._broker.in_steps(steps)
            if hold is not None:
                self._hold.note(replica, hold)
            self._remove_later(dropped, partition.config.file_delete_delay_ms, self._disk.remove)
            if dropped:
                replica.grown.fire()  # followers are to do the same
        after_ms = self._broker.config.producer_id_expiration_ms
        for _ in partition.producers.expire(now_ms, after_ms):
            await asyncio.sleep(0)

    async def _checkpoint(self) -> None:
        """Note how far the logs are synced, which is how much less a recovery has to look at."""
        log_dir = self._broker.log_dir
        write = log_dir.begin_checkpoint()
        if write is not None:
            self._writing = asyncio.ensure_future(self._disk.offload(write))
            await asyncio.shield(self._writing)
            log_dir.end_checkpoint()

    def delete_logs(self, topic: Topic) -> None:
        """Of a topic that was deleted; it may have thousands of them."""
        self._keep(asyncio.create_task(self._delete_logs(topic)))

    async def _delete_logs(self, topic: Topic) -> None:
        for index in range(topic.record.partitions):
            self._broker.log_dir.delete_log(topic.name, index, *topic.log_ids)
            if index % DELETIONS_A_SLICE == 0:
                await asyncio.sleep(0)
        self.remove_doomed()

    def remove_doomed(self) -> None:
        """Folders of logs that were deleted."""
        self._remove_later(self._broker.log_dir.folders.take_doomed(), 0, self._disk.remove_folder)

    def _remove_replaced(self, compaction: Compaction, delay_ms: int) -> None:
        """Segments that compaction has put others in the place of."""
        self._remove_later(compaction.dropped_paths, delay_ms, self._disk.remove)

    def _remove_later(
        self, paths: Sequence[str], delay_ms: int, remove: Callable[[str], None]
    ) -> None:
        if paths:
            self._keep(asyncio.create_task(self._remove(paths, delay_ms, remove)))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)

    async def _remove(
        self, paths: Sequence[str], delay_ms: int, remove: Callable[[str], None]
    ) -> None:
        await asyncio.sleep(delay_ms / 1000)
        for path in paths:
            await self._disk.offload(partial(remove, path))


async def nothing_in_the_way(_leader: Leader, _now_ms: int, _hold: Hold | None) -> int | None:
    return None


async def _carry_out(work: Work) -> None:
    steps = work()
    if isinstance(steps, Awaitable):
        await steps
        return
    for _ in steps:
        await asyncio.sleep(0)


def _close_files(replica: Replica) -> None:
    """They were opened for one look; a log that is used opens them again."""
    if replica.log.synced_end == replica.log.end_offset and not replica.log.rolled:
        for segment in replica.log.segments:
            segment.file.close()
