"""System calls that Python has no name for; other systems than Linux do without them."""

from __future__ import annotations

import ctypes
import fcntl
import os
from functools import cache
from typing import Any

_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE
_START_WRITING = 2  # SYNC_FILE_RANGE_WRITE
_GET_GENERATION = 0x80087601  # FS_IOC_GETVERSION


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


def reserve(descriptor: int, position: int, length: int) -> None:
    """Blocks on the disk for a range, beyond the end of the file too, which stays where it is.

    A hint as well: where there is no room for it, or no such call, writing will tell.
    """
    call = getattr(_c_library(), "fallocate", None)
    if call is not None:
        call(
            ctypes.c_int(descriptor),
            ctypes.c_int(_KEEP_SIZE),
            ctypes.c_int64(position),
            ctypes.c_int64(length),
        )


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


def generation(descriptor: int) -> bytes:
    """Tells a file from earlier ones that had the same inode, where the file system can."""
    try:
        return fcntl.ioctl(descriptor, _GET_GENERATION, bytes(8))
    except OSError:
        return b""
