"""A file of the real disk, with a descriptor only while it is needed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Protocol

from penstock.world import linux
from penstock.world.ports import Buffer, Cold

MOST_PARTS = min(1024, os.sysconf("SC_IOV_MAX"))
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
CACHED_PIECE_MAX = 4 << 20
"""At least as much as the largest piece in which the page cache holds a file."""
RESERVE_FROM_FREE_BYTES = 1 << 30

_NOWAIT = getattr(os, "RWF_NOWAIT", 0)


class Handles(Protocol):
    """Who sees to it that there are not too many descriptors."""

    def opened(self, file: RealFile) -> None: ...

    def closed(self, file: RealFile) -> None: ...


class RealFile:
    """One file that grows at its end, with a descriptor only while it is needed."""

    __slots__ = (
        "__weakref__",
        "_descriptor",
        "_disk",
        "_identity",
        "_pins",
        "_size",
        "path",
        "unsynced",
        "used",
    )

    def __init__(self, disk: Handles, path: str) -> None:
        self._disk = disk
        self.path = path
        self._descriptor = -1
        self._identity: object = None
        """Which file it is, whatever its name; known once it has been opened."""
        self._size = -1
        self._pins = 0
        self.unsynced = False
        self.used = False
        """Since the disk last looked for a file to close."""

    @property
    def size(self) -> int:
        if self._size < 0:
            try:
                self._size = os.stat(self.path).st_size
            except FileNotFoundError:
                self._size = 0
        return self._size

    def descriptor(self, create: bool = False) -> int:
        self.used = True
        if self._descriptor < 0:
            flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
            self._descriptor = self._known(os.open(self.path, flags, 0o644))
            self._disk.opened(self)
        return self._descriptor

    def _known(self, descriptor: int) -> int:
        """Another file may have got the name of one that was removed: a reader who is slow must not
        go on in that one."""
        status = os.fstat(descriptor)
        identity = status.st_dev, status.st_ino, linux.generation(descriptor)
        if self._identity not in (None, identity):
            os.close(descriptor)
            raise OSError(errno.ESTALE, "another file has its name now", self.path)
        self._identity = identity
        return descriptor

    def fileno(self) -> int:
        return self.descriptor()

    @contextmanager
    def pinned(self) -> Iterator[int]:
        """The descriptor, which stays open meanwhile: for sending, and for work on threads."""
        descriptor = self.pin()
        try:
            yield descriptor
        finally:
            self.unpin()

    def pin(self) -> int:
        descriptor = self.descriptor()
        self._pins += 1
        return descriptor

    def unpin(self) -> None:
        self._pins -= 1

    def may_close(self, crowded: bool) -> bool:
        return not self._pins and (crowded or not self.unsynced)

    def exists(self) -> bool:
        return self._descriptor >= 0 or os.path.exists(self.path)

    def append(self, parts: Sequence[Buffer]) -> None:
        size = self.size
        descriptor = self.descriptor(create=True)
        self.unsynced = True
        try:
            self._size = _write_all(descriptor, parts, size)
        except OSError:
            self._size = -1  # if it cannot be cut off, it is there
            os.ftruncate(descriptor, size)
            self._size = size
            raise

    def reserve(self, end: int) -> None:
        """Not where there is little left: others may need what this file may never take."""
        size, descriptor = self.size, self.descriptor(create=True)
        space = os.fstatvfs(descriptor)
        if space.f_bavail * space.f_frsize >= RESERVE_FROM_FREE_BYTES:
            linux.reserve(descriptor, size, end - size)

    def read(self, position: int, length: int) -> bytes:
        length = min(length, self.size - position)
        if length <= 0:
            return b""
        data = os.pread(self.descriptor(), length, position)
        while len(data) < length:
            more = os.pread(self._descriptor, length - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def read_cached(self, position: int, length: int) -> bytes:
        length = min(length, self.size - position)
        if length <= 0:
            return b""
        buffer = bytearray(length)
        if self._read_now(buffer, position) < length:
            raise Cold(self, position, length)
        return bytes(buffer)

    def is_cached(self, position: int, length: int) -> bool:
        length = min(length, self.size - position)
        if length <= 0:
            return True
        probe = bytearray(1)
        if not self._read_now(probe, position):
            return False
        last = position + length - 1
        return last // PAGE_BYTES == position // PAGE_BYTES or self._read_now(probe, last) == 1

    def _read_now(self, buffer: bytearray, position: int) -> int:
        """Bytes read without waiting; fewer than asked for where the cache has not all of them."""
        try:
            return os.preadv(self.descriptor(), [buffer], position, _NOWAIT)
        except BlockingIOError:
            return 0
        except OSError as problem:
            if problem.errno != errno.EOPNOTSUPP:
                raise
            return os.preadv(self.descriptor(), [buffer], position)

    def forget(self, position: int) -> None:
        """Memory is forgotten in pieces that begin at multiples of their size, or not at all."""
        if self.exists():
            start = position - position % CACHED_PIECE_MAX
            os.posix_fadvise(self.descriptor(), start, 0, os.POSIX_FADV_DONTNEED)

    def truncate(self, size: int) -> None:
        if size >= self.size:
            return
        os.ftruncate(self.descriptor(), size)
        self._size = size
        self.unsynced = True

    def rename(self, path: str) -> None:
        os.replace(self.path, path)
        self.path = path

    def moved(self, folder: str) -> None:
        self.path = f"{folder}/{os.path.basename(self.path)}"

    def sync(self) -> None:
        if self.exists():
            with self.pinned() as descriptor:
                os.fdatasync(descriptor)
            self.unsynced = False

    def close(self) -> None:
        """Whoever closes it does without the news of a failed writeback."""
        self.unsynced = False
        if not self._pins:
            self.release()

    def release(self) -> None:
        if self._descriptor >= 0:
            self._disk.closed(self)
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.release()


def _write_all(descriptor: int, parts: Sequence[Buffer], position: int) -> int:
    """Where the file ends afterwards. The kernel takes a limited number of parts, and may take
    less than it was given."""
    rest = iter(parts)
    while chunk := list(islice(rest, MOST_PARTS)):
        wanted = sum(len(part) for part in chunk)
        written = os.pwritev(descriptor, chunk, position)
        position += written
        if written < wanted:
            remainder = memoryview(b"".join(chunk))[written:]
            while remainder:
                written = os.pwrite(descriptor, remainder, position)
                position += written
                remainder = remainder[written:]
    return position
