"""The only doors out of the program: clock, disk, network and chance.

Everything that the broker knows of the outside comes through these. `penstock.world.real` opens
them on the machine; a simulator opens them on a world of its own, and runs the same broker.

What a caller may rely on:
- nothing here blocks the loop for long, except `File.read`, `Disk.list` and their like, which the
  caller uses where the data is in the page cache, or where nobody waits (start, stop, offloaded);
- a `File` handle is opened at the first use, may be closed by the disk when there are too many,
  and opens again by itself;
- bytes given to `append` are in the file (the page cache) when it returns, or it has raised OSError
  and the file has its former size; they survive a power loss once a `sync` begun later has ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")

Buffer = bytes | bytearray | memoryview


class Cold(Exception):
    """The bytes asked for are not in the page cache: warm them off the loop, then ask again."""

    def __init__(self, file: File, position: int, length: int) -> None:
        super().__init__(f"{file.path}: {length} bytes at {position} are not in memory")
        self.file = file
        self.position = position
        self.length = length


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall-clock time in milliseconds since 1970."""
        ...

    def monotonic_ms(self) -> float:
        """Time that never goes back; for deadlines and durations."""
        ...


class Chance(Protocol):
    def uuid(self) -> bytes:
        """Sixteen random bytes, as a version 4 UUID."""
        ...

    def below(self, limit: int) -> int:
        """A number from 0 to limit - 1."""
        ...


class File(Protocol):
    """A file that grows at its end. All positions are bytes from its beginning."""

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int: ...

    def append(self, parts: Sequence[Buffer]) -> None: ...

    def reserve(self, end: int) -> None:
        """Finds room on the disk up to there at once, if it can; the file's size stays the same."""
        ...

    def read(self, position: int, length: int) -> bytes:
        """May be shorter than asked for, at the end of the file; may wait for the disk."""
        ...

    def read_cached(self, position: int, length: int) -> bytes:
        """The same, but raises Cold rather than wait for the disk."""
        ...

    def is_cached(self, position: int, length: int) -> bool:
        """Whether a look at the first and last page says that a read would not wait."""
        ...

    def forget(self, position: int) -> None:
        """What memory holds from there on and takes for written is read from the disk again. After
        a failed sync the two differ; what is still to be written stays as it is."""
        ...

    def truncate(self, size: int) -> None: ...

    def rename(self, path: str) -> None:
        """Gives the file another name, which this handle follows."""
        ...

    def moved(self, folder: str) -> None:
        """The folder that it is in has got another name."""
        ...

    def sync(self) -> None:
        """Blocks until the data is on disk; off the loop."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FileRange:
    """Bytes that go from a file to a socket without passing through the program."""

    file: File
    position: int
    length: int

    def __len__(self) -> int:
        return self.length


Part = bytes | bytearray | memoryview | FileRange


class Disk(Protocol):
    def open(self, path: str) -> File:
        """A handle on a file that need not exist yet: the first append creates it."""
        ...

    def exists(self, path: str) -> bool: ...

    def list(self, path: str) -> Sequence[str]:
        """Names in a folder, sorted; empty if there is no such folder."""
        ...

    def make_folder(self, path: str) -> None:
        """With its parents; no error if it is there."""
        ...

    def read_whole(self, path: str) -> bytes: ...

    def write_whole(self, path: str, data: bytes) -> None:
        """Replaces the file as one step that survives a crash: old or new content, never half."""
        ...

    def rename(self, old: str, new: str) -> None: ...

    def remove(self, path: str) -> None:
        """A file; no error if it is gone."""
        ...

    def remove_folder(self, path: str) -> None:
        """A folder and all in it; no error if it is gone."""
        ...

    def sync_folder(self, path: str) -> None: ...

    def modified_ms(self, path: str) -> int:
        """When a file was last written to."""
        ...

    def free_bytes(self, path: str) -> int: ...

    def total_bytes(self, path: str) -> int: ...

    def lock(self, path: str) -> Callable[[], None]:
        """Takes the lock file or raises Unusable; returns what releases it."""
        ...

    def sync_all(self, files: Sequence[File], folders: Sequence[str]) -> Awaitable[None]:
        """One round of group commit, off the loop: everything appended to these before the call."""
        ...

    def warm(self, file: File, position: int, length: int) -> Awaitable[None]:
        """Brings a range into the page cache, off the loop."""
        ...

    def start_writeback(self, file: File, position: int, length: int) -> None:
        """Asks the kernel to begin writing a range, so that dirty pages do not pile up."""
        ...

    def offload(self, work: Callable[[], T]) -> Awaitable[T]:
        """Runs work that takes long, off the loop."""
        ...

    def offload_large(self, work: Callable[[], T]) -> Awaitable[T]:
        """The same for work that takes much memory: one at a time, in turn."""
        ...


class Connection(Protocol):
    """A non-blocking byte stream. Its callbacks run on the loop, one at a time."""

    @property
    def peer(self) -> str: ...

    def recv_into(self, buffer: memoryview) -> int | None:
        """Bytes received; 0 when the peer has closed; None when there is nothing at the moment."""
        ...

    def send(self, parts: Sequence[Part]) -> int:
        """Bytes taken, possibly fewer than given. Raises OSError when the connection is broken."""
        ...

    def on_readable(self, callback: Callable[[], None] | None) -> None:
        """Calls whenever there may be something to receive, or its end; None stops that."""
        ...

    def on_writable(self, callback: Callable[[], None] | None) -> None: ...

    def close(self) -> None: ...


class Listener(Protocol):
    @property
    def port(self) -> int: ...

    def close(self) -> None: ...


class Network(Protocol):
    def host_name(self) -> str:
        """What others may call this machine."""
        ...

    def connect(self, host: str, port: int) -> Awaitable[Connection]:
        """To another broker. Raises OSError; who does not want to wait for long sees to that."""
        ...

    def listen(
        self, host: str, port: int, on_connection: Callable[[Connection], None]
    ) -> Listener: ...


@dataclass(frozen=True, slots=True)
class World:
    clock: Clock
    disk: Disk
    network: Network
    chance: Chance
