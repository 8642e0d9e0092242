"""Two system calls that Python has no name for; elsewhere than on Linux the caller does without."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

_START_WRITING = 2  # SYNC_FILE_RANGE_WRITE


@cache
def _c_library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


@cache
def has_syncfs() -> bool:
    return hasattr(_c_library(), "syncfs")


def sync_filesystems(descriptors: Sequence[int], folders: Sequence[str]) -> None:
    """Everything on the filesystems that these files and folders are on; off the loop.

    Since Linux 5.8 it reports a failed writeback of any file as an error, as fsync does.
    """
    seen = {os.fstat(descriptor).st_dev for descriptor in descriptors}
    for descriptor in {os.fstat(d).st_dev: d for d in descriptors}.values():
        _checked(_c_library().syncfs(descriptor))
    for folder in {os.stat(folder).st_dev: folder for folder in folders}.values():
        if os.stat(folder).st_dev not in seen:
            _sync_filesystem_of(folder)


def _sync_filesystem_of(folder: str) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _checked(_c_library().syncfs(opened))
    finally:
        os.close(opened)


def start_writeback(descriptor: int, position: int, length: int) -> None:
    """A hint: nothing depends on it, so a failure is left for the sync to report."""
    call = getattr(_c_library(), "sync_file_range", None)
    if call is not None:
        call(
            ctypes.c_int(descriptor),
            ctypes.c_int64(position),
            ctypes.c_int64(length),
            ctypes.c_uint(_START_WRITING),
        )


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
