"""The simulated metadata store: one server, and what each broker has of it.

It keeps to the contract in `penstock.metadata.store` and uses all that this allows: answers that
come late or never, commits of which nobody can say whether they were written (or will be), watches
that lag or begin anew. It needs no more of a loop than timers, and so runs on any.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from random import Random
from typing import TypeVar

from penstock.metadata.store import (
    Check,
    Conflict,
    Entry,
    Events,
    Put,
    Reset,
    SessionLost,
    Unavailable,
    Unknown,
)
from penstock.sim.store_session import SimSession
from penstock.sim.store_state import StoreState

T = TypeVar("T")

TTL_MIN_MS = 2000
LEASE_CHECK_S = 0.25
GIVE_UP_S = 3.0
"""How long a client waits for an answer."""
LATE_S_MAX = 6.0
"""A commit may be written after its client has given up, but no later than this."""


class StoreServer:
    """`loop` is where the server itself lives; faults are set from outside."""

    def __init__(self, loop: asyncio.AbstractEventLoop, random: Random) -> None:
        self.loop = loop
        self.random = random
        self.state = StoreState()
        self.watchers: dict[SimStore, None] = {}
        self.is_down = False
        self.is_slow = False
        self.unknown_rate = 0.0
        """How often a commit's answer is lost, written or not."""
        self.watch_lag_s = 0.0
        self.cut_off: set[int] = set()
        """Clients that do not reach it."""
        self._checking: asyncio.TimerHandle | None = None
        self._check_leases()

    def _check_leases(self) -> None:
        if not self.is_down:
            self.change(lambda: self.state.end_overdue(self.loop.time()))
        self._checking = self.loop.call_later(LEASE_CHECK_S, self._check_leases)

    def close(self) -> None:
        if self._checking is not None:
            self._checking.cancel()

    def change(self, work: Callable[[], T]) -> T:
        """Does what may move the store, and tells those who watch."""
        before = self.state.revision
        try:
            return work()
        finally:
            if self.state.revision != before:
                self.tell()

    def tell(self) -> None:
        for store in list(self.watchers):
            if store.client not in self.cut_off:
                store.moved(self.random.random() * self.watch_lag_s)

    def delay_s(self) -> float:
        return (0.0005 + 0.0015 * self.random.random()) * (200 if self.is_slow else 1)

    # Faults

    def go_down(self) -> None:
        self.is_down = True

    def come_back(self) -> None:
        """With all that it had; leases are counted anew, as nobody could renew them."""
        self.is_down = False
        self.state.spare_leases(self.loop.time())
        self.tell()

    def heal(self) -> None:
        self.is_slow = False
        self.unknown_rate = self.watch_lag_s = 0.0
        self.rejoin()
        if self.is_down:
            self.come_back()

    def rejoin(self) -> None:
        """Whoever was cut off reaches it again."""
        self.cut_off.clear()
        self.tell()

    def is_away_for(self, client: int) -> bool:
        return self.is_down or client in self.cut_off

    def forget(self) -> None:
        """Watches that are behind have to begin anew."""
        self.state.forget_deleted()
        for store in list(self.watchers):
            store.must_reset = True
        self.tell()


class SimStore:
    def __init__(
        self, server: StoreServer, monotonic_ms: Callable[[], float] | None = None
    ) -> None:
        """For the process whose loop is running. `monotonic_ms` is its machine's clock."""
        self._server = server
        self._loop = asyncio.get_running_loop()
        self.monotonic_ms = monotonic_ms or (lambda: self._loop.time() * 1000)
        self._moved = asyncio.Event()
        self._sessions: dict[SimSession, None] = {}
        self.must_reset = False
        self.client = 0
        """Who it is; so that one can be cut off, and others not."""
        self._is_closed = False
        server.watchers[self] = None

    # Asking the server

    async def _ask(self, work: Callable[[], T]) -> T:
        """What the server makes of it, after the way there and back; Unavailable if it is away."""
        if self._is_closed:
            raise Unavailable("the metadata store is closed")
        server = self._server
        answer: asyncio.Future[T] = self._loop.create_future()
        server.loop.call_later(server.delay_s(), self._arrived, work, answer)
        try:
            async with asyncio.timeout(GIVE_UP_S):
                return await answer
        except TimeoutError:
            raise Unavailable("the metadata store does not answer") from None

    def _arrived(self, work: Callable[[], T], answer: asyncio.Future[T]) -> None:
        """At the server. Where there is none, some callers learn that at once, others wait."""
        server = self._server
        if server.is_away_for(self.client):
            if server.random.random() < 0.5:
                self._loop.call_soon(_refuse, answer, Unavailable("the metadata store is away"))
            return
        try:
            result = server.change(work)
        except Exception as problem:
            self._loop.call_later(server.delay_s(), _refuse, answer, problem)
        else:
            self._loop.call_later(server.delay_s(), _give, answer, result)

    # Reading

    async def get(self, key: str) -> Entry | None:
        return await self._ask(lambda: self._server.state.get(key))

    async def list(self, prefix: str) -> tuple[Sequence[Entry], int]:
        return await self._ask(lambda: self._server.state.list(prefix))

    async def watch(self, prefix: str, after: int) -> AsyncGenerator[Events | Reset, None]:
        self.must_reset = False
        while True:
            moved = self._moved
            found = await self._ask(lambda: self._changes(prefix, after))  # noqa: B023
            if found is None:
                yield Reset()
                return
            after = found.revision
            if found.events:
                yield found
            else:
                await moved.wait()

    def _changes(self, prefix: str, after: int) -> Events | None:
        if self.must_reset:
            return None
        return self._server.state.changes(prefix, after)

    def moved(self, lag_s: float) -> None:
        """The server has news."""
        self._loop.call_later(lag_s, self._look)

    def _look(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    # Writing

    async def commit(
        self,
        checks: Sequence[Check],
        puts: Sequence[Put],
        deletes: Sequence[str] = (),
        session: str | None = None,
    ) -> int:
        server = self._server
        has_arrived = False

        def write() -> int:
            nonlocal has_arrived
            has_arrived = True
            return server.state.commit(checks, puts, deletes, session)

        if server.random.random() < server.unknown_rate:
            await self._lose(write)
        try:
            return await self._ask(write)
        except Unavailable as problem:
            if has_arrived:
                raise Unknown(str(problem)) from problem
            raise

    async def _lose(self, write: Callable[[], int]) -> None:
        """The answer never comes. The commit is written now, or later, or not at all."""
        server = self._server
        if server.random.random() < 0.7:
            late_s = server.random.random() * LATE_S_MAX * server.random.randint(0, 1)
            server.loop.call_later(late_s, self._write_late, write)
        await asyncio.sleep(server.random.random() * GIVE_UP_S)
        raise Unknown("the answer of the metadata store was lost")

    def _write_late(self, write: Callable[[], int]) -> None:
        with suppress(Conflict, SessionLost):  # of which nobody is told
            self._server.change(write)

    # Leases

    async def session(self, ttl_ms: int) -> SimSession:
        lasts_ms = max(ttl_ms, TTL_MIN_MS)
        begun_ms = self.monotonic_ms()
        server = self._server
        name = await self._ask(
            lambda: server.state.begin_lease(lasts_ms / 1000, server.loop.time())
        )
        made = SimSession(self, name, lasts_ms, begun_ms + lasts_ms)
        self._sessions[made] = None
        return made

    async def renew(self, name: str) -> bool:
        server = self._server
        return await self._ask(lambda: server.state.renew_lease(name, server.loop.time()))

    async def end(self, name: str) -> None:
        await self._ask(lambda: self._server.state.end_lease(name))

    def forget(self, session: SimSession) -> None:
        self._sessions.pop(session, None)

    async def close(self) -> None:
        self._is_closed = True
        self._server.watchers.pop(self, None)
        for session in list(self._sessions):
            await session.stop_renewing()
        self._look()

    def drop(self) -> None:
        """The process is gone, without a word."""
        self._server.watchers.pop(self, None)


def _give(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)


def _refuse(answer: asyncio.Future[T], problem: Exception) -> None:
    if not answer.done():
        answer.set_exception(problem)
