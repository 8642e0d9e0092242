"""All that is known of one partition's log. `PartitionLog` is what can be done with it.

Everything in `log` that works on a log reads this, and changes it, in the open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.config import TopicConfig
from penstock.log.damage import Damage
from penstock.log.index_cache import IndexCache
from penstock.log.leader_epochs import EpochStart, LeaderEpochs
from penstock.log.producer_state import ProducerStates
from penstock.log.segment import Segment
from penstock.log.snapshotting import Held
from penstock.wire.batch import NO_TIMESTAMP
from penstock.world.ports import Disk, File


class LogState:
    __slots__ = (
        "_on_lowered",
        "active",
        "before",
        "begun",
        "cleaned_to",
        "config",
        "damage",
        "deleted_to",
        "dirty_since_ms",
        "disk",
        "end_offset",
        "epoch_reached",
        "epochs",
        "epochs_before",
        "folder",
        "generation",
        "has_folder",
        "held_snapshot",
        "high_watermark",
        "indexes",
        "is_compacted",
        "is_deleted",
        "is_open",
        "is_sync_noted",
        "is_torn",
        "marks",
        "opening",
        "pending",
        "producers",
        "recovery_point",
        "revision",
        "rolled",
        "segments",
        "start_offset",
        "synced_end",
        "topic_id",
        "touched",
        "unsynced_files",
        "unsynced_folders",
        "was_cut",
        "written_end",
    )

    def __init__(
        self,
        disk: Disk,
        folder: str,
        topic_id: bytes,
        config: TopicConfig,
        indexes: IndexCache | None = None,
        *,
        on_lowered: Callable[[], None] | None = None,
    ) -> None:
        self.disk = disk
        self.folder = folder
        self.topic_id = topic_id
        self.config = config
        self.indexes = indexes or IndexCache()
        self.start_offset = self.end_offset = self.written_end = self.synced_end = 0
        self.high_watermark = 0
        """Set by the broker, to be noted in checkpoints; nothing here depends on it."""
        self.recovery_point = 0
        """Up to where the last checkpoint says that the log is synced."""
        self.is_sync_noted = True
        """A checkpoint covers the log; else much more may be synced than is known."""
        self.cleaned_to = self.deleted_to = 0
        """Up to where the log is compacted, and up to where records went because somebody wanted it
        so, and not by retention."""
        self.is_compacted = False
        """Some of it, once: noted beside it before anything was replaced."""
        self.revision = 0
        """Changes whenever batches that were there are gone, or in another file."""
        self.segments: list[Segment] = []
        self.active: Segment | None = None
        self.is_open = False
        self.opening: Iterator[None] | None = None
        """What is left of opening it, while that is under way."""
        self.has_folder = self.is_deleted = False
        self.touched = True
        """Changed since it was loaded: what is noted beside it must be written again."""
        self.producers = ProducerStates()
        self.held_snapshot: Held | None = None
        """Of many producers, for `write_held_snapshot`."""
        self.epochs = LeaderEpochs()
        self.epoch_reached: int | None = None
        """By the cluster when the broker was started; None where that is not known."""
        self.begun: EpochStart | None = None
        """An epoch without a record that is yet to be noted; the next round of syncing does it."""
        self.damage: list[Damage] = []
        self.was_cut = False
        """At its recovery: a tail that looked torn is gone. It may have been whole, and damaged."""
        self.unsynced_files: list[File] = []
        self._on_lowered = on_lowered
        self.pending: list[memoryview | bytearray] = []
        self.before = 0, NO_TIMESTAMP, 0
        """What was known of the active segment when nothing was pending: its size, its largest
        timestamp and the offset of that."""
        self.epochs_before: list[EpochStart] = []
        """Those that had begun then."""
        self.is_torn = False
        """A write failed, and what got through all the same could not be cut off yet."""
        self.rolled: list[Segment] = []
        self.unsynced_folders: list[str] = []
        self.marks: dict[int, tuple[Segment, int]] = {}
        self.generation = self.dirty_since_ms = 0

    @property
    def may_have_gaps(self) -> bool:
        """Whether compaction may have left offsets without a record; else they are lost records."""
        return self.is_compacted or self.config.compacts or self.cleaned_to > 0

    def segment_of(self, offset: int) -> int:
        """The index of the segment that an offset belongs to."""
        segments = self.segments
        low, high = 0, len(segments)
        while low < high:
            middle = (low + high) // 2
            if segments[middle].base <= offset:
                low = middle + 1
            else:
                high = middle
        return max(low - 1, 0)

    def note_folder(self, folder: str) -> None:
        """Names in it changed: the next round of syncing covers it."""
        if folder not in self.unsynced_folders:
            self.unsynced_folders.append(folder)

    def forget_marks(self) -> None:
        self.marks.clear()
