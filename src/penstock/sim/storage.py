"""What a simulated machine's disk holds: as its processes see it, and as a power loss leaves it.

Two things are lost unless synced: a file's bytes, and what became of names in a folder. A name that
came with bytes that were synced may be gone all the same, and a file renamed be back under its old
name. In what way they are lost is for `Loss` to say.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import count
from random import Random

from penstock.sim.loss import SECTOR_BYTES, Loss

Change = tuple[tuple[str, "Content | Folder | None"], ...]
"""Names, and what they are from now on; all or none of it happens."""

_numbers = count()
"""Every change has one, so that it can be said which came first."""


class Mark:
    """How much of a file a sync covers that has begun: less, if the file is cut meanwhile."""

    __slots__ = ("is_spoiled", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.is_spoiled = False


class Content:
    """The bytes of a file, whatever it is called."""

    __slots__ = (
        "_marks",
        "_spoiled_at",
        "_unsynced",
        "data",
        "former",
        "is_cached",
        "lost",
        "modified_ms",
        "synced",
    )

    def __init__(self, modified_ms: int) -> None:
        self.data = bytearray()
        self.synced = 0
        """So many of the first bytes are on the disk as they are here."""
        self.former: bytes | None = None
        """What is on the disk, where synced bytes have been cut off or overwritten since."""
        self._spoiled_at = 0
        self._unsynced: list[tuple[int, int]] = []
        """Changes since, and where the file ended after each."""
        self._marks: list[Mark] = []
        self.lost: list[tuple[int, int]] = []
        """Stretches whose sync has failed. The kernel takes them for written, and tells nobody
        twice: they read well until the power goes."""
        self.is_cached = True
        self.modified_ms = modified_ms

    def write(self, position: int, parts: list[bytes]) -> None:
        if position < len(self.data):
            self._spoil(position)
        elif position > len(self.data):
            self.data += bytes(position - len(self.data))
        self._write_again(position - position % SECTOR_BYTES)
        for part in parts:
            self.data[position : position + len(part)] = part
            position += len(part)
        self._unsynced.append((next(_numbers), position))

    def _write_again(self, sector: int) -> None:
        """Who writes to a part of a sector has all of it written, also what failed before."""
        self.lost = [(start, min(end, sector)) for start, end in self.lost if start < sector]

    def truncate(self, size: int) -> None:
        self._spoil(size)
        del self.data[size:]

    def _spoil(self, position: int) -> None:
        for mark in self._marks:
            mark.size, mark.is_spoiled = min(mark.size, position), True
        self._unsynced = [(number, min(end, position)) for number, end in self._unsynced]
        self.lost = [(start, min(end, position)) for start, end in self.lost if start < position]
        if position < self.synced:
            if self.former is None:
                self.former = bytes(self.data[: self.synced])
                self._spoiled_at = next(_numbers)
            self.synced = position

    def mark(self) -> Mark:
        self._marks.append(Mark(len(self.data)))
        return self._marks[-1]

    def settle(self, mark: Mark) -> None:
        """A sync has ended. What was cut while it ran is left for the next one."""
        if mark in self._marks:
            self._marks.remove(mark)
        self.synced = max(self.synced, mark.size)
        self._unsynced = [each for each in self._unsynced if each[1] > self.synced]
        if not mark.is_spoiled:
            self.former = None

    def lose(self, mark: Mark) -> None:
        """A sync has failed. What was written since it began is still to be written."""
        if mark in self._marks:
            self._marks.remove(mark)
        if mark.size > self.synced:
            self.lost.append((self.synced, mark.size))
            if mark.size < len(self.data):
                self._write_again(mark.size - mark.size % SECTOR_BYTES)

    def forget(self, position: int) -> None:
        """What the kernel takes for written is read from the disk from now on."""
        for start, end in self.lost:
            first = max(start, position - position % SECTOR_BYTES)
            self.data[first:end] = bytes(max(0, end - first))
        self.lost = [(start, min(end, position)) for start, end in self.lost if start < position]
        self.is_cached = False

    def numbers(self) -> Iterator[int]:
        """Of the changes that a power loss may undo."""
        yield from (number for number, _ in self._unsynced)
        if self.former is not None:
            yield self._spoiled_at

    def crash(self, loss: Loss) -> None:
        if self.former is not None and loss.undoes(self._spoiled_at):
            self.data = bytearray(self.former)
        else:
            self.forget(0)
            self.data = loss.rest(self.data, self.synced, self._unsynced)
        self.synced = len(self.data)
        self.former = None
        self.lost.clear()
        self.is_cached = False
        self._marks.clear()
        self._unsynced.clear()


class Folder:
    def __init__(self) -> None:
        self.names: dict[str, Content | Folder] = {}
        self._durable: dict[str, Content | Folder] = {}
        self._pending: list[tuple[int, Change]] = []
        self._settled = 0
        """Changes since the beginning that have reached the disk."""

    def change(self, *changes: tuple[str, Content | Folder | None]) -> None:
        _apply(self.names, changes)
        self._pending.append((next(_numbers), changes))

    def mark(self) -> int:
        return self._settled + len(self._pending)

    def settle(self, mark: int) -> None:
        reached = max(0, mark - self._settled)
        for _, change in self._pending[:reached]:
            _apply(self._durable, change)
        del self._pending[:reached]
        self._settled += reached

    def numbers(self) -> Iterator[int]:
        yield from (number for number, _ in self._pending)
        for entry in {**self._durable, **self.names}.values():
            yield from entry.numbers()

    def crash(self, loss: Loss) -> None:
        kept = loss.kept([number for number, _ in self._pending])
        self.settle(self._settled + kept)
        self._pending.clear()
        self.names = dict(self._durable)
        for entry in self.names.values():
            entry.crash(loss)

    def contents(self) -> Iterator[Content]:
        for entry in self.names.values():
            if isinstance(entry, Folder):
                yield from entry.contents()
            else:
                yield entry


def _apply(names: dict[str, Content | Folder], changes: Change) -> None:
    for name, entry in changes:
        if entry is None:
            del names[name]
        else:
            names[name] = entry


class Storage:
    """One machine's disk, which outlives its processes."""

    def __init__(self, random: Random, capacity: int = 1 << 40) -> None:
        self.random = random
        self.loses_in_order = True
        self.capacity = capacity
        self.foreign_bytes = 0
        """Taken by somebody else's files."""
        self.root = Folder()
        self.locks: dict[str, object] = {}

    @property
    def free_bytes(self) -> int:
        """Where nobody else takes any room, what is ours makes no difference."""
        if not self.foreign_bytes:
            return self.capacity
        return max(0, self.capacity - self.foreign_bytes - self._used_bytes)

    @property
    def _used_bytes(self) -> int:
        return sum(len(content.data) for content in self.root.contents())

    def fill(self, leaving: int) -> None:
        """Somebody else takes all of the room but this."""
        self.foreign_bytes = self.capacity - self._used_bytes - leaving

    def crash(self) -> None:
        """The power goes, and comes back."""
        pending = sorted(self.root.numbers()) if self.loses_in_order else None
        self.root.crash(Loss(self.random, pending))
        self.locks.clear()

    def make_folder(self, path: str) -> None:
        """As whoever set the machine up has done it, a long time ago."""
        folder = self.root
        for name in filter(None, path.split("/")):
            made = Folder()
            folder.change((name, made))
            folder.settle(folder.mark())
            folder = made

    def find(self, path: str) -> Content | Folder | None:
        entry: Content | Folder | None = self.root
        for name in path.split("/"):
            if not name:
                continue
            if not isinstance(entry, Folder):
                return None
            entry = entry.names.get(name)
        return entry

    def content(self, path: str) -> Content:
        found = self.find(path)
        if found is None:
            raise problem(errno.ENOENT, path)
        if isinstance(found, Folder):
            raise problem(errno.EISDIR, path)
        return found

    def folder(self, path: str) -> Folder:
        found = self.find(path)
        if found is None:
            raise problem(errno.ENOENT, path)
        if not isinstance(found, Folder):
            raise problem(errno.ENOTDIR, path)
        return found

    def place(self, path: str) -> tuple[Folder, str]:
        """The folder that a path is in, and its name there."""
        above, _, name = path.rpartition("/")
        return self.folder(above), name


def problem(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
