"""Two system calls that Python has no name for; elsewhere than on Linux the caller does without."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

_START_WRITING = 2  # SYNC_FILE_RANGE_WRITE


@cache
def _c_library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


@cache
def has_syncfs() -> bool:
    return hasattr(_c_library(), "syncfs")


def syncfs(descriptor: int) -> None:
    """Everything on the file system that a descriptor is on; off the loop.

    Since Linux 5.8 it reports a failed writeback of any file as an error, as fsync does, if that
    happened after the descriptor was opened.
    """
    if _c_library().syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


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
