"""The stores that a cluster runs on, and a way to them for each broker that can be cut."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

from tests.cluster_roads import run_until_stopped
from tests.metadata import etcd_backend, zookeeper_backend
from tests.metadata.etcd_backend import EtcdProcess, Proxy
from tests.metadata.zookeeper_backend import ZookeeperServer

_numbers = itertools.count(1)


class Way(threading.Thread):
    """One broker's way to a store, in a thread of its own. `url` has a place for the address."""

    def __init__(self, server: EtcdProcess | ZookeeperServer, url: str) -> None:
        super().__init__(daemon=True)
        self._loop = asyncio.new_event_loop()
        self._proxy = Proxy(server)
        self.url = url.format(self._proxy.address)
        self.start()
        self.repair()

    def run(self) -> None:
        run_until_stopped(self._loop)

    def cut(self) -> None:
        self._call(self._proxy.cut())

    def repair(self) -> None:
        self._call(self._proxy.start())

    def end(self) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.join()

    def _call(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)


def ways_to_etcd(server: EtcdProcess | None = None) -> Callable[[], Way]:
    """To keys that no other test uses, of the server that all share unless told otherwise."""
    there = server or etcd_backend.shared_server()
    url = f"etcd://{{}}/ways/{next(_numbers)}"
    return lambda: Way(there, url)


def ways_to_zookeeper() -> Callable[[], Way]:
    there = zookeeper_backend.shared_server()
    url = f"zookeeper://{{}}/ways-{next(_numbers)}"
    return lambda: Way(there, url)


STORES: dict[str, Callable[[], Callable[[], Way] | None]] = {
    "sqlite": lambda: None,  # a file, which nobody is cut off from
    "etcd": ways_to_etcd,
    "zookeeper": ways_to_zookeeper,
}
"""What builds the ways of a new cluster's brokers."""
