"""A simulated disk, as one process uses it: the port's verbs, their latency and their failures."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from penstock.errors import Unusable
from penstock.sim.file import SimFile
from penstock.sim.loop import VirtualLoop
from penstock.sim.storage import Content, Folder, Mark, Storage, problem
from penstock.world.ports import Clock, File

T = TypeVar("T")


class Killed(BaseException):
    """The process ends here, in the middle of what it does; nothing may catch this."""


class SimDisk:
    def __init__(self, storage: Storage, loop: VirtualLoop, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock
        self._loop = loop
        self._random = storage.random
        self._steps_left: int | None = None
        self._on_death: Callable[[], None] = lambda: None
        self.sync_fails = False
        """The next sync does, as when a device has failed."""
        self.is_slow = False

    # Faults

    def die_after(self, steps: int, on_death: Callable[[], None]) -> None:
        """The process is killed after so many more changes to the disk, before the next one."""
        self._steps_left, self._on_death = steps, on_death

    def heal(self) -> None:
        self._steps_left = None
        self.sync_fails = self.is_slow = False

    def step(self, verb: str, path: str) -> None:
        """Before every change."""
        if self._loop.is_dead:
            raise Killed
        self._loop.scheduler.note(f"{self._loop.name} {verb} {path}")
        if self._steps_left is not None:
            self._steps_left -= 1
            if self._steps_left < 0:
                self._steps_left = None
                self._on_death()
                raise Killed

    def take_room(self, needed: int, path: str) -> None:
        storage = self.storage
        if storage.foreign_bytes and needed > storage.free_bytes:
            raise problem(errno.ENOSPC, path)

    def _latency_s(self) -> float:
        """Mostly some milliseconds; now and then a device takes its time."""
        chance = self._random.random()
        seconds = 0.0005 + 0.004 * self._random.random()
        return seconds * (100 if chance < 0.02 or self.is_slow else 1)

    # Files

    def open(self, path: str) -> SimFile:
        return SimFile(self, path)

    def create(self, path: str) -> Content:
        found = self.storage.find(path)
        if found is None:
            folder, name = self.storage.place(path)
            found = Content(self.clock.now_ms())
            folder.change((name, found))
        if isinstance(found, Folder):
            raise problem(errno.EISDIR, path)
        return found

    def read_whole(self, path: str) -> bytes:
        return bytes(self.storage.content(path).data)

    def write_whole(self, path: str, data: bytes) -> None:
        folder, name = self.storage.place(path)
        self.step("write", path)
        self.take_room(len(data), path)
        if isinstance(self.storage.find(path), Folder):
            raise problem(errno.EISDIR, path)
        made = Content(self.clock.now_ms())
        made.write(0, [data])
        made.settle(made.mark())
        folder.change((name, made))
        self.step("finish", path)
        folder.settle(folder.mark())

    def remove(self, path: str) -> None:
        found = self.storage.find(path)
        if found is None:
            return
        if isinstance(found, Folder):
            raise problem(errno.EISDIR, path)
        self.step("remove", path)
        folder, name = self.storage.place(path)
        folder.change((name, None))

    def modified_ms(self, path: str) -> int:
        return self.storage.content(path).modified_ms

    # Folders and names

    def exists(self, path: str) -> bool:
        return self.storage.find(path) is not None

    def list(self, path: str) -> Sequence[str]:
        if self.storage.find(path) is None:
            return ()
        return sorted(self.storage.folder(path).names)

    def make_folder(self, path: str) -> None:
        so_far = ""
        for name in filter(None, path.split("/")):
            above, so_far = self.storage.folder(so_far), f"{so_far}/{name}"
            if name not in above.names:
                self.step("make", so_far)
                above.change((name, Folder()))
        self.storage.folder(path)

    def rename(self, old: str, new: str) -> None:
        entry = self.storage.find(old)
        if entry is None:
            raise problem(errno.ENOENT, old)
        (folder, name), (target, new_name) = self.storage.place(old), self.storage.place(new)
        _refuse_replacing(entry, self.storage.find(new), new)
        self.step("rename", f"{old} {new}")
        if old == new:
            return
        if folder is target:
            folder.change((name, None), (new_name, entry))
        else:
            target.change((new_name, entry))
            folder.change((name, None))

    def remove_folder(self, path: str) -> None:
        found = self.storage.find(path)
        if found is None:
            return
        folder = self.storage.folder(path)
        for name, entry in list(folder.names.items()):
            if isinstance(entry, Folder):
                self.remove_folder(f"{path}/{name}")
            else:
                self.remove(f"{path}/{name}")
        self.step("remove folder", path)
        above, name = self.storage.place(path)
        above.change((name, None))

    def sync_folder(self, path: str) -> None:
        folder = self.storage.folder(path)
        self.step("sync", path)
        folder.settle(folder.mark())

    def free_bytes(self, path: str) -> int:
        self.storage.folder(path)
        return self.storage.free_bytes

    def total_bytes(self, path: str) -> int:
        self.storage.folder(path)
        return self.storage.capacity

    def lock(self, path: str) -> Callable[[], None]:
        self.create(path)
        locks = self.storage.locks
        if path in locks:
            raise Unusable(f"{path} is locked by another process")
        locks[path] = self

        def release() -> None:
            locks.pop(path, None)

        return release

    def let_go(self) -> None:
        """The process has ended, and with it what it had locked."""
        locks = self.storage.locks
        for path in [path for path, owner in locks.items() if owner is self]:
            del locks[path]

    # Off the loop

    def sync_all(self, files: Sequence[File], folders: Sequence[str]) -> Awaitable[None]:
        contents = [file.existing() for file in files if isinstance(file, SimFile)]
        marks = [(content, content.mark()) for content in contents if content is not None]
        found = [self.storage.find(path) for path in folders]
        names = [(folder, folder.mark()) for folder in found if isinstance(folder, Folder)]
        done: asyncio.Future[None] = self._loop.create_future()
        fails, self.sync_fails = self.sync_fails, False
        self._loop.call_later(self._latency_s(), self._synced, marks, names, done, fails)
        return done

    def _synced(
        self,
        marks: Sequence[tuple[Content, Mark]],
        names: Sequence[tuple[Folder, int]],
        done: asyncio.Future[None],
        fails: bool,
    ) -> None:
        self.step("sync", f"{len(marks)} files")
        for content, mark in marks:
            if fails:
                content.lose(mark)
            else:
                content.settle(mark)
        if fails:
            if not done.done():
                done.set_exception(problem(errno.EIO, "a device"))
            return
        for folder, reached in names:
            folder.settle(reached)
        if not done.done():
            done.set_result(None)

    async def warm(self, file: File, position: int, length: int) -> None:
        assert isinstance(file, SimFile)
        await asyncio.sleep(self._latency_s())
        content = file.existing()
        if content is not None:
            content.is_cached = True

    def start_writeback(self, file: File, position: int, length: int) -> None:
        """A hint, which the device is free to follow; a power loss draws what came of it anyway."""

    def offload(self, work: Callable[[], T]) -> Awaitable[T]:
        done: asyncio.Future[T] = self._loop.create_future()
        self._loop.call_later(self._latency_s(), _carry_out, work, done)
        return done

    def offload_large(self, work: Callable[[], T]) -> Awaitable[T]:
        return self.offload(work)


def _carry_out(work: Callable[[], T], done: asyncio.Future[T]) -> None:
    try:
        result = work()
    except Exception as error:
        if not done.done():
            done.set_exception(error)
        return
    if not done.done():
        done.set_result(result)


def _refuse_replacing(entry: Content | Folder, there: Content | Folder | None, path: str) -> None:
    if there is None or there is entry:
        return
    if isinstance(entry, Folder):
        if not isinstance(there, Folder):
            raise problem(errno.ENOTDIR, path)
        if there.names:
            raise problem(errno.ENOTEMPTY, path)
    elif isinstance(there, Folder):
        raise problem(errno.EISDIR, path)
