"""Brokers that share a store, as processes on this machine, and what a client sees of them."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.raw_client import RawClient
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic

READY = re.compile(r"penstock ready: broker \d+ at (.+):(\d+)\n")
METADATA_VERSION = 9
WAIT_S = 600
LEASE_MS = 2000


class SeveralBrokers:
    """On a SQLite store, wherever the scheduler puts them, for the time of a `with`."""

    def __init__(self, count: int, *settings: str) -> None:
        self.count = count
        self.settings = (f"broker.session.timeout.ms={LEASE_MS}", *settings)
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self._ports: dict[int, int] = {}

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR"))
        for node_id in range(1, self.count + 1):
            self.start(node_id)
        with self.client(1) as client:
            _await(lambda: len(client.request(MetadataRequest([]), 9).brokers) == self.count)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for node_id in list(self._processes):
            self.end(node_id, signal.SIGKILL)
        self._folder.cleanup()

    def start(self, node_id: int) -> None:
        folder = Path(self._folder.name)
        command = [sys.executable, "-m", "penstock", "serve", "--node-id", str(node_id)]
        command += ["--listen", f"127.0.0.1:{self._ports.get(node_id, 0)}"]
        command += ["--data-dir", str(folder / f"data-{node_id}")]
        command += ["--store", f"sqlite:{folder / 'metadata.db'}"]
        for setting in ("log.level=error", *self.settings):
            command += ["--set", setting]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        found = READY.fullmatch(process.stdout.readline())
        assert found, "the broker did not start"
        self._processes[node_id], self._ports[node_id] = process, int(found[2])

    def end(self, node_id: int, number: signal.Signals) -> None:
        process = self._processes.pop(node_id)
        process.send_signal(number)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def folder_of(self, node_id: int) -> Path:
        return Path(self._folder.name) / f"data-{node_id}"

    def client(self, node_id: int) -> RawClient:
        return RawClient("127.0.0.1", self._ports[node_id])

    @property
    def address(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    def resident_mb(self) -> list[float]:
        statm = (Path(f"/proc/{each.pid}/statm") for each in self._processes.values())
        page_mb = resource.getpagesize() / 1e6
        return [int(each.read_text().split()[1]) * page_mb for each in statm]

    def cpu_seconds(self) -> float:
        """User and system time of all threads of all of them."""
        return sum(
            int(thread.read_text().split()[0]) / 1e9
            for process in self._processes.values()
            for thread in Path(f"/proc/{process.pid}/task").glob("*/schedstat")
        )

    def partitions(self, topic: str) -> list[Any]:
        """As whoever is there tells them."""
        node_id = next(iter(self._processes))
        with self.client(node_id) as client:
            return partitions(client, topic)

    def await_all_in_sync(self, topic: str, replicas: int) -> None:
        _await(
            lambda: all(len(each.isr_nodes) == replicas for each in self.partitions(topic) or [0])
        )


def partitions(client: RawClient, topic: str) -> list[Any]:
    request = MetadataRequest([MetadataRequestTopic(name=topic)])
    found: list[Any] = client.request(request, METADATA_VERSION).topics[0].partitions
    return sorted(found, key=lambda each: each.partition_index)


def _await(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.01)
