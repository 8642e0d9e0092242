"""Topics of which this data folder may have records that were acknowledged without a sync.

A broker that was not stopped cleanly has to know how its records were written, and not how they
would be written now: the setting may have been switched while it was down. So a topic is noted
before the first such record, and forgotten at a start, once all that is there is on disk.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.log import layout, sealing
from penstock.world.ports import Disk

VERSION = 0


class UnsyncedTopics:
    def __init__(self, disk: Disk, folder: str) -> None:
        self._disk = disk
        self._path = f"{folder}/{layout.UNSYNCED_TOPICS_FILE}"
        self._before = self._read()
        self._noted = set(self._before or ())

    def _read(self) -> frozenset[bytes] | None:
        """None if nobody can tell: then it may be any."""
        if not self._disk.exists(self._path):
            return frozenset()
        try:
            rows = sealing.unseal(self._disk.read_whole(self._path))
            return frozenset(map(bytes.fromhex, rows))
        except ValueError:
            return None

    def may_have(self, topic_ids: Collection[bytes]) -> bool:
        """Whether the processes before this one have noted any of these."""
        return self._before is None or not self._before.isdisjoint(topic_ids)

    def note(self, topic_ids: Collection[bytes]) -> None:
        """Before anything of these is acknowledged."""
        if not self._noted.issuperset(topic_ids):
            self._write(self._noted | set(topic_ids))

    def begin_anew(self, topic_ids: Collection[bytes]) -> None:
        """With these alone: whatever was written before is on disk, or nobody counts on it."""
        if self._before is None or self._noted != set(topic_ids):
            self._write(set(topic_ids))

    def _write(self, topic_ids: set[bytes]) -> None:
        rows = sorted(each.hex() for each in topic_ids)
        self._disk.write_whole(self._path, sealing.seal(VERSION, rows))
        self._noted = topic_ids
