"""A door and its sessions on connections in memory: a test decides which byte goes when.

The broker behind it is real, with logs on a real disk; only network and metadata store are not.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.api.desk import Desk
from tests.raw_client import frame_of

from penstock.api.table import APIS
from penstock.metadata.changes import delete_topic
from penstock.server.door import Door
from penstock.server.session import Session
from penstock.server.syncer import Syncer
from penstock.wire.codec import Message, decode_response
from penstock.world.ports import Buffer, File, FileRange, Part, World
from penstock.world.real import RealChance, RealNetwork
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile

ANY = 1 << 40


BUFFER_BYTES = 256 << 10
"""So that requests of some hundred kilobytes are large ones."""


class TestClock:
    __test__ = False

    def __init__(self) -> None:
        self.time_ms = 1_750_000_000_000

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_ms(self) -> float:
        return self.time_ms


class MemoryConnection:
    """The client's end of it is `give`, `taken` and `room`."""

    def __init__(self, peer: str = "10.0.0.1:5000") -> None:
        self.peer = peer
        self.inbound = bytearray()
        self.taken = bytearray()
        self.room = ANY
        """How many bytes the client still takes."""
        self.is_closed = False
        self.is_reset = False
        """The client is gone."""
        self.readable: Callable[[], None] | None = None
        self.writable: Callable[[], None] | None = None

    def recv_into(self, buffer: memoryview) -> int | None:
        if not self.inbound:
            return 0 if self.is_reset else None
        count = min(len(buffer), len(self.inbound))
        buffer[:count] = self.inbound[:count]
        del self.inbound[:count]
        return count

    def send(self, parts: Sequence[Part]) -> int:
        assert not self.is_closed
        data = b"".join(content(part) for part in parts)[: self.room]
        self.taken += data
        self.room -= len(data)
        return len(data)

    def on_readable(self, callback: Callable[[], None] | None) -> None:
        self.readable = callback

    def on_writable(self, callback: Callable[[], None] | None) -> None:
        self.writable = callback

    def close(self) -> None:
        self.is_closed = True
        self.readable = self.writable = None

    # -- what the client and the loop do

    def step(self) -> bool:
        """What a loop does when the socket is ready; False if nobody waits for that."""
        if self.writable is not None and self.room:
            self.writable()
        elif self.readable is not None and (self.inbound or self.is_reset):
            self.readable()
        else:
            return False
        return True

    def give(self, data: bytes) -> None:
        """Bytes from the client, handled in as many passes as are needed."""
        self.inbound += data
        while self.step():
            pass

    def answers(self) -> list[bytes]:
        """Whole answers that were taken, without their lengths; they are gone afterwards."""
        found = []
        while len(self.taken) >= 4:
            end = 4 + int.from_bytes(self.taken[:4], "big")
            if len(self.taken) < end:
                break
            found.append(bytes(self.taken[4:end]))
            del self.taken[:end]
        return found


def content(part: Part) -> bytes:
    if isinstance(part, FileRange):
        return part.file.read(part.position, part.length)
    return bytes(part)


class FailingDisk(RealDisk):
    """Fails as it is told to: at writes to logs in some folder, or at every sync."""

    def __init__(self) -> None:
        super().__init__()
        self.full_folder = ""
        self.sync_fails = False
        self.syncs = asyncio.Event()
        """Rounds wait for this."""
        self.syncs.set()

    def open(self, path: str) -> RealFile:
        return FailingFile(self, path)

    async def sync_all(self, files: Sequence[File], folders: Sequence[str]) -> None:
        await self.syncs.wait()
        if self.sync_fails:
            raise OSError(errno.EIO, "Input/output error")
        await super().sync_all(files, folders)


class FailingFile(RealFile):
    def append(self, parts: Sequence[Buffer]) -> None:
        disk = self._disk
        assert isinstance(disk, FailingDisk)
        if disk.full_folder and f"/{disk.full_folder}/" in self.path:
            raise OSError(errno.ENOSPC, "no space left on device")
        super().append(parts)


class House:
    def __init__(self, folder: Path, **texts: str) -> None:
        self.disk = FailingDisk()
        self.clock = TestClock()
        self.desk = Desk(self.disk, folder, {k.replace("_", "."): v for k, v in texts.items()})
        self.broker = self.desk.broker
        self.failures: list[Exception] = []
        self.syncer = Syncer(self.disk, self.failures.append)
        world = World(self.clock, self.disk, RealNetwork(), RealChance())
        self.door = Door(world, self.broker, self, self.syncer)  # type: ignore[arg-type]
        self.door.buffer = memoryview(bytearray(BUFFER_BYTES))
        self._ports = iter(range(5000, 65_000))

    async def change(self, decide: Any) -> Any:
        """In the place of the keeper's: takes a moment as that does."""
        await asyncio.sleep(0)
        return self.desk.change(decide)

    def delete_topic(self, name: str) -> None:
        topic = self.desk.image.topics[name]
        self.desk.change(lambda image: delete_topic(image, name, nonce=topic.id))
        self.broker.remove_topic(topic)

    def connect(self, host: str = "10.0.0.1") -> MemoryConnection:
        connection = MemoryConnection(f"{host}:{next(self._ports)}")
        self.door.admit(connection)
        return connection

    def session_of(self, connection: MemoryConnection) -> Session:
        return next(each for each in self.door._sessions if each.peer == connection.peer)

    async def settle(self, until: Callable[[], bool]) -> None:
        """Let the loop run until something is so."""
        async with asyncio.timeout(30):
            while not until():
                await asyncio.sleep(0)

    async def receive(self, connection: MemoryConnection, count: int) -> list[bytes]:
        """So many answers, once they are there."""
        found: list[bytes] = []

        def all_there() -> bool:
            connection.step()
            found.extend(connection.answers())
            return len(found) >= count or connection.is_closed

        await self.settle(all_there)
        assert len(found) == count
        return found

    async def ask(
        self, connection: MemoryConnection, request: Message, version: int | None = None
    ) -> Any:
        api = APIS[request.KEY]
        version = api.versions.max if version is None else version
        connection.give(frame_of(request, version))
        (answer,) = await self.receive(connection, 1)
        return decode_response(api.response, answer, version)[1]

    async def close(self) -> None:
        self.door.close()
        self.disk.syncs.set()
        with suppress(Exception):  # the test has looked at it
            await self.syncer.drain()
        self.desk.log_dir.abandon()
        self.disk.close()
