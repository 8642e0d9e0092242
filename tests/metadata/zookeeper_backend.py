"""Real ZooKeeper servers on loopback, and stores in nodes of their own on one of them."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from penstock.metadata.store import Store
from penstock.metadata.stores.zookeeper import ZookeeperStore
from penstock.world.real import RealChance

JARS = [
    Path("/usr/share/java") / f"{name}.jar"
    for name in ("zookeeper", "slf4j-simple", "netty-codec", "netty-resolver")
]
"""Netty's are for TLS; Debian's package names only some of those that it needs."""
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JAVA = ("java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
TICK_MS = 500
"""So that leases may be as short as a second."""
START_S = 30.0


def opener(folder: Path) -> Callable[[], Awaitable[Store]]:
    url = shared_server().url(f"/{uuid.uuid4().hex}")
    return lambda: ZookeeperStore.open(url, chance=RealChance())


def require_server() -> None:
    if not shutil.which("java") or not JARS[0].exists():
        pytest.skip("no ZooKeeper server here; install the Debian package `zookeeper`")


@cache
def shared_server() -> ZookeeperServer:
    """One for all tests of this process."""
    require_server()
    folder = Path(tempfile.mkdtemp(prefix="penstock-zookeeper-"))
    server = ZookeeperServer(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.end)  # before the folder goes
    server.start()
    server.wait_ready()
    return server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ZookeeperServer:
    """One server, alone or with others; its files and its output are in the folder."""

    def __init__(self, folder: Path, *, settings: Sequence[str] = (), number: int = 1) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "data").mkdir(exist_ok=True)
        (folder / "data" / "myid").write_text(str(number))
        lines = [
            f"tickTime={TICK_MS}",
            f"dataDir={folder}/data",
            f"clientPort={self.port}",
            "clientPortAddress=127.0.0.1",
            "admin.enableServer=false",
            *settings,
        ]
        (folder / "zoo.cfg").write_text("\n".join(lines) + "\n")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, chroot: str) -> str:
        return f"zookeeper://{self.address}{chroot}"

    def start(self) -> None:
        with (self.folder / "server.log").open("ab") as output:
            self.process = subprocess.Popen(
                [*JAVA, "-cp", ":".join(map(str, JARS)), MAIN, str(self.folder / "zoo.cfg")],
                stdout=output,
                stderr=output,
                cwd=self.folder,
            )

    def wait_ready(self) -> None:
        deadline = time.monotonic() + START_S
        while not self.mode():
            if time.monotonic() > deadline:
                raise AssertionError((self.folder / "server.log").read_text()[-3000:])
            time.sleep(0.05)

    def mode(self) -> str:
        """standalone, leader or follower; empty while it does not serve."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as asked:
            asked.sendall(b"srvr")
            answer = b"".join(iter(lambda: asked.recv(4096), b"")).decode()
            return next((line[6:] for line in answer.splitlines() if line[:6] == "Mode: "), "")
        return ""

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)
        assert self.process is not None
        wait_stopped(self.process.pid)

    def wake(self) -> None:
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """At once, as by a crash."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)


def ensemble(folder: Path) -> list[ZookeeperServer]:
    """Three that know of each other; they are not started yet."""
    require_server()
    ports = [(free_port(), free_port()) for _ in range(3)]
    peers = [f"server.{i}=127.0.0.1:{a}:{b}" for i, (a, b) in enumerate(ports, 1)]
    settings = ["initLimit=20", "syncLimit=4", *peers]
    return [
        ZookeeperServer(folder / str(number), settings=settings, number=number)
        for number in (1, 2, 3)
    ]


def wait_stopped(pid: int) -> None:
    """Returns once the signal to stop has reached all threads of a process."""
    threads = Path(f"/proc/{pid}/task")
    while any(_runs(thread) for thread in threads.iterdir()):
        time.sleep(0.001)


def _runs(thread: Path) -> bool:
    """Whether a signal to stop has not reached it yet."""
    return (thread / "stat").read_text().rpartition(")")[2].split()[0] != "T"


class Road:
    """A way to a server that can be cut, or made to swallow what is sent; the server goes on."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._refuses = False
        self._server: asyncio.Server | None = None

    async def build(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]

    def url(self, chroot: str) -> str:
        return f"zookeeper://127.0.0.1:{self.port}{chroot}"

    def break_off(self) -> None:
        """Ends all connections, and lets no new one come to be."""
        self._refuses = True
        for writer in self._writers:
            writer.transport.abort()

    def swallow(self) -> None:
        """Connections stay, and nothing goes through them."""
        self._open.clear()

    def repair(self) -> None:
        self._refuses = False
        self._open.set()

    async def end(self) -> None:
        self.break_off()
        self._open.set()
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()
        while self._writers:
            await asyncio.sleep(0.01)

    async def _carry(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._writers.add(back)
        try:
            if self._refuses:
                return
            there, onward = await asyncio.open_connection("127.0.0.1", self._to)
            self._writers.add(onward)
            try:
                ways = [self._pass(here, onward), self._pass(there, back)]
                tasks = [asyncio.create_task(way) for way in ways]
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    task.cancel()
            finally:
                self._writers.discard(onward)
                onward.transport.abort()
        except OSError:
            pass
        finally:
            self._writers.discard(back)
            back.transport.abort()

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                await self._open.wait()
                target.write(data)
                await target.drain()
