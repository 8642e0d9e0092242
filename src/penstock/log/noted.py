"""What the data folder's checkpoints say of its logs: how far each is synced, and whose it is.

They are written off the loop, so a log may be cut meanwhile, or the disk may not take all of it;
what is news to the next checkpoint is told apart with care.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from penstock.log import checkpoints, layout, notes
from penstock.log.checkpoints import Garbled, Partition
from penstock.log.partition_log import PartitionLog
from penstock.world.ports import Disk

T = TypeVar("T")

Logs = Mapping[Partition, PartitionLog]

ALWAYS_WRITTEN = (
    layout.RECOVERY_POINTS_FILE,
    layout.LOG_STARTS_FILE,
    layout.HIGH_WATERMARKS_FILE,
)


TOGETHER = (layout.RECOVERY_POINTS_FILE, layout.TOPIC_IDS_FILE)
"""How far a log is synced is known only with both."""


class Checkpoint(NamedTuple):
    """What has changed since the last one."""

    epochs: list[tuple[PartitionLog, str, bytes]]
    """Of each log, with the path and content of their file."""
    offsets: dict[str, dict[Partition, int]]
    """By file."""
    ids: dict[Partition, bytes] | None


class Noted:
    def __init__(self, disk: Disk, path: str) -> None:
        """Raises Unusable if any file is of a newer release."""
        self._disk = disk
        self._path = path
        self.problems: list[str] = []
        """Files that could not be read: all that they save is work."""
        self.missing: list[str] = []
        """Files that every stop writes, and that are not there."""
        self.recovery_points = self._read_offsets(layout.RECOVERY_POINTS_FILE)
        self.log_starts = self._read_offsets(layout.LOG_STARTS_FILE)
        self.high_watermarks = self._read_offsets(layout.HIGH_WATERMARKS_FILE)
        self.cleaned = self._read_offsets(layout.CLEANED_FILE)
        self.deleted = self._read_offsets(layout.DELETED_FILE)
        self._ids = self._read(layout.TOPIC_IDS_FILE, checkpoints.decode_topic_ids)
        self._ids_lost_ms = self._when_without_ids()
        self._offsets = {
            layout.DELETED_FILE: self.deleted,  # before the starts that it explains
            layout.LOG_STARTS_FILE: self.log_starts,
            layout.HIGH_WATERMARKS_FILE: self.high_watermarks,
            layout.CLEANED_FILE: self.cleaned,
            layout.RECOVERY_POINTS_FILE: self.recovery_points,
        }
        self._is_whole = not self.problems and all(disk.exists(f"{path}/{n}") for n in TOGETHER)
        self._written_ids: dict[Partition, bytes] | None = None
        self._written: dict[str, dict[Partition, int]] = {}
        self._under_way = Checkpoint([], {}, None)
        self._lowered = False

    def _when_without_ids(self) -> int | None:
        """When the rest was written, if that is there and the topics' ids are not."""
        if self._ids or not self.recovery_points:
            return None
        path = f"{self._path}/{layout.TOPIC_IDS_FILE}"
        if not self._disk.exists(path):
            self.problems.append(f"{path} is missing")
        return self._disk.modified_ms(f"{self._path}/{layout.RECOVERY_POINTS_FILE}")

    def _read_offsets(self, name: str) -> dict[Partition, int]:
        return self._read(name, checkpoints.decode_offsets)

    def _read(
        self, name: str, decode: Callable[[bytes, str], dict[Partition, T]]
    ) -> dict[Partition, T]:
        path = f"{self._path}/{name}"
        if not self._disk.exists(path):
            if name in ALWAYS_WRITTEN:
                self.missing.append(path)
            return {}
        try:
            return decode(self._disk.read_whole(path), path)
        except Garbled as problem:
            self.problems.append(str(problem))
            return {}

    def knows(self, key: Partition, topic_id: bytes) -> bool:
        """Whether what is noted of a partition is of this topic, and not of one of its name."""
        return self._ids.get(key) == topic_id

    def may_know(self, folder: str) -> bool:
        """The same where the topics' ids are lost: its folder was there when the rest was noted."""
        if self._ids_lost_ms is None:
            return False
        return self._disk.modified_ms(f"{folder}/{layout.PARTITION_FILE}") <= self._ids_lost_ms

    def knows_end(self, key: Partition, topic_id: bytes) -> bool:
        """Whether it is known where the log ended when it was closed, and can be so."""
        end = self.recovery_points.get(key, -1)
        return self.knows(key, topic_id) and self.log_starts.get(key, 0) <= end

    def covers(self, key: Partition, topic_id: bytes) -> bool:
        """Whether a log is noted, or else younger than the last checkpoint. Neither is sure where
        checkpoints are missing, or know another topic of that name: a log may have been put back.
        """
        return self._is_whole and self._ids.get(key, topic_id) == topic_id

    def forget(self, key: Partition) -> None:
        self._ids.pop(key, None)
        for offsets in self._offsets.values():
            offsets.pop(key, None)

    def rename(self, old: Partition, new: Partition, log_id: bytes) -> None:
        """What is noted of a log is so of the same log in another place. If that was done before
        and the folder is there already, nothing is known under the old name."""
        if self.knows(old, log_id):
            self._ids[new] = self._ids.pop(old)
            for offsets in self._offsets.values():
                if old in offsets:
                    offsets[new] = offsets.pop(old)

    def begin(self, logs: Logs) -> Callable[[], None] | None:
        """What to write, off the loop; None if there is no news. `end` follows on success."""
        news = self._news(logs)
        if not (news.epochs or news.offsets or news.ids is not None):
            return None
        self._under_way, self._lowered = news, False
        return lambda: self._write(news)

    def end(self, logs: Logs) -> None:
        """A log that was cut while the checkpoint was being written needs it written again."""
        if self._lowered:
            self.write(logs)
            self._lowered = False
        else:
            self._trust(self._under_way)

    def write(self, logs: Logs) -> None:
        """All of it at once; also while another one is being written."""
        news = self._news(logs)
        self._write(news)
        self._trust(news)

    def write_lowered(self, logs: Logs) -> None:
        self.write(logs)
        self._lowered = True

    def _gather(self, logs: Logs) -> None:
        for key, log in logs.items():
            self.recovery_points[key] = log.recovery_point = log.synced_end
            self.log_starts[key] = log.start_offset
            self.high_watermarks[key] = log.high_watermark
            self.cleaned[key] = min(log.cleaned_to, log.synced_end)
            if log.deleted_to or key in self.deleted:
                self.deleted[key] = log.deleted_to
            self._ids[key] = log.topic_id

    def _news(self, logs: Logs) -> Checkpoint:
        """Recovery points come last, since what they promise must have been noted before."""
        if self._lowered:
            self._distrust(self._under_way)  # it may have been written after what was newer
        self._gather(logs)
        epochs = [(log, *found) for log in logs.values() if (found := notes.epochs_to_write(log))]
        offsets = {
            name: dict(offsets)
            for name, offsets in self._offsets.items()
            if self._written.get(name) != offsets
        }
        ids = dict(self._ids) if self._ids != self._written_ids else None
        news = Checkpoint(epochs, offsets, ids)
        self._distrust(news)
        return news

    def _write(self, news: Checkpoint) -> None:
        """The topics' ids last: offsets must never be taken for those of a later topic."""
        for log, path, content in news.epochs:
            notes.write_epochs(log, path, content)
        for name, offsets in news.offsets.items():
            self._disk.write_whole(f"{self._path}/{name}", checkpoints.encode_offsets(offsets))
        if news.ids is not None:
            path = f"{self._path}/{layout.TOPIC_IDS_FILE}"
            self._disk.write_whole(path, checkpoints.encode_topic_ids(news.ids))

    def _distrust(self, news: Checkpoint) -> None:
        """While these are being written, and if that fails, the files may say one thing or the
        other."""
        for log, _, _ in news.epochs:
            log.epochs.changed = True
        for name in news.offsets:
            self._written.pop(name, None)
        if news.ids is not None:
            self._written_ids = None

    def _trust(self, news: Checkpoint) -> None:
        for log, _, content in news.epochs:
            log.epochs.changed = log.is_deleted or log.epochs.encode() != content
        self._written |= news.offsets
        if news.ids is not None:
            self._written_ids = news.ids
