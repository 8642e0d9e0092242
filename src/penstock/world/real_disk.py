"""The real disk: files through the page cache, syncs and slow reads on threads.

Handles are opened at the first use and closed again, those not used lately first, when there are
too many. Two kinds stay open: files that a thread is at work on; and, while that leaves enough
handles, files with unsynced data, since an error of writing them back is reported to the descriptor
that was open at the time, and might be lost with it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import resource
import shutil
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count, islice
from typing import TypeVar
from weakref import ref

from penstock.errors import Unusable
from penstock.world import linux
from penstock.world.kernel_sync import KernelSync
from penstock.world.ports import File
from penstock.world.real_file import RealFile

T = TypeVar("T")

WARM_CHUNK_BYTES = 1 << 20
CANDIDATES = 32
MOST_OPEN_FILES = 16_384
SYNC_THREADS = 8
WORK_THREADS = 4
SYNCFS_FROM_FILES = 8
"""From so many files on, one syncfs beats fdatasync on each; see docs/decisions/0004."""


class RealDisk:
    """Threads start with the first work for them; the event loop is the running one."""

    def __init__(self, max_open_files: int | None = None) -> None:
        """By default a quarter of the handles that the process may have: sockets need some too."""
        soft_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._max_open = max_open_files or max(1, min(soft_limit // 4, MOST_OPEN_FILES))
        self._filesystems: dict[int, int] = {}
        self._open: OrderedDict[int, ref[RealFile]] = OrderedDict()
        """Weakly: a file that nobody knows any more, being dropped, gives its space back."""
        self._numbers = count()
        self._kernel: KernelSync | None = None
        self._kernel_tried = False
        self._syncers = ThreadPoolExecutor(SYNC_THREADS, "sync")
        self._workers = ThreadPoolExecutor(WORK_THREADS, "work")
        self._large_worker = ThreadPoolExecutor(1, "large")

    def close(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None
        self._syncers.shutdown()
        self._workers.shutdown()
        self._large_worker.shutdown()
        for descriptor in self._filesystems.values():
            os.close(descriptor)
        self._filesystems.clear()
        for file in [found() for found in self._open.values()]:
            if file is not None:
                file.release()

    def opened(self, file: RealFile) -> None:
        if len(self._open) >= self._max_open:
            self._close_some()
        self._open[id(file)] = ref(file)

    def closed(self, file: RealFile) -> None:
        self._open.pop(id(file), None)

    def _close_some(self) -> None:
        """Those not used lately; where none may be closed there are more open, up to twice as many.

        Those that were used go to the end of the queue: that is as good as ordering them at every
        use, and costs nothing then. A few are looked at each time, so that no open takes long.
        """
        crowded = len(self._open) >= 2 * self._max_open
        for file in [found() for found in islice(self._open.values(), CANDIDATES)]:
            if file is None or len(self._open) < self._max_open:
                return
            if file.may_close(crowded) and not file.used:
                file.release()
            else:
                file.used = False
                self._open.move_to_end(id(file))

    def open(self, path: str) -> RealFile:
        return RealFile(self, path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def make_folder(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def read_whole(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def write_whole(self, path: str, data: bytes) -> None:
        temporary = f"{path}.{next(self._numbers)}.tmp"  # a thread may be writing the same file
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            with suppress(OSError):  # or it would keep room that there is too little of
                os.unlink(temporary)
            raise
        self.sync_folder(os.path.dirname(path))

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def remove(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return

    def remove_folder(self, path: str) -> None:
        shutil.rmtree(path, ignore_errors=not os.path.exists(path))

    def sync_folder(self, path: str) -> None:
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def free_bytes(self, path: str) -> int:
        space = os.statvfs(path)
        return space.f_bavail * space.f_frsize

    def total_bytes(self, path: str) -> int:
        space = os.statvfs(path)
        return space.f_blocks * space.f_frsize

    def lock(self, path: str) -> Callable[[], None]:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(descriptor)
            raise Unusable(
                f"the data folder {os.path.dirname(path)} is in use by another broker: stop that "
                "one, or give this one a folder of its own with --data-dir"
            ) from problem
        return lambda: os.close(descriptor)

    def sync_all(self, files: Sequence[File], folders: Sequence[str]) -> Awaitable[None]:
        """What has been removed meanwhile needs no sync. An error is fatal: it comes only once."""
        real = [file for file in files if isinstance(file, RealFile)]
        for file in real:
            file.unsynced = False  # what is appended from now on is for the next round
        if len(real) + len(folders) >= SYNCFS_FROM_FILES and linux.has_syncfs():
            paths = [*(file.path for file in real), *folders]
            run = asyncio.get_running_loop().run_in_executor
            return run(self._syncers, self._sync_filesystems, paths)
        return self._sync_each(real, folders)

    async def _sync_each(self, files: Sequence[RealFile], folders: Sequence[str]) -> None:
        """Files are pinned here, on the loop, so that threads only see open descriptors."""
        run = asyncio.get_running_loop().run_in_executor
        pinned: list[RealFile] = []
        try:
            for file in files:
                if file.exists():
                    file.pin()
                    pinned.append(file)
            jobs = self._sync_jobs([file.fileno() for file in pinned])
            jobs += [run(self._syncers, self._sync_folder_if_there, folder) for folder in folders]
            results = await _all_of(jobs)
        finally:
            for file in pinned:
                file.unpin()
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _sync_jobs(self, descriptors: Sequence[int]) -> list[asyncio.Future[None]]:
        """By the kernel's workers where it has some and they are free, else on threads."""
        loop = asyncio.get_running_loop()
        kernel = self._kernel_sync(loop)
        if kernel is None or kernel.is_busy or not descriptors:
            return [loop.run_in_executor(self._syncers, os.fdatasync, each) for each in descriptors]
        return [kernel.sync(descriptors)]

    def _kernel_sync(self, loop: asyncio.AbstractEventLoop) -> KernelSync | None:
        if not self._kernel_tried:
            self._kernel_tried = True
            with suppress(OSError):
                self._kernel = KernelSync(loop)
        return self._kernel

    def _sync_folder_if_there(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self.sync_folder(path)

    def _sync_filesystems(self, paths: Sequence[str]) -> None:
        """On a thread. One descriptor per file system stays open, so that no error passes unseen
        because somebody else was told of it."""
        devices: dict[int, str] = {}
        for folder in {os.path.dirname(path) for path in paths}:
            with suppress(FileNotFoundError):
                devices[os.stat(folder or ".").st_dev] = folder
        for device, folder in devices.items():
            if device not in self._filesystems:
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
                self._filesystems[device] = os.open(_lasting_folder(folder, device), flags)
            linux.syncfs(self._filesystems[device])

    async def warm(self, file: File, position: int, length: int) -> None:
        assert isinstance(file, RealFile)
        descriptor = file.pin()
        try:
            await self.offload(lambda: _read_through(descriptor, position, length))
        finally:
            file.unpin()

    def start_writeback(self, file: File, position: int, length: int) -> None:
        """On a thread: where the device's queue is full, even this waits.

        The file is not pinned. It is unsynced, so it stays open; and were it not to, a hint about
        some other file would do no harm.
        """
        assert isinstance(file, RealFile)
        self._workers.submit(linux.start_writeback, file.descriptor(), position, length)

    def list(self, path: str) -> Sequence[str]:
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return ()

    def offload(self, work: Callable[[], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._workers, work)

    def offload_large(self, work: Callable[[], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._large_worker, work)


async def _all_of(jobs: Sequence[asyncio.Future[None]]) -> Sequence[object]:
    """What became of each; mostly there is one."""
    if len(jobs) > 1:
        return await asyncio.gather(*jobs, return_exceptions=True)
    for job in jobs:
        await job
    return ()


def _lasting_folder(folder: str, device: int) -> str:
    """As far up on a file system as we may read: what is removed while it is open keeps its space,
    and folders of partitions are removed."""
    folder = os.path.abspath(folder)
    while True:
        above = os.path.dirname(folder)
        if above == folder or os.stat(above).st_dev != device or not os.access(above, os.R_OK):
            return folder
        folder = above


def _read_through(descriptor: int, position: int, length: int) -> None:
    os.posix_fadvise(descriptor, position, length, os.POSIX_FADV_WILLNEED)
    scratch = bytearray(min(length, WARM_CHUNK_BYTES))
    end = position + length
    while position < end:
        got = os.preadv(descriptor, [scratch], position)
        if not got:
            return
        position += got
