"""A simulated machine, and the broker that runs on it: started, killed, paused, without power.

A process is a run of the real broker on a loop of its own. What outlives it is its machine's:
storage, clock and address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.config import BrokerConfig
from penstock.errors import Refused, Unusable
from penstock.metadata.store import Store, Unavailable, Unknown
from penstock.node import settings
from penstock.node.node import Node
from penstock.sim.disk import SimDisk
from penstock.sim.network import SimNetwork
from penstock.sim.storage import Storage
from penstock.sim.store import SimStore
from penstock.sim.world import SimChance, SimClock
from penstock.world.ports import Chance, World

if TYPE_CHECKING:
    from penstock.sim.cluster import Cluster

PORT = 9092
DATA_FOLDER = "/data"
RESTART_S = (0.2, 3.0)
"""Between these is how long it takes until somebody starts a broker again that has ended."""


class Process:
    """One broker, from its start to its end."""

    def __init__(self, machine: Machine, texts: Mapping[str, str]) -> None:
        cluster, scheduler = machine.cluster, machine.cluster.scheduler
        self._machine = machine
        self._texts = texts
        self.loop = cluster.loop(f"broker {machine.node_id}.{machine.starts}")
        self.disk = SimDisk(machine.storage, self.loop, machine.clock)
        chance = SimChance(scheduler.chance(f"broker {machine.node_id}.{machine.starts}"))
        network = SimNetwork(cluster.internet, self.loop, machine.host)
        self.world = World(machine.clock, self.disk, network, chance)
        self.node: Node | None = None
        self.is_ready = False
        self._store: SimStore | None = None
        self._told_to_stop = asyncio.Event()
        self._main = self.loop.create_task(self._serve())

    async def _serve(self) -> None:
        """As `penstock serve` does it, which ends with a message where it cannot go on."""
        try:
            self.node = Node(self.world, settings.read(self._texts), self._open_store)
            await self.node.start()
        except (Refused, Unusable, Unavailable, Unknown, OSError) as problem:
            self._machine.exited(f"did not start: {problem}")
            return
        except Exception as problem:
            self._machine.cluster.scheduler.fail(f"{self.loop.name} did not start: {problem!r}")
            return
        self.is_ready = True
        stopping = asyncio.create_task(self._told_to_stop.wait())
        await asyncio.wait((stopping, self.node.failed), return_when=asyncio.FIRST_COMPLETED)
        if self.node.failed.done():
            self._machine.exited(self.node.failed.result())
        else:
            await self._stop(self.node)

    async def _stop(self, node: Node) -> None:
        self.is_ready = False
        try:
            await node.stop()
        except (Unusable, OSError) as problem:
            self._machine.exited(f"did not stop: {problem}")
        else:
            self._machine.stopped()

    def tell_to_stop(self) -> None:
        """As SIGTERM does. It may take a while, and is begun once the start is over."""
        self.loop.call_soon(self._told_to_stop.set)

    async def _open_store(self, config: BrokerConfig, chance: Chance) -> Store:
        self._store = SimStore(self._machine.cluster.store, self.world.clock.monotonic_ms)
        self._store.client = self._machine.node_id
        return self._store

    def end(self, *, silently: bool = False) -> None:
        """At once: no callback of it runs any more."""
        self.loop.kill()
        self.is_ready = False
        self.disk.let_go()
        if self._store is not None:
            self._store.drop()
        self._machine.cluster.internet.ended(self.loop, silently=silently)


class Machine:
    def __init__(self, cluster: Cluster, node_id: int) -> None:
        scheduler = cluster.scheduler
        random = scheduler.chance(f"machine {node_id}")
        self.cluster = cluster
        self.node_id = node_id
        self.host = f"10.0.0.{node_id}"
        self.clock = SimClock(scheduler, random.randint(-200, 200), random.uniform(-1e-4, 1e-4))
        self.process: Process | None = None
        self.starts = 0
        self._random = random
        self.storage = self._new_storage()

    def _new_storage(self) -> Storage:
        made = Storage(self.cluster.scheduler.chance(f"disk {self.node_id}.{self.starts}"))
        if self.cluster.has_data_folders:
            made.make_folder(DATA_FOLDER)
        return made

    @property
    def is_ready(self) -> bool:
        return self.process is not None and self.process.is_ready

    def start(self) -> None:
        if self.process is None:
            self.starts += 1
            texts = {
                "node.id": str(self.node_id),
                "listeners": f"{self.host}:{PORT}",
                "log.dir": DATA_FOLDER,
                **self.cluster.texts,
            }
            self.process = Process(self, texts)

    def exited(self, reason: str) -> None:
        """By itself. Who looks after the machine starts it again."""
        self.cluster.scheduler.note(f"broker {self.node_id} ended: {reason}")
        if not self.cluster.may_exit(reason):
            self.cluster.scheduler.fail(f"broker {self.node_id} ended by itself: {reason}")
        self.kill()
        self.start_later()

    def stopped(self) -> None:
        """Cleanly, because it was told to."""
        self.cluster.scheduler.note(f"broker {self.node_id} has stopped")
        self.kill()
        self.start_later()

    def start_later(self) -> None:
        self.cluster.director.call_later(self._random.uniform(*RESTART_S), self.start)

    def kill(self) -> None:
        """As kill -9 does: what was written is in the page cache, and stays."""
        process, self.process = self.process, None
        if process is not None:
            self.cluster.scheduler.note(f"broker {self.node_id} is killed")
            process.end()

    def cut_power(self) -> None:
        """What was not synced is lost or torn."""
        process, self.process = self.process, None
        self.cluster.scheduler.note(f"broker {self.node_id} has no power")
        if process is not None:
            process.end(silently=True)
        self.storage.crash()

    def end_in_the_middle(self, steps: int, *, power: bool) -> None:
        """After so many more changes to the disk, which may be between two of one callback."""
        if self.process is not None:
            self.process.disk.die_after(steps, lambda: self.end(power=power))

    def end(self, *, power: bool) -> None:
        """And somebody starts it again."""
        if power:
            self.cut_power()
        else:
            self.kill()
        self.start_later()

    def replace_disk(self) -> None:
        """The machine is lost, and another one takes its place, with nothing on its disk."""
        self.cut_power()
        self.storage = self._new_storage()

    def stop(self) -> None:
        if self.process is not None:
            self.process.tell_to_stop()

    def pause(self) -> None:
        if self.process is not None:
            self.process.loop.pause()

    def resume(self) -> None:
        if self.process is not None:
            self.process.loop.resume()
