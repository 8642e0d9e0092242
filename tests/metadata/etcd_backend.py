"""etcd as it runs elsewhere: servers in processes of their own, on free ports of this host."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import json
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.cluster_roads import stop_listening

from penstock.metadata.store import Store
from penstock.metadata.stores.etcd import EtcdStore
from penstock.world.real import RealChance

START_S_MAX = 30
_prefixes = itertools.count(1)


def need_etcd() -> None:
    """Skips a test that there is no server for."""
    if shutil.which("etcd") is None:
        pytest.skip("etcd is not installed (apt-get install etcd-server)")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class EtcdProcess:
    """One server. It keeps its ports and its data when it is killed and started again."""

    def __init__(self, folder: Path, name: str = "one", *options: str) -> None:
        self.name = name
        self.address = f"127.0.0.1:{free_port()}"
        self.peer_address = f"127.0.0.1:{free_port()}"
        self.scheme = "http"
        self.options = options
        self.members: Sequence[EtcdProcess] = [self]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def _command(self) -> list[str]:
        client, peer = f"{self.scheme}://{self.address}", f"http://{self.peer_address}"
        cluster = ",".join(f"{each.name}=http://{each.peer_address}" for each in self.members)
        return [
            *("etcd", "--name", self.name, "--data-dir", str(self._folder / self.name)),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", cluster, *self._timing, *self.options),
        ]

    @property
    def _timing(self) -> Sequence[str]:
        """Who is alone need not wait for the others before it leads."""
        alone = len(self.members) == 1
        return ("--heartbeat-interval", "20", "--election-timeout", "100") if alone else ()

    def launch(self) -> None:
        need_etcd()
        with (self._folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def start(self) -> EtcdProcess:
        """Returns once it answers."""
        self.launch()
        self.wait_ready()
        return self

    def ensure_running(self) -> None:
        """Whatever a test has done to it."""
        if self._process is None:
            self.start()
        else:
            self.wake()

    def wait_ready(self) -> None:
        host, port = self.address.split(":")
        for _ in range(START_S_MAX * 50):
            assert self._process is not None
            assert self._process.poll() is None, f"etcd {self.name} has ended, see {self._folder}"
            try:
                if self.scheme == "http":
                    self.call("/v3/kv/range", {"key": "AA=="})
                else:
                    socket.create_connection((host, int(port))).close()
                return
            except urllib.error.HTTPError as refused:
                if refused.code < 500:
                    return  # it wants to know who asks
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"etcd {self.name} does not answer, see {self._folder}")

    def call(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        """Without any code of ours."""
        url = f"http://{self.address}{path}"
        with urllib.request.urlopen(url, json.dumps(request).encode(), timeout=5) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found

    def leads(self) -> bool:
        status = self.call("/v3/maintenance/status", {})
        return bool(status["leader"] == status["header"]["member_id"])

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(timeout=30)


def ensemble(members: Sequence[EtcdProcess]) -> None:
    """Makes one cluster of them; it is up, and has a leader."""
    for member in members:
        member.members = members
        member.launch()
    for member in members:
        member.wait_ready()


def url_of(*servers: EtcdProcess | Proxy) -> str:
    """With a prefix that no other test uses."""
    return f"etcd://{','.join(each.address for each in servers)}/tests/{next(_prefixes)}"


async def open_store(url: str, **settings: Any) -> EtcdStore:
    return await EtcdStore.open(url, chance=RealChance(), **settings)


class Server(Protocol):
    """Of whatever store."""

    @property
    def address(self) -> str: ...


class Proxy:
    """Stands between a store and a server, and fails as networks do."""

    def __init__(self, server: Server) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self._target = server.address
        self._listening: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers = asyncio.Event()
        self._answers.set()

    async def start(self) -> Proxy:
        host, port = self.address.split(":")
        self._listening = await asyncio.start_server(self._serve, host, int(port))
        return self

    async def cut(self) -> None:
        """Ends all connections, and takes no more until it is started again."""
        listening, self._listening = self._listening, None
        if listening is not None:
            await stop_listening(listening)
        for writer in tuple(self._writers):
            writer.transport.abort()
        self._answers.set()

    def hush(self) -> None:
        """Requests go on to the server; answers do not come back, as if they were on their way."""
        self._answers.clear()

    def speak(self) -> None:
        self._answers.set()

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._listening is None:  # a call that was on its way when the way was cut
            writer.transport.abort()
            return
        self._writers.add(writer)  # at once, so that a cut ends it in any case
        task = asyncio.create_task(self._carry(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._target.split(":")
        with contextlib.suppress(OSError):
            behind, to_server = await asyncio.open_connection(host, int(port))
            self._writers.add(to_server)
            await asyncio.gather(
                self._pass_on(reader, to_server, None), self._pass_on(behind, writer, self._answers)
            )
        writer.transport.abort()
        self._writers.discard(writer)

    async def _pass_on(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, gate: asyncio.Event | None
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                if gate is not None:
                    await gate.wait()
                to.write(data)
                await to.drain()
        to.transport.abort()
        self._writers.discard(to)


@cache
def shared_server() -> EtcdProcess:
    """One for all tests of this process that do no harm to it."""
    need_etcd()
    folder = Path(tempfile.mkdtemp(prefix="penstock-etcd-"))
    server = EtcdProcess(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    return server.start()


def opener(folder: Path) -> Callable[[], Awaitable[Store]]:
    url = url_of(shared_server())
    return lambda: open_store(url)
