"""Files of backups, which hold the cluster's secret: nobody but their owner can read them."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.errors import Unusable
from penstock.metadata.backup_file import BYTES_MAX, FORMAT, Backup, decode_backup

_FIRST_BYTES = 100


def read_backup(path: Path) -> Backup:
    size = path.stat().st_size
    if size > BYTES_MAX:
        raise Unusable(f"{path} has {size} bytes, and a backup has at most {BYTES_MAX}")
    return decode_backup(path.read_bytes(), str(path))


def refuse_other_file(path: Path) -> None:
    """An older backup may be written over; anything else was hardly meant."""
    if not path.exists():
        return
    with path.open("rb") as file:
        if FORMAT.encode() not in file.read(_FIRST_BYTES):
            raise Unusable(f"{path} is there already, and is no backup: choose another name")


def write_secret(path: Path, data: bytes) -> None:
    """All of it or nothing, whatever happens meanwhile."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
