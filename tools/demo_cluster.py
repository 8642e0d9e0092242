"""The cluster that the demo runs on: `penstock cluster up`, on the embedded store or on etcd."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
from rich.console import Console

BROKERS = 3
READY = "penstock cluster ready: "
START_S_MAX = 60
LEASE = "broker.session.timeout.ms=5000"
"""Shorter than by default, so that nobody waits long for the cluster to notice a death."""


class Cluster:
    def __init__(self, folder: Path, console: Console) -> None:
        self.folder = folder
        self.addresses = ""
        self.store = f"sqlite:{folder / 'cluster' / 'metadata.sqlite'}"
        self._console = console
        self._etcd: subprocess.Popen[bytes] | None = None
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        began = time.monotonic()
        command = [sys.executable, "-m", "penstock", "cluster", "up", "--brokers", str(BROKERS)]
        command += ["--data-dir", str(self.folder / "cluster"), "--base-port", "0"]
        command += ["--set", "log.level=error", "--set", LEASE, *self._store()]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._console.print(f"  {line.rstrip()}")
            if line.startswith(READY):
                self.addresses = line.removeprefix(READY).strip()
                break
        else:
            raise SystemExit("the cluster did not start")
        self._console.print(f"  after {1000 * (time.monotonic() - began):.0f} ms")

    def _store(self) -> list[str]:
        kind = os.environ.get("STORE", "sqlite")
        if kind == "sqlite":
            return []
        if kind != "etcd":
            raise SystemExit(f"STORE={kind}: the demo knows sqlite and etcd")
        self.store = f"etcd://{self._start_etcd()}/demo"
        return ["--store", self.store]

    def _start_etcd(self) -> str:
        program = shutil.which("etcd")
        if program is None:
            raise SystemExit("etcd is not installed: apt-get install etcd-server")
        client, peer = (f"127.0.0.1:{_free_port()}" for _ in range(2))
        with open(self.folder / "etcd.log", "wb") as lines:
            self._etcd = subprocess.Popen(
                [
                    *(program, "--data-dir", str(self.folder / "etcd")),
                    *("--listen-client-urls", f"http://{client}"),
                    *("--advertise-client-urls", f"http://{client}"),
                    *("--listen-peer-urls", f"http://{peer}"),
                ],
                stdout=lines,
                stderr=lines,
            )
        self._wait_for(client)
        return client

    def _wait_for(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        give_up_s = time.monotonic() + START_S_MAX
        while time.monotonic() < give_up_s:
            try:
                socket.create_connection((host, int(port)), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise SystemExit("etcd did not start")

    def kill_one(self, number: int) -> int:
        """With -9. It is started again after a second, by the process that looks after all."""
        state = msgspec.json.decode((self.folder / "cluster" / "cluster.json").read_bytes())
        broker = state["brokers"][number % BROKERS]
        os.kill(broker["pid"], signal.SIGKILL)
        return int(broker["node_id"])

    def stop(self) -> None:
        for process in (self._process, self._etcd):
            if process is not None:
                process.terminate()
                process.wait()


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
