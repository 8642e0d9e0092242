"""A simulated cluster: machines with brokers, a network between them, and the metadata store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.metadata.store import Put
from penstock.sim.loop import VirtualLoop, virtual_loop
from penstock.sim.machine import PORT, Machine
from penstock.sim.network import Internet
from penstock.sim.scheduler import Scheduler
from penstock.sim.store import StoreServer
from penstock.sim.view import View


class Cluster:
    def __init__(
        self,
        scheduler: Scheduler,
        brokers: int,
        texts: Mapping[str, str],
        *,
        has_data_folders: bool = True,
    ) -> None:
        """Without data folders, brokers make their own."""
        self.scheduler = scheduler
        self.has_data_folders = has_data_folders
        self.texts = texts
        self.loops: list[VirtualLoop] = []
        self.director = self.loop("director")
        """Where faults are decided on: no fault hits it."""
        self.internet = Internet(self.loop("network"), scheduler.chance("network"))
        self.store = StoreServer(self.loop("store"), scheduler.chance("store"))
        self.machines = [Machine(self, node_id) for node_id in range(1, brokers + 1)]
        self.view = View(self)
        self.may_exit: Callable[[str], bool] = lambda reason: False

    def loop(self, name: str) -> VirtualLoop:
        made = virtual_loop(self.scheduler, name)
        self.loops.append(made)
        return made

    def machine(self, node_id: int) -> Machine | None:
        return next((each for each in self.machines if each.node_id == node_id), None)

    def cut_off(self, machine: Machine) -> None:
        """From all other brokers and the store; clients reach it as before."""
        for other in self.machines:
            if other is not machine:
                self.internet.cut(machine.host, other.host)
        self.store.cut_off.add(machine.node_id)

    def start(self) -> None:
        for machine in self.machines:
            machine.start()

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return [(machine.host, PORT) for machine in self.machines]

    def replace_store(self, puts: Sequence[Put]) -> None:
        """By another one that holds this and nothing else; no broker runs."""
        self.store.close()
        name = f"store {len(self.loops)}"
        self.store = StoreServer(self.loop(name), self.scheduler.chance(name))
        self.store.state.commit([], puts, [], None)

    def heal(self) -> None:
        """Whatever was done to it is over, and every broker is to run."""
        self.internet.heal()
        self.internet.is_slow = False
        self.store.heal()
        for machine in self.machines:
            machine.storage.foreign_bytes = 0
            machine.resume()
            if machine.process is None:
                machine.start()
            else:
                machine.process.disk.heal()

    def close(self) -> None:
        self.scheduler.is_over = True
        for loop in self.loops:
            loop.kill()
        for loop in self.loops:
            loop.bury()
