"""Ways to brokers that can be cut: each broker advertises a road's port, and listens at another.

Who comes along a road is known by the client id of its first request: brokers call themselves
`broker-N`. So the way from one broker to another can be cut, and that of all others left open.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

HEADER_BYTES = 14
"""Of a request, from its length to that of the client id."""
ANYONE = "*"
PIECE_BYTES = 1 << 16


@dataclass(eq=False)
class Trip:
    """One connection along a road."""

    who: str
    to: int
    writers: list[asyncio.StreamWriter]
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Roads(threading.Thread):
    """They all run in one thread, whatever the test itself is waiting for."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._loop = asyncio.new_event_loop()
        self._cut: set[tuple[str, int]] = set()
        self._jammed: set[tuple[str, int]] = set()
        self._trips: set[Trip] = set()
        self._past: list[Trip] = []
        """Kept to the end, so that none is collected before it is closed."""
        self._servers: list[asyncio.Server] = []
        self.start()

    def run(self) -> None:
        run_until_stopped(self._loop)

    def build(self, to: int, port: Callable[[], int]) -> int:
        """The port of a new road to broker `to`, which listens at `port()` whenever it is asked."""

        async def begin() -> int:
            def carry(here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
                trip = Trip("", to, [back])
                self._trips.add(trip)
                trip.task = self._loop.create_task(self._carry(trip, port, here, back))

            server = await asyncio.start_server(carry, "127.0.0.1", 0)
            self._servers.append(server)
            found: int = server.sockets[0].getsockname()[1]
            return found

        port_of_road: int = self._call(begin())
        return port_of_road

    def cut(self, who: str, to: int) -> None:
        """Connections end, and new ones come to nothing."""
        self._set(self._cut, who, to)

    def jam(self, who: str, to: int) -> None:
        """Connections stay and can be made, and nothing goes through them."""
        self._set(self._jammed, who, to)

    def isolate(self, node_id: int, others: list[int], *, jam: bool = False) -> None:
        """Nobody reaches the broker, and it reaches no other one."""
        close = self.jam if jam else self.cut
        close(ANYONE, node_id)
        for other in others:
            close(f"broker-{node_id}", other)

    def repair(self) -> None:
        async def now() -> None:
            self._cut.clear()
            self._jammed.clear()
            self._apply()

        self._call(now())

    def end(self) -> None:
        async def now() -> None:
            for server in self._servers:
                await stop_listening(server)
            while self._trips:
                for trip in self._trips:
                    trip.goes_on.set()
                    _abort(trip)
                await asyncio.sleep(0.01)

        self._call(now())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.join()

    def _set(self, ways: set[tuple[str, int]], who: str, to: int) -> None:
        async def now() -> None:
            ways.add((who, to))
            self._apply()

        self._call(now())

    def _apply(self) -> None:
        for trip in self._trips:
            if self._meets(self._cut, trip):
                _abort(trip)
            elif self._meets(self._jammed, trip):
                trip.goes_on.clear()
            else:
                trip.goes_on.set()

    @staticmethod
    def _meets(ways: set[tuple[str, int]], trip: Trip) -> bool:
        return (trip.who, trip.to) in ways or (ANYONE, trip.to) in ways

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _carry(
        self,
        trip: Trip,
        port: Callable[[], int],
        here: asyncio.StreamReader,
        back: asyncio.StreamWriter,
    ) -> None:
        try:
            head = await here.readexactly(HEADER_BYTES)
            name = await here.readexactly(max(int.from_bytes(head[12:], "big", signed=True), 0))
            trip.who = name.decode(errors="replace")
            there, onward = await asyncio.open_connection("127.0.0.1", port())
            trip.writers.append(onward)
            self._apply()
            await trip.goes_on.wait()
            onward.write(head + name)
            await asyncio.gather(self._pass(trip, here, onward), self._pass(trip, there, back))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            _abort(trip)
            self._trips.discard(trip)
            self._past.append(trip)

    @staticmethod
    async def _pass(trip: Trip, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(PIECE_BYTES):
                await trip.goes_on.wait()
                target.write(data)
                await target.drain()
        _abort(trip)


async def stop_listening(server: asyncio.Server) -> None:
    """Calls that were taken already come to be first: asyncio would leave them open for ever."""
    for each in server.sockets:
        asyncio.get_running_loop().remove_reader(each)
    await asyncio.sleep(0.01)
    server.close()


def run_until_stopped(loop: asyncio.AbstractEventLoop) -> None:
    """A thread's whole life. Nothing is left behind that would be complained of later."""

    async def tidy() -> None:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await asyncio.sleep(0.05)  # connections that were aborted are closed in the next passes

    loop.run_forever()
    loop.run_until_complete(tidy())
    loop.close()


def _abort(trip: Trip) -> None:
    for writer in trip.writers:
        writer.transport.abort()
