"""The data folder of one broker: whose it is, which logs are in it, how the last stop went."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress

from penstock.config import TopicConfig
from penstock.errors import Unusable
from penstock.log import checkpoints, identity, layout, recovery
from penstock.log.checkpoints import Garbled, Partition
from penstock.log.folders import Folders, text_of
from penstock.log.index_cache import IndexCache
from penstock.log.moving import succeeded
from penstock.log.noted import Noted
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import exhaust
from penstock.log.unsynced_topics import UnsyncedTopics
from penstock.world.ports import Disk, File

lines = logging.getLogger(__name__)


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
            self.meta = identity.checked_meta(disk, path, cluster_id, node_id, directory_id)
            self.mark = identity.read_mark(disk, path)
            self.unsynced_topics = UnsyncedTopics(disk, path)
            self._noted = Noted(disk, path)
            self.problems = self._noted.problems
            """What was found wrong here, and can be lived with."""
            self.was_clean, self.stopped_at_epoch = identity.take_clean_stop(disk, path)
            if self.was_clean:
                self.problems += [f"{each} is missing" for each in self._noted.missing]
            self.was_clean &= not self.problems
        except BaseException:
            self._release()
            raise
        self.logs: dict[Partition, PartitionLog] = {}
        self.indexes = IndexCache()
        self.folders = Folders(disk, path)
        self._unrecovered: set[Partition] = set()
        self.unrecoverable: dict[Partition, str] = {}
        """Logs that `recover_all` had to leave out, and why; not served before the next start."""
        self._unreadable: set[str] = set()
        self._stuck: set[Partition] = set()
        """Places of logs that belong elsewhere, and could not be moved there."""

    def write_mark(self, mark: int) -> None:
        """May take place off the loop."""
        identity.write_mark(self.disk, self.path, mark)
        self.mark = mark

    # Logs

    def log_for(self, topic: str, index: int, topic_id: bytes, config: TopicConfig) -> PartitionLog:
        """The one log of a partition; nothing of it is read or made before it is used.

        After a stop that was not clean, `recover_all` comes before anything is asked of it.
        """
        key = topic, index
        log = self.logs.get(key)
        if key in self._stuck:
            raise Unusable(f"{topic}-{index} holds another log, which could not be moved away")
        if log is not None and log.topic_id == topic_id:
            if key in self.unrecoverable:
                raise Unusable(self.unrecoverable[key])
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
        if name in self.folders.names and self._is_ours(key, name, topic_id):
            self._adopt(key, log)
        elif self.is_missing(topic, index, topic_id):
            self._go_on_after(log, self._noted.recovery_points[key])
        self._unreadable.discard(name)
        self.folders.names.add(name)
        self.logs[key] = log
        return log

    def has_folder(self, topic: str, index: int) -> bool:
        """Whether anything was ever written for a partition; the others need no log yet."""
        return layout.folder_name(topic, index) in self.folders.names

    def is_missing(self, topic: str, index: int, topic_id: bytes) -> bool:
        """Whether a partition once had records, and its folder is gone."""
        key = topic, index
        is_known = self._noted.knows(key, topic_id) and self._noted.recovery_points.get(key, 0) > 0
        return is_known and key not in self.logs and not self.has_folder(topic, index)

    def _go_on_after(self, log: PartitionLog, end: int) -> None:
        """The records are lost, but their offsets are not used for others."""
        log.start_offset = log.end_offset = log.written_end = log.synced_end = end
        log.recovery_point = log.high_watermark = end

    def _is_ours(self, key: Partition, name: str, topic_id: bytes) -> bool:
        """A topic created anew never takes over what the one of the same name has left."""
        path = f"{self.path}/{name}/{layout.PARTITION_FILE}"
        self._unreadable.add(name)
        with suppress(FileNotFoundError):
            found = self._read_mark(path, topic_id)
            if found == topic_id:
                return True
            if found is not None and self._noted.knows(key, topic_id):
                raise Unusable(
                    f"{path} says topic {text_of(found)}, and the last checkpoint "
                    f"{text_of(topic_id)}: put the folder back that was there, or move it away"
                )
            if found is not None:
                new = self.folders.set_aside(name, found)
                lines.warning("%s belongs to no topic of this cluster: it is %s now", name, new)
                return False
        if not self.disk.exists(f"{self.path}/{name}"):
            return False
        self.disk.write_whole(path, checkpoints.encode_partition(topic_id))
        return True

    def _read_mark(self, path: str, topic_id: bytes) -> bytes | None:
        """Which topic a folder says it belongs to; None where a crash came before that was written.

        After a crash as it is on the disk; a failed sync may have left that different.
        """
        if not self.was_clean:
            file = self.disk.open(path)
            file.forget(0)
            file.close()
        data = self.disk.read_whole(path)
        try:
            return checkpoints.decode_partition(data, path)
        except Garbled:
            begun = checkpoints.encode_partition(topic_id).startswith(data.rstrip(b"\0"))
            if self.was_clean or not begun:
                raise
            return None

    def _adopt(self, key: Partition, log: PartitionLog) -> None:
        """Checkpoints go by the topic's name. Those of another topic of that name, deleted since,
        say nothing of this one: without its own the log is looked through from the beginning."""
        log.has_folder = True
        noted = self._noted
        log.is_sync_noted = noted.covers(key, log.topic_id)
        if not (self.was_clean and noted.knows_end(key, log.topic_id)):
            self._unrecovered.add(key)
            mark = self.disk.open(f"{log.folder}/{layout.PARTITION_FILE}")
            log.unsynced_files.append(mark)  # it may be in the page cache only
        if not (noted.knows(key, log.topic_id) or noted.may_know(log.folder)):
            return
        log.start_offset = noted.log_starts.get(key, 0)
        log.recovery_point = noted.recovery_points.get(key, 0)
        log.high_watermark = noted.high_watermarks.get(key, 0)
        log.cleaned_to = noted.cleaned.get(key, 0)
        log.deleted_to = noted.deleted.get(key, 0)
        log.end_offset = log.written_end = log.synced_end = log.recovery_point

    def set_aside_unclaimed(self) -> list[str]:
        """Folders that no log was asked for: the cluster knows no such partition here."""
        claimed = {layout.folder_name(*key) for key in self.logs} | self._unreadable
        folders = self.folders
        unclaimed = sorted(folders.names - claimed)
        moved = [folders.set_aside(name, folders.id_in(name) or b"") for name in unclaimed]
        return [name for name in moved if name.endswith(layout.STRAY)]

    def take_over(self, old: Partition, new: Partition, log_id: bytes) -> None:
        """A partition has another place now: its log goes there, with all that is noted of it.

        Not synced: after a crash the folder may have either name, and this is called again then.
        """
        self._noted.rename(old, new, log_id)
        log, name = self.logs.get(old), layout.folder_name(*old)
        if log is None and (name not in self.folders.names or self.folders.id_in(name) != log_id):
            return
        if log is not None and log.topic_id != log_id:
            return
        self._stuck.add(old)
        if log is not None and log.is_open:
            log.write_out()
        self.folders.rename(name, layout.folder_name(*new))
        self._stuck.discard(old)
        if log is not None:
            del self.logs[old]
            self.logs[new] = succeeded(log, f"{self.path}/{layout.folder_name(*new)}")
        if old in self._unrecovered:
            self._unrecovered.remove(old)
            self._unrecovered.add(new)
        if old in self.unrecoverable:
            self.unrecoverable[new] = self.unrecoverable.pop(old)

    def delete_log(self, topic: str, index: int, *log_ids: bytes) -> None:
        """Take a log away, if it has one of these ids. Its folder is doomed."""
        self._take_away(topic, index, log_ids, self.folders.doom)

    def set_aside_log(self, topic: str, index: int, *log_ids: bytes) -> str:
        """The same, but its folder is kept; what that is called now, "" if there is none."""
        log = self.logs.get((topic, index))
        if log is not None and log.is_open:
            log.write_out()
        return self._take_away(topic, index, log_ids, self.folders.keep)

    def _take_away(
        self, topic: str, index: int, log_ids: Sequence[bytes], move: Callable[[str, bytes], str]
    ) -> str:
        log = self.logs.get((topic, index))
        if log is None or log.topic_id not in log_ids:
            return ""
        del self.logs[topic, index]
        self._unrecovered.discard((topic, index))
        self.unrecoverable.pop((topic, index), None)
        self._noted.forget((topic, index))
        self.folders.names.discard(layout.folder_name(topic, index))
        log.is_deleted = True
        if not self.disk.exists(log.folder):
            return ""
        folder = move(layout.folder_name(topic, index), log.topic_id)
        for segment in log.segments:
            segment.file.moved(folder)  # for those who are reading
            segment.file.close()  # for the room that it takes
        return folder

    def recover_all(self) -> Iterator[None]:
        """Recover every log that was asked for, in slices; nothing to do after a clean stop, but
        where it is not known for sure how a log ended.

        One that cannot be read keeps none of the others from being served, whatever the reason.
        """
        for key in sorted(self._unrecovered):
            log = self.logs[key]
            try:
                if not log.is_open:
                    yield from recovery.recover(log)
            except (OSError, Unusable) as problem:
                self.unrecoverable[key] = str(problem)
            except Exception as problem:
                lines.exception("the recovery of %s failed", log.folder)
                self.unrecoverable[key] = repr(problem)
            else:
                self._unrecovered.discard(key)
            yield

    # Checkpoints

    def begin_checkpoint(self) -> Callable[[], None] | None:
        """What to write, off the loop, to note how far the logs are synced; None if no news.

        `end_checkpoint` follows on the loop once it has been written, and only then: what could not
        be written is still news to the next one.
        """
        return self._noted.begin(self._recovered())

    def end_checkpoint(self) -> None:
        self._noted.end(self._recovered())

    def checkpoint(self) -> None:
        """All of it at once; also while another one is being written."""
        self._noted.write(self._recovered())

    def _recovered(self) -> dict[Partition, PartitionLog]:
        return {key: log for key, log in self.logs.items() if key not in self._unrecovered}

    def _write_lowered(self) -> None:
        self._noted.write_lowered(self._recovered())

    # Stopping

    def close_logs(self) -> tuple[list[File], list[str]]:
        """Write down all that a clean start needs; returns the files and folders to sync."""
        return exhaust(self.close_logs_in_steps())

    def close_logs_in_steps(self) -> Generator[None, None, tuple[list[File], list[str]]]:
        """The same with others' turns in between, but no more appends."""
        files: list[File] = []
        folders: list[str] = []
        for key, log in list(self.logs.items()):
            if key in self.unrecoverable:
                continue
            yield from log.close_steps()
            token = log.begin_sync()
            files += token.files
            folders += token.folders
            yield
        return files, folders

    def finish(self, broker_epoch: int = -1) -> None:
        """After that sync: the checkpoint, the mark of a clean stop, and the lock is free."""
        for log in self.logs.values():
            log.synced_end = log.written_end
        self.checkpoint()
        if not self._unrecovered:
            identity.leave_clean_stop(self.disk, self.path, broker_epoch)
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
