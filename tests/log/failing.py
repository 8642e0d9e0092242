"""A disk of which some calls fail. It syncs nothing, since nothing here loses its power."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.world.ports import Buffer
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile

Fails = Callable[[str, str], bool]
"""Whether a call fails, by what is to be done to which path."""


def nothing(_verb: str, _path: str) -> bool:
    return False


class FailingFile(RealFile):
    __slots__ = ()

    def _try(self, verb: str) -> None:
        assert isinstance(self._disk, FailingDisk)
        self._disk.attempt(verb, self.path)

    def append(self, parts: Sequence[Buffer]) -> None:
        self._try("append")
        super().append(parts)
        self._try("finish")  # all of it got through, and nobody has cut it off again

    def read(self, position: int, length: int) -> bytes:
        self._try("read")
        return super().read(position, length)

    def read_cached(self, position: int, length: int) -> bytes:
        self._try("read")
        return super().read_cached(position, length)

    def truncate(self, size: int) -> None:
        if size < self.size:
            self._try("truncate")
        super().truncate(size)

    def rename(self, path: str) -> None:
        self._try("rename")
        super().rename(path)

    def sync(self) -> None:
        self.unsynced = False


class FailingDisk(RealDisk):
    def __init__(self) -> None:
        super().__init__()
        self.fails: Fails = nothing

    def attempt(self, verb: str, path: str) -> None:
        if self.fails(verb, path):
            raise OSError(errno.EIO, f"cannot {verb} {path}")

    def open(self, path: str) -> RealFile:
        return FailingFile(self, path)

    def list(self, path: str) -> Sequence[str]:
        self.attempt("list", path)
        return super().list(path)

    def read_whole(self, path: str) -> bytes:
        self.attempt("read", path)
        return super().read_whole(path)

    def write_whole(self, path: str, data: bytes) -> None:
        self.attempt("write", path)
        Path(path).with_name("being.written.tmp").write_bytes(data)
        Path(path).with_name("being.written.tmp").replace(path)

    def rename(self, old: str, new: str) -> None:
        self.attempt("rename", old)
        super().rename(old, new)

    def remove(self, path: str) -> None:
        if self.exists(path):
            self.attempt("remove", path)
        super().remove(path)

    def sync_folder(self, path: str) -> None:
        pass
