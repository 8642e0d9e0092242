"""A simulated network: streams of bytes between processes, with delays, cuts and resets.

A link between two hosts can be cut, one way or both. As with TCP, bytes on a cut link are held and
arrive once it is whole again; if that takes too long, or if the cut was said to lose them, the
connections over it are reset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from penstock.errors import Unusable
from penstock.sim.connection import SimConnection
from penstock.sim.loop import VirtualLoop
from penstock.world.ports import Connection, Listener

RESET_AFTER_S = 15.0
"""How long the ends of a connection keep trying on a link that is cut."""
CONNECT_S_MAX = 10.0
SILENCE_S_MAX = 10.0
"""How long it takes others to notice that a machine has lost its power."""
FIRST_FREE_PORT = 40_000


class Internet:
    """All hosts and what connects them. Its own loop belongs to no process."""

    def __init__(self, loop: VirtualLoop, random: Random) -> None:
        self.loop = loop
        self.random = random
        self.listeners: dict[tuple[str, int], SimListener] = {}
        self.connections: dict[SimConnection, None] = {}
        self.is_slow = False
        self._cuts: dict[tuple[str, str], bool] = {}
        """Links by where from and where to, and whether what is sent over them is lost."""
        self._next_port = FIRST_FREE_PORT

    def delay_s(self) -> float:
        chance = self.random.random()
        seconds = 0.0001 + 0.0009 * self.random.random()
        return seconds * (100 if chance < 0.01 or self.is_slow else 1)

    def free_port(self) -> int:
        self._next_port += 1
        return self._next_port

    # Cuts

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cuts

    def cut(self, one: str, other: str, *, both_ways: bool = True, loses: bool = False) -> None:
        links = [(one, other), (other, one)] if both_ways else [(one, other)]
        for link in links:
            self._cuts[link] = loses
            self.loop.call_later(RESET_AFTER_S, self._give_up, link)

    def heal(self) -> None:
        """All links are whole again."""
        cuts, self._cuts = self._cuts, {}
        for (source, target), loses in cuts.items():
            for each in self._between(source, target):
                if loses:
                    each.reset_both()
                else:
                    each.other.pump()

    def _give_up(self, link: tuple[str, str]) -> None:
        if link in self._cuts:
            for each in self._between(*link):
                each.reset_both()

    def _between(self, source: str, target: str) -> list[SimConnection]:
        """The ends at the source."""
        return [
            each for each in self.connections if (each.host, each.other.host) == (source, target)
        ]

    def reset_some(self) -> None:
        """As a router that forgets what it knew."""
        for each in list(self.connections):
            if self.random.random() < 0.5:
                each.reset_both()

    # Ends of processes

    def ended(self, loop: VirtualLoop, *, silently: bool) -> None:
        """A process is gone: its kernel closes what it had open, if that has power."""
        for key in [key for key, found in self.listeners.items() if found.loop is loop]:
            del self.listeners[key]
        for each in [each for each in self.connections if each.loop is loop]:
            if silently:
                wait_s = self.random.random() * SILENCE_S_MAX
                self.loop.call_later(wait_s, each.reset_both)
            else:
                each.close()


class SimListener:
    def __init__(
        self,
        internet: Internet,
        loop: VirtualLoop,
        host: str,
        port: int,
        on_connection: Callable[[Connection], None],
    ) -> None:
        self._internet = internet
        self.loop = loop
        self.host = host
        self.port = port
        self._on_connection = on_connection

    def accept(self, connection: SimConnection) -> None:
        self.loop.call_soon(self._on_connection, connection)

    def close(self) -> None:
        self._internet.listeners.pop((self.host, self.port), None)


class SimNetwork:
    """What one process sees of it."""

    def __init__(self, internet: Internet, loop: VirtualLoop, host: str) -> None:
        self._internet = internet
        self._loop = loop
        self._host = host

    def host_name(self) -> str:
        return self._host

    def listen(self, host: str, port: int, on_connection: Callable[[Connection], None]) -> Listener:
        port = port or self._internet.free_port()
        if (host, port) in self._internet.listeners:
            raise Unusable(f"cannot listen at {host}:{port}: it is taken")
        made = SimListener(self._internet, self._loop, host, port, on_connection)
        self._internet.listeners[host, port] = made
        return made

    async def connect(self, host: str, port: int) -> Connection:
        internet = self._internet
        await asyncio.sleep(internet.delay_s())
        if internet.is_cut(self._host, host) or internet.is_cut(host, self._host):
            await asyncio.sleep(CONNECT_S_MAX)
            raise TimeoutError(f"{host}:{port} does not answer")
        listener = internet.listeners.get((host, port))
        if listener is None:
            raise ConnectionRefusedError(f"nobody listens at {host}:{port}")
        peer = f"{self._host}:{internet.free_port()}"
        ours = SimConnection(internet, self._loop, self._host, f"{host}:{port}")
        theirs = SimConnection(internet, listener.loop, host, peer)
        ours.join(theirs)
        listener.accept(theirs)
        return ours
