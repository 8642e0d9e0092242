"""A crash at any moment: what a folder looks like before each change that is made to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.log.making import copied

from penstock.world.ports import Buffer
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile


class WatchedFile(RealFile):
    __slots__ = ()

    def append(self, parts: Sequence[Buffer]) -> None:
        self._watch()
        super().append(parts)

    def truncate(self, size: int) -> None:
        self._watch()
        super().truncate(size)

    def rename(self, path: str) -> None:
        self._watch()
        super().rename(path)

    def _watch(self) -> None:
        assert isinstance(self._disk, WatchedDisk)
        self._disk.before_change()


class WatchedDisk(RealDisk):
    """Tells before anything changes, which is when a crash makes a difference."""

    def __init__(self) -> None:
        super().__init__()
        self.before_change: Callable[[], None] = lambda: None

    def open(self, path: str) -> RealFile:
        return WatchedFile(self, path)

    def rename(self, old: str, new: str) -> None:
        self.before_change()
        super().rename(old, new)

    def remove(self, path: str) -> None:
        if self.exists(path):
            self.before_change()
        super().remove(path)


class Crashes:
    """Copies of a folder, one for each moment; moments that look alike are taken once."""

    def __init__(self, folder: Path, target: Path) -> None:
        self._folder = folder
        self._target = target
        self._seen: set[tuple[tuple[str, int], ...]] = set()
        self.folders: list[Path] = []

    def __call__(self) -> None:
        look = tuple(sorted((path.name, path.stat().st_size) for path in self._folder.iterdir()))
        if look not in self._seen:
            self._seen.add(look)
            self.folders.append(copied(self._folder, self._target / str(len(self._seen))))
