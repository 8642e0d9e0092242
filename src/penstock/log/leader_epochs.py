"""Which leader epoch began at which offset: how a follower finds where its log left the leader's.

Kept in memory and written at checkpoints: each batch carries its epoch, so what a crash takes from
the file comes back with the scan of the log past the recovery point. Only an epoch that begins
where the log ends, and has no record yet, is written at once where it matters (`write_begun`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from penstock.errors import Unusable
from penstock.log import sealing

VERSION = 0
UNDEFINED_EPOCH, UNDEFINED_OFFSET = -1, -1


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    __slots__ = ("changed", "entries", "latest")

    def __init__(self, entries: list[EpochStart] | None = None) -> None:
        self.entries: list[EpochStart] = entries or []
        self.latest = self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH
        self.changed = False

    def assign(self, epoch: int, start_offset: int) -> None:
        """The epoch of everything from here on; what contradicts it goes."""
        if epoch == self.latest or epoch < 0:
            return
        kept = [e for e in self.entries if e.epoch < epoch and e.start_offset < start_offset]
        self._become([*kept, EpochStart(epoch, start_offset)])

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        """The largest epoch at or below the one asked for, and where it ended (KIP-279)."""
        if epoch < 0 or epoch > self.latest:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.latest:
            return epoch, log_end
        floor = epoch
        for entry in self.entries:
            if entry.epoch > epoch:
                return floor, entry.start_offset
            floor = entry.epoch
        return UNDEFINED_EPOCH, UNDEFINED_OFFSET

    def epoch_at(self, offset: int) -> int:
        """The epoch that an offset was written in; -1 if that is not known."""
        found = UNDEFINED_EPOCH
        for entry in self.entries:
            if entry.start_offset > offset:
                break
            found = entry.epoch
        return found

    def truncate_end(self, offset: int) -> None:
        """The log ends there now. An epoch that began there has no record left, but has begun."""
        if self.entries and self.entries[-1].start_offset > offset:
            self._become([e for e in self.entries if e.start_offset <= offset])

    def forget_from(self, offset: int) -> None:
        """Epochs that began there, or later, never were: so another history says."""
        if self.entries and self.entries[-1].start_offset >= offset:
            self._become([e for e in self.entries if e.start_offset < offset])

    def undo(self, entries: list[EpochStart]) -> None:
        """What has begun since is undone."""
        if self.entries is not entries:
            self._become(entries)

    def truncate_start(self, offset: int) -> None:
        """Epochs that ended below the log's start go; the one it starts in begins there."""
        if not self.entries or self.entries[0].start_offset >= offset:
            return
        first = self.epoch_at(offset)
        rest = [e for e in self.entries if e.start_offset > offset]
        self._become([EpochStart(first, offset), *rest])

    def _become(self, entries: list[EpochStart]) -> None:
        self.entries = entries
        self.latest = entries[-1].epoch if entries else UNDEFINED_EPOCH
        self.changed = True

    def encode(self) -> bytes:
        return sealing.seal(VERSION, [f"{e.epoch} {e.start_offset}" for e in self.entries])


def decode(data: bytes, path: str) -> LeaderEpochs | None:
    """None if the text is not whole; Unusable if it is of a newer version."""
    try:
        version = sealing.version_of(data)
        if version > VERSION:
            raise Unusable(f"{path} has version {version}, this release reads up to {VERSION}")
        pairs = [row.split(" ") for row in sealing.unseal(data)]
        entries = [
            EpochStart(sealing.number(epoch), sealing.number(start)) for epoch, start in pairs
        ]
    except ValueError:
        return None
    for before, entry in pairwise(entries):
        if before.epoch >= entry.epoch or before.start_offset >= entry.start_offset:
            return None
    return LeaderEpochs(entries)
