"""A handle on a simulated file: opened at the first use, as the real one is.

Like that one it remembers the file's size, and goes on with a file that has lost its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.sim.storage import Content, Folder
from penstock.world.ports import Buffer, Cold

if TYPE_CHECKING:
    from penstock.sim.disk import SimDisk


class SimFile:
    __slots__ = ("_disk", "_open", "_size", "path")

    def __init__(self, disk: SimDisk, path: str) -> None:
        self._disk = disk
        self.path = path
        self._open: Content | None = None
        self._size = -1

    @property
    def size(self) -> int:
        if self._size < 0:
            found = self._disk.storage.find(self.path)
            self._size = len(found.data) if isinstance(found, Content) else 0
        return self._size

    def _content(self, create: bool = False) -> Content:
        if self._open is None:
            disk = self._disk
            self._open = disk.create(self.path) if create else disk.storage.content(self.path)
        return self._open

    def existing(self) -> Content | None:
        """What a sync is to cover; None if the file is gone."""
        if self._open is not None:
            return self._open
        found = self._disk.storage.find(self.path)
        return None if isinstance(found, Folder) else found

    def append(self, parts: Sequence[Buffer]) -> None:
        size = self.size
        whole = [bytes(part) for part in parts]
        added = sum(map(len, whole))
        self._disk.step("append", f"{self.path} {size}+{added}")
        content = self._content(create=True)
        self._disk.take_room(added, self.path)
        content.write(size, whole)
        content.modified_ms = self._disk.clock.now_ms()
        self._size = size + added

    def reserve(self, end: int) -> None:
        assert end >= self.size
        self._content(create=True)

    def read(self, position: int, length: int) -> bytes:
        length = min(length, self.size - position)
        if length <= 0:
            return b""
        return bytes(self._content().data[position : position + length])

    def read_cached(self, position: int, length: int) -> bytes:
        length = min(length, self.size - position)
        if length <= 0:
            return b""
        content = self._content()
        data = bytes(content.data[position : position + length])
        if len(data) < length or not content.is_cached:
            raise Cold(self, position, length)
        return data

    def is_cached(self, position: int, length: int) -> bool:
        return min(length, self.size - position) <= 0 or self._content().is_cached

    def forget(self, position: int) -> None:
        content = self.existing()
        if content is not None:
            content.forget(position)

    def truncate(self, size: int) -> None:
        if size < self.size:
            content = self._content()
            self._disk.step("truncate", f"{self.path} {size}")
            content.truncate(size)
            content.modified_ms = self._disk.clock.now_ms()
            self._size = size

    def rename(self, path: str) -> None:
        self._disk.rename(self.path, path)
        self.path = path

    def moved(self, folder: str) -> None:
        self.path = f"{folder}/{self.path.rpartition('/')[2]}"

    def sync(self) -> None:
        content = self.existing()
        if content is not None:
            self._disk.step("sync", self.path)
            content.settle(content.mark())

    def close(self) -> None:
        self._open = None
