"""The data folder of one broker: whose it is, which logs are in it, how the last stop went."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress

from penstock.config import TopicConfig
from penstock.errors import Unusable
from penstock.log import checkpoints, layout, notes, recovery
from penstock.log.checkpoints import Garbled, Meta, Partition
from penstock.log.partition_log import PartitionLog
from penstock.log.segment import IndexCache
from penstock.world.ports import Disk, File


class LogDir:
    """Taken with a lock for as long as the broker runs; `close` leaves the mark of a clean stop."""

    def __init__(
        self,
        disk: Disk,
        path: str,
        *,
        cluster_id: str | None,
        node_id: int,
        directory_id: str = "",
    ) -> None:
        """Without a cluster id the folder's own is taken, or Unusable raised if it has none.

        The directory id is for a folder that is new.
        """
        self.disk = disk
        self.path = path
        disk.make_folder(path)
        self._release = disk.lock(f"{path}/{layout.LOCK_FILE}")
        try:
            self.meta = self._check_meta(cluster_id, node_id, directory_id)
            self.problems: list[str] = []
            """What was found wrong here, and can be lived with."""
            self._recovery_points = self._read_offsets(layout.RECOVERY_POINTS_FILE)
            self._log_starts = self._read_offsets(layout.LOG_STARTS_FILE)
            self._high_watermarks = self._read_offsets(layout.HIGH_WATERMARKS_FILE)
            self._cleaned = self._read_offsets(layout.CLEANED_FILE)
            self._ids = self._read_ids()
            self.was_clean, self.stopped_at_epoch = self._take_clean_stop()
            self.was_clean &= not self.problems
        except BaseException:
            self._release()
            raise
        self._offsets = {
            layout.LOG_STARTS_FILE: self._log_starts,
            layout.HIGH_WATERMARKS_FILE: self._high_watermarks,
            layout.CLEANED_FILE: self._cleaned,
            layout.RECOVERY_POINTS_FILE: self._recovery_points,
        }
        self.logs: dict[Partition, PartitionLog] = {}
        self.indexes = IndexCache()
        names = disk.list(path)
        for name in names:
            if name.endswith(layout.TEMPORARY):
                disk.remove(f"{path}/{name}")
        self._folders = {name for name in names if layout.parse_folder(name)}
        self._doomed = [f"{path}/{name}" for name in names if name.endswith(layout.DELETING)]
        self._unrecovered: set[Partition] = set()
        self._unreadable: set[str] = set()
        self._written_ids: dict[Partition, bytes] = {}
        self._written: dict[str, dict[Partition, int]] = {}
        self._lowered = False

    # Identity

    def _check_meta(self, cluster_id: str | None, node_id: int, directory_id: str) -> Meta:
        path = f"{self.path}/{layout.META_FILE}"
        if not self.disk.exists(path):
            if cluster_id is None:
                raise Unusable(f"{self.path} belongs to no cluster yet, and none was given")
            meta = Meta(cluster_id, node_id, directory_id)
            self.disk.write_whole(path, checkpoints.encode_meta(meta))
            return meta
        meta = checkpoints.decode_meta(self.disk.read_whole(path), path)
        if cluster_id is not None and meta.cluster_id != cluster_id:
            raise Unusable(
                f"{self.path} belongs to cluster {meta.cluster_id}, and this is {cluster_id}: give "
                "the broker the metadata store it had before, or an empty data folder"
            )
        if meta.node_id != node_id:
            raise Unusable(
                f"{self.path} belongs to broker {meta.node_id}, and this is {node_id}: start it "
                f"with --node-id {meta.node_id}, or with a data folder of its own"
            )
        return meta

    def _take_clean_stop(self) -> tuple[bool, int]:
        """The mark counts for one start: from now on a crash is a crash."""
        path = f"{self.path}/{layout.CLEAN_STOP_FILE}"
        if not self.disk.exists(path):
            return False, -1
        epoch = checkpoints.decode_clean_stop(self.disk.read_whole(path))
        self.disk.remove(path)
        self.disk.sync_folder(self.path)
        return epoch is not None, -1 if epoch is None else epoch

    # Logs

    def log_for(self, topic: str, index: int, topic_id: bytes, config: TopicConfig) -> PartitionLog:
        """The one log of a partition; nothing of it is read or made before it is used.

        After a stop that was not clean, `recover_all` comes before anything is asked of it.
        """
        key = topic, index
        log = self.logs.get(key)
        if log is not None and log.topic_id == topic_id:
            log.config = config
            return log
        if log is not None:  # its topic was deleted, and made anew under the same name
            self.delete_log(topic, index, log.topic_id)
        name = layout.folder_name(topic, index)
        log = PartitionLog(
            self.disk,
            f"{self.path}/{name}",
            topic_id,
            config,
            self.indexes,
            on_lowered=self._write_lowered,
        )
        if name in self._folders and self._is_ours(name, topic_id):
            self._adopt(key, log)
        elif self.is_missing(topic, index, topic_id):
            self._go_on_after(log, self._recovery_points[key])
        self._unreadable.discard(name)
        self._folders.add(name)
        self.logs[key] = log
        return log

    def has_folder(self, topic: str, index: int) -> bool:
        """Whether anything was ever written for a partition; the others need no log yet."""
        return layout.folder_name(topic, index) in self._folders

    def is_missing(self, topic: str, index: int, topic_id: bytes) -> bool:
        """Whether a partition once had records, and its folder is gone."""
        key = topic, index
        known = self._ids.get(key) == topic_id and self._recovery_points.get(key, 0) > 0
        return known and key not in self.logs and not self.has_folder(topic, index)

    def _go_on_after(self, log: PartitionLog, end: int) -> None:
        """The records are lost, but their offsets are not used for others."""
        log.start_offset = log.end_offset = log.written_end = log.synced_end = end
        log.recovery_point = log.high_watermark = end

    def _is_ours(self, name: str, topic_id: bytes) -> bool:
        """A topic created anew never takes over what the one of the same name has left."""
        path = f"{self.path}/{name}/{layout.PARTITION_FILE}"
        self._unreadable.add(name)
        with suppress(FileNotFoundError):
            found = checkpoints.decode_partition(self.disk.read_whole(path), path)
            if found == topic_id:
                return True
            if found is not None:
                self._set_aside(name, found)
                return False
        if not self.disk.exists(f"{self.path}/{name}"):
            return False
        self.disk.write_whole(path, checkpoints.encode_partition(topic_id))
        return True

    def _adopt(self, key: Partition, log: PartitionLog) -> None:
        """Checkpoints go by the topic's name. Those of another topic of that name, deleted since,
        say nothing of this one: without its own the log is looked through from the beginning."""
        log.has_folder = True
        if not self.was_clean:
            self._unrecovered.add(key)
        if self._ids.get(key) != log.topic_id:
            return
        log.start_offset = self._log_starts.get(key, 0)
        log.recovery_point = self._recovery_points.get(key, 0)
        log.high_watermark = self._high_watermarks.get(key, 0)
        log.cleaned_to = self._cleaned.get(key, 0)
        end = max(log.recovery_point, log.start_offset)
        log.end_offset = log.written_end = log.synced_end = end

    def _set_aside(self, name: str, topic_id: bytes) -> None:
        self._move(name, topic_id, layout.STRAY)
        self.disk.sync_folder(self.path)

    def _move(self, name: str, topic_id: bytes, suffix: str) -> str:
        old = f"{self.path}/{name}"
        new = f"{old}.{urlsafe_b64encode(topic_id).rstrip(b'=').decode()}{suffix}"
        if self.disk.exists(old):
            self.disk.remove_folder(new)
            self.disk.rename(old, new)
        self._folders.discard(name)
        return new

    def set_aside_unclaimed(self) -> list[str]:
        """Folders that no log was asked for: the cluster knows no such partition here."""
        claimed = {layout.folder_name(*key) for key in self.logs} | self._unreadable
        moved: list[str] = []
        for name in sorted(self._folders - claimed):
            path = f"{self.path}/{name}/{layout.PARTITION_FILE}"
            topic_id = b""
            if self.disk.exists(path):
                topic_id = checkpoints.decode_partition(self.disk.read_whole(path), path) or b""
            moved.append(self._move(name, topic_id, layout.STRAY))
        return moved

    def delete_log(self, topic: str, index: int, topic_id: bytes) -> None:
        """Take a log away. Its folder is doomed: to be removed off the loop.

        Not synced: what a crash brings back belongs to no topic any more, and is set aside.
        """
        log = self.logs.get((topic, index))
        if log is None or log.topic_id != topic_id:
            return
        del self.logs[topic, index]
        self._unrecovered.discard((topic, index))
        self._ids.pop((topic, index), None)
        for offsets in self._offsets.values():
            offsets.pop((topic, index), None)
        log.is_deleted = True
        if self.disk.exists(log.folder):
            folder = self._move(layout.folder_name(topic, index), topic_id, layout.DELETING)
            for segment in log.segments:
                segment.file.moved(folder)  # for those who are reading
                segment.file.close()  # for the room that it takes
            self._doomed.append(folder)

    def take_doomed(self) -> list[str]:
        """Folders of deleted logs that are still there."""
        doomed, self._doomed = self._doomed, []
        return doomed

    def recover_all(self) -> Iterator[None]:
        """Recover every log that was asked for, in slices; nothing to do after a clean stop."""
        for key in sorted(self._unrecovered):
            log = self.logs[key]
            if not log.is_open:
                yield from recovery.recover(log)
            self._unrecovered.discard(key)
            yield

    # Checkpoints

    def _read_offsets(self, name: str) -> dict[Partition, int]:
        path = f"{self.path}/{name}"
        if not self.disk.exists(path):
            return {}
        try:
            return checkpoints.decode_offsets(self.disk.read_whole(path), path)
        except Garbled as problem:  # all that it saves is work
            self.problems.append(str(problem))
            return {}

    def _read_ids(self) -> dict[Partition, bytes]:
        path = f"{self.path}/{layout.TOPIC_IDS_FILE}"
        if not self.disk.exists(path):
            return {}
        try:
            return checkpoints.decode_topic_ids(self.disk.read_whole(path), path)
        except Garbled as problem:
            self.problems.append(str(problem))
            return {}

    def begin_checkpoint(self) -> Callable[[], None] | None:
        """What to write, off the loop, to note how far the logs are synced; None if no news.

        `end_checkpoint` follows on the loop once it has been written.
        """
        for key, log in self.logs.items():
            if key not in self._unrecovered:
                self._recovery_points[key] = log.recovery_point = log.synced_end
                self._log_starts[key] = log.start_offset
                self._high_watermarks[key] = log.high_watermark
                self._cleaned[key] = min(log.cleaned_to, log.synced_end)
                self._ids[key] = log.topic_id
        files = [found for log in self.logs.values() if (found := notes.epochs_to_write(log))]
        news = self._changed_offsets()
        ids = dict(self._ids) if self._ids != self._written_ids else None
        if not (files or news or ids is not None):
            return None
        self._lowered = False
        self._written_ids = ids if ids is not None else self._written_ids
        return lambda: self._write_files(files, news, ids)

    def _changed_offsets(self) -> dict[str, dict[Partition, int]]:
        """By file; recovery points last, since what they promise must have been noted before."""
        news = {
            name: dict(offsets)
            for name, offsets in self._offsets.items()
            if self._written.get(name) != offsets
        }
        self._written |= news
        return news

    def _write_files(
        self,
        files: list[tuple[str, bytes]],
        news: dict[str, dict[Partition, int]],
        ids: dict[Partition, bytes] | None,
    ) -> None:
        """The topics' ids last: offsets must never be taken for those of a later topic."""
        for path, content in files:
            with suppress(FileNotFoundError):  # the log was deleted meanwhile
                self.disk.write_whole(path, content)
        for name, offsets in news.items():
            self.disk.write_whole(f"{self.path}/{name}", checkpoints.encode_offsets(offsets))
        if ids is not None:
            path = f"{self.path}/{layout.TOPIC_IDS_FILE}"
            self.disk.write_whole(path, checkpoints.encode_topic_ids(ids))

    def end_checkpoint(self) -> None:
        """A log that was cut while the checkpoint was being written needs it written again."""
        if self._lowered:
            self._written.clear()
            self._written_ids = {}
            self.checkpoint()

    def checkpoint(self) -> None:
        work = self.begin_checkpoint()
        if work is not None:
            work()

    def _write_lowered(self) -> None:
        self.checkpoint()
        self._lowered = True

    # Stopping

    def close_logs(self) -> tuple[list[File], list[str]]:
        """Write down all that a clean start needs; returns the files and folders to sync."""
        files: list[File] = []
        folders: list[str] = []
        for log in self.logs.values():
            log.close()
            token = log.begin_sync()
            files += token.files
            folders += token.folders
        return files, folders

    def finish(self, broker_epoch: int = -1) -> None:
        """After that sync: the checkpoint, the mark of a clean stop, and the lock is free."""
        for log in self.logs.values():
            log.synced_end = log.written_end
        self.checkpoint()
        if not self._unrecovered:
            mark = checkpoints.encode_clean_stop(broker_epoch)
            self.disk.write_whole(f"{self.path}/{layout.CLEAN_STOP_FILE}", mark)
        self.abandon()

    def abandon(self) -> None:
        """Let go without a word, as a crash would; the next start recovers."""
        for log in self.logs.values():
            for segment in log.segments:
                segment.file.close()
        self._release()

    def close(self, broker_epoch: int = -1) -> None:
        """All of it at once, for those who need not care how long the sync takes."""
        files, folders = self.close_logs()
        for file in files:
            file.sync()
        for folder in folders:
            self.disk.sync_folder(folder)
        self.finish(broker_epoch)
