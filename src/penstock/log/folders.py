"""The folders of partitions in a data folder: which there are, set aside or to be removed.

What belongs to no topic of the cluster is kept under another name; only what the cluster says was
deleted goes.
"""

from __future__ import annotations

import logging
from base64 import urlsafe_b64encode
from collections.abc import Collection
from contextlib import suppress

from penstock.errors import Unusable
from penstock.log import checkpoints, layout
from penstock.world.ports import Disk

lines = logging.getLogger(__name__)


class Folders:
    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        names = disk.list(path)
        for name in names:
            if name.endswith(layout.TEMPORARY):
                disk.remove(f"{path}/{name}")
        self.names = {name for name in names if layout.parse_folder(name)}
        self._strays = [name for name in names if name.endswith(layout.STRAY)]
        self._doomed = [f"{path}/{name}" for name in names if name.endswith(layout.DELETING)]
        self.deleted: Collection[bytes] = ()
        """Ids of topics that are known to have been deleted."""

    def id_in(self, name: str) -> bytes | None:
        """Whose log is in a folder, as it says itself."""
        path = f"{self._path}/{name}/{layout.PARTITION_FILE}"
        with suppress(OSError, Unusable):
            return checkpoints.decode_partition(self._disk.read_whole(path), path)
        return None

    def set_aside(self, name: str, topic_id: bytes) -> str:
        """Kept, unless the cluster says that its topic was deleted: then it is doomed."""
        if topic_id in self.deleted:
            new = self.doom(name, topic_id)
            lines.info("%s is removed: its topic was deleted while this broker was away", name)
        else:
            new = self.keep(name, topic_id)
        return new

    def doom(self, name: str, topic_id: bytes) -> str:
        """To be removed off the loop. Not synced: what a crash brings back belongs to no topic any
        more, and is set aside."""
        new = f"{self._path}/{name}.{text_of(topic_id)}{layout.DELETING}"
        self._move(name, new)
        self._doomed.append(new)
        return new

    def keep(self, name: str, topic_id: bytes) -> str:
        new = self._free_stray(f"{self._path}/{name}.{text_of(topic_id)}{layout.STRAY}")
        self._move(name, new)
        self._disk.sync_folder(self._path)
        return new

    def _move(self, name: str, new: str) -> None:
        old = f"{self._path}/{name}"
        if self._disk.exists(old):
            self._disk.remove_folder(new)
            self._disk.rename(old, new)
        self.names.discard(name)

    def _free_stray(self, wanted: str) -> str:
        """What was set aside before is not for us to remove."""
        name, number = wanted, 1
        while self._disk.exists(name):
            name, number = f"{wanted.removesuffix(layout.STRAY)}.{number}{layout.STRAY}", number + 1
        return name

    def rename(self, old: str, new: str) -> None:
        """What has the new name already is another's, and set aside."""
        if self._disk.exists(f"{self._path}/{old}"):
            if self._disk.exists(f"{self._path}/{new}"):
                self.set_aside(new, self.id_in(new) or b"")
            self._disk.rename(f"{self._path}/{old}", f"{self._path}/{new}")
        self.names.discard(old)
        self.names.add(new)

    def doom_deleted(self) -> None:
        """What was set aside at an earlier start goes too, once the cluster says what it was."""
        wanted = {text_of(topic_id) for topic_id in self.deleted}
        for name in self._strays:
            if layout.topic_of_stray(name) in wanted:
                self._doomed.append(f"{self._path}/{name}")

    def take_doomed(self) -> list[str]:
        """Folders of deleted logs that are still there."""
        doomed, self._doomed = self._doomed, []
        return doomed


def text_of(topic_id: bytes) -> str:
    return urlsafe_b64encode(topic_id).rstrip(b"=").decode()
