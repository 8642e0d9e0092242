"""What runs, in a folder that every command can read: a note for each pipeline.

A note names the process and when that began, as the system counts it: a number that another process
has by now is not mistaken for it. Notes are written anew beside the old ones and renamed, so that
nobody reads half of one. Who runs holds a lock, which the system takes back whatever happens.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from penstock.spark.errors import SparkError
from penstock.spark.pipelines.declaration import NAME_RULE, DeclarationError, is_name
from penstock.spark.pipelines.progress import Progress

VARIABLE = "PENSTOCK_STATE"
RUNNING, STOPPED, FAILED, DONE, GONE = "running", "stopped", "failed", "done", "gone"
_NOTE, _LOCK = "note.json", "lock"
_UNKNOWN = 0


class Note(msgspec.Struct, kw_only=True):
    version: int = 1
    name: str
    kind: str
    """pipeline, backfill, archive or replay."""
    pid: int
    process_began: int
    """In the system's own count; 0 where it has none."""
    began_ms: int
    updated_ms: int
    told: str = RUNNING
    """As the process itself has last said."""
    file: str | None = None
    error: str | None = None
    progress: Progress = Progress()

    @property
    def situation(self) -> str:
        """`gone`: it said that it runs, and does not."""
        if self.told == RUNNING and not is_alive(self.pid, self.process_began):
            return GONE
        return self.told


class Running(SparkError):
    """Two at once would be in each other's way."""


def default_folder() -> Path:
    if given := os.environ.get(VARIABLE):
        return Path(given)
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "penstock"


def is_alive(pid: int, began: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return began == process_began(pid) and not _is_dead(pid)


def process_began(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[19]) if fields else _UNKNOWN


def _is_dead(pid: int) -> bool:
    """Ended, and only not waited for yet by the one who started it."""
    fields = _stat(pid)
    return bool(fields) and fields[0] in ("Z", "X")


def _stat(pid: int) -> list[str]:
    """From the state of the process on; none where the system does not tell."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


class Noted:
    """The note of this process while it runs."""

    def __init__(self, folder: Path, note: Note) -> None:
        self._folder = folder
        self.note = note

    def update(self, **changes: Any) -> None:
        changes.setdefault("updated_ms", _now_ms())
        self.note = msgspec.structs.replace(self.note, **changes)
        write_whole(self._folder / _NOTE, msgspec.json.encode(self.note))


class State:
    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or default_folder()).absolute() / "pipelines"

    def folder(self, name: str) -> Path:
        if not is_name(name):
            raise DeclarationError(f"{name!r} {NAME_RULE}")
        return self.root / name

    @contextlib.contextmanager
    def running(self, name: str, kind: str, file: str | None = None) -> Iterator[Noted]:
        """Noted from here to the end, with how it ended. It is for whoever runs to say `stopped`;
        else it is done."""
        folder = self.folder(name)
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / _LOCK, name):
            pid, now_ms = os.getpid(), _now_ms()
            note = Note(
                name=name,
                kind=kind,
                pid=pid,
                process_began=process_began(pid),
                began_ms=now_ms,
                updated_ms=now_ms,
                file=file,
            )
            noted = Noted(folder, note)
            noted.update()
            try:
                yield noted
            except BaseException as error:
                noted.update(told=FAILED, error=str(error) or type(error).__name__)
                raise
            if noted.note.told == RUNNING:
                noted.update(told=DONE)

    def note(self, name: str) -> Note:
        found = _read(self.folder(name) / _NOTE)
        if found is None:
            raise SparkError(
                f"there is no pipeline {name} in {self.root}; `penstock pipeline list` shows all"
            )
        return found

    def notes(self) -> list[Note]:
        """By name. What cannot be read is none of ours."""
        if not self.root.is_dir():
            return []
        found = [_read(each / _NOTE) for each in sorted(self.root.iterdir())]
        return [each for each in found if each is not None]


def write_whole(path: Path, data: bytes) -> None:
    """All of it or nothing, whoever reads it."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    beside.write_bytes(data)
    beside.replace(path)


@contextlib.contextmanager
def _locked(path: Path, name: str) -> Iterator[None]:
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Running(
                f"{name} is running already; `penstock pipeline stop {name}` ends it"
            ) from None
        yield


def _read(path: Path) -> Note | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Note)
    except (OSError, msgspec.DecodeError):
        return None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
