"""The machine's own clock, chance and network. (The disk is in `real_disk`.)"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property

from penstock.errors import Unusable
from penstock.world.ports import Connection, FileRange, Listener, Part, World
from penstock.world.readiness import Readiness
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile

SENDFILE_FROM = 4096
"""Shorter file ranges are cheaper to read and to send along with the bytes around them."""
BACKLOG = 4096
PARTS_AT_ONCE = 256
"""Small pieces that are gathered, and read from files, before it shows whether they are taken."""


class RealClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000


class RealChance:
    def uuid(self) -> bytes:
        return uuid.uuid4().bytes

    def below(self, limit: int) -> int:
        return secrets.randbelow(limit)


class RealConnection:
    """A non-blocking socket; twice to three times as fast as streams."""

    __slots__ = ("_fd", "_socket", "_watched", "peer")

    def __init__(self, readiness: Readiness, sock: socket.socket, peer: str) -> None:
        self._socket = sock
        self._fd = sock.fileno()
        self._watched = readiness.watch(self._fd)
        self.peer = peer

    def recv_into(self, buffer: memoryview) -> int | None:
        try:
            return self._socket.recv_into(buffer)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return 0

    def send(self, parts: Sequence[Part]) -> int:
        taken = 0
        run: list[bytes | bytearray | memoryview] = []
        for part in parts:
            is_file = isinstance(part, FileRange) and len(part) >= SENDFILE_FROM
            if run and (is_file or len(run) >= PARTS_AT_ONCE):
                sent, whole = self._send_run(run, more=True)
                taken += sent
                if not whole:
                    return taken
                run = []
            if isinstance(part, FileRange) and is_file:
                sent = self._send_file(part)
                taken += sent
                if sent < len(part):
                    return taken
            elif isinstance(part, FileRange):
                run.append(part.file.read(part.position, part.length))
            else:
                run.append(part)
        return taken + self._send_run(run, more=False)[0]

    def _send_run(
        self, run: list[bytes | bytearray | memoryview], *, more: bool
    ) -> tuple[int, bool]:
        """Bytes sent, and whether those were all."""
        if not run:
            return 0, True
        try:
            sent = self._socket.sendmsg(run, (), socket.MSG_MORE if more else 0)
        except (BlockingIOError, InterruptedError):
            return 0, False
        return sent, sent == sum(map(len, run))

    def _send_file(self, part: FileRange) -> int:
        file = part.file
        assert isinstance(file, RealFile)
        taken = 0
        while taken < part.length:
            try:
                sent = os.sendfile(
                    self._fd, file.fileno(), part.position + taken, part.length - taken
                )
            except (BlockingIOError, InterruptedError):
                break
            if sent == 0:
                raise OSError(f"{file.path} is shorter than was promised")
            taken += sent
        return taken

    def on_readable(self, callback: Callable[[], None] | None) -> None:
        self._watched.on_readable(callback)

    def on_writable(self, callback: Callable[[], None] | None) -> None:
        self._watched.on_writable(callback)

    def close(self) -> None:
        self.on_readable(None)
        self.on_writable(None)
        self._socket.close()


class RealListener:
    def __init__(
        self,
        readiness: Readiness,
        sock: socket.socket,
        on_connection: Callable[[Connection], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._readiness = readiness
        self._socket = sock
        self._on_connection = on_connection
        self._paused: asyncio.TimerHandle | None = None
        self.port: int = sock.getsockname()[1]
        self._loop.add_reader(sock.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(64):
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no file handle is left: give others a moment to go
                self._loop.remove_reader(self._socket.fileno())
                self._paused = self._loop.call_later(0.1, self._resume)
                return
            sock.setblocking(False)
            with suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = f"{address[0]}:{address[1]}"
            self._on_connection(RealConnection(self._readiness, sock, peer))

    def _resume(self) -> None:
        self._paused = None
        self._loop.add_reader(self._socket.fileno(), self._accept)

    def close(self) -> None:
        if self._paused is not None:
            self._paused.cancel()
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()


class RealNetwork:
    @cached_property
    def _readiness(self) -> Readiness:
        """There is no loop yet when a world is made."""
        return Readiness(asyncio.get_running_loop())

    def host_name(self) -> str:
        return socket.getfqdn()

    async def connect(self, host: str, port: int) -> Connection:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, address)
        except BaseException:
            sock.close()
            raise
        return RealConnection(self._readiness, sock, f"{host}:{port}")

    def listen(self, host: str, port: int, on_connection: Callable[[Connection], None]) -> Listener:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            sock.listen(BACKLOG)
        except OSError as error:
            sock.close()
            raise Unusable(
                f"cannot listen at {host}:{port} ({error.strerror}); "
                "choose another address with --listen HOST:PORT"
            ) from error
        return RealListener(self._readiness, sock, on_connection)


def real_world() -> World:
    return World(clock=RealClock(), disk=RealDisk(), network=RealNetwork(), chance=RealChance())
