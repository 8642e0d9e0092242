"""The embedded store: an SQLite file, shared by all brokers on one host.

A broker's own commits wake its watchers at once. For those of other processes the thread looks at
`PRAGMA data_version`: often while another process holds a lease, seldom otherwise, never when
nobody watches.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from penstock.metadata.store import Check, Entry, Events, Put, Reset, Unavailable
from penstock.metadata.stores.monotonic import now_ms
from penstock.metadata.stores.renewed_session import RenewedSession
from penstock.metadata.stores.sqlite_file import SqliteFile
from penstock.metadata.stores.sqlite_lookout import Lookout
from penstock.metadata.stores.sqlite_thread import SqliteThread, hand_over

TTL_MIN_MS = 2000
"""Below this a busy disk would end leases of brokers that are well."""
WAIT_MS = 5000
"""For a lock that another process holds."""


class SqliteStore:
    def __init__(self, path: str, wait_ms: int) -> None:
        self._path = path
        self._wait_ms = wait_ms
        self._loop = asyncio.get_running_loop()
        self._file: SqliteFile | None = None
        self._moves = 0
        self._moved = asyncio.Event()
        self._sessions: set[SqliteSession] = set()
        self._look = Lookout(self._note_move)
        self._thread = SqliteThread(self._look)

    @classmethod
    async def open(cls, path: str, *, wait_ms: int = WAIT_MS) -> SqliteStore:
        """Creates the file if there is none; its folder must be there."""
        store = cls(path, wait_ms)
        try:
            await store._thread.run(store._open)
        except BaseException:
            await store._thread.stop()
            raise
        return store

    def _open(self) -> None:
        self._file = self._look.file = SqliteFile(self._path, self._wait_ms)

    @property
    def _opened(self) -> SqliteFile:
        if self._file is None:
            raise Unavailable("the metadata store is closed")
        return self._file

    async def get(self, key: str) -> Entry | None:
        return await self._thread.run(self._opened.get, key)

    async def list(self, prefix: str) -> tuple[Sequence[Entry], int]:
        return await self._thread.run(self._opened.list, prefix)

    async def commit(
        self,
        checks: Sequence[Check],
        puts: Sequence[Put],
        deletes: Sequence[str] = (),
        session: str | None = None,
    ) -> int:
        bound = None if session is None else int(session)
        try:
            return await self._thread.run(self._opened.commit, checks, puts, deletes, bound)
        finally:
            self._move()  # after a conflict too: then others have written what we have not seen

    async def watch(self, prefix: str, after: int) -> AsyncGenerator[Events | Reset, None]:
        self._look.watchers += 1
        try:
            while True:
                seen = self._moves
                found = await self._thread.run(self._opened.changes, prefix, after)
                if found is None:
                    yield Reset()
                    return
                after = found.revision
                if found.events:
                    yield found
                while self._moves == seen:
                    await self._moved.wait()
        finally:
            self._look.watchers -= 1

    async def session(self, ttl_ms: int) -> SqliteSession:
        lasts_ms = max(ttl_ms, TTL_MIN_MS)
        begun_ms = now_ms()
        number = await self._thread.run(self._opened.begin_session, lasts_ms)
        session = SqliteSession(self, number, lasts_ms, begun_ms + lasts_ms)
        self._sessions.add(session)
        self._look.leases += 1
        return session

    async def close(self) -> None:
        """Sessions still open end with their leases: a caller that goes for good closes them."""
        if self._file is None:
            return
        file, self._file = self._file, None
        for session in tuple(self._sessions):
            await session.stop_renewing()
        self._look.file = None
        self._move()
        await self._thread.run(file.close)
        await self._thread.stop()

    # For sessions

    async def renew(self, number: int) -> bool:
        return await self._thread.run(self._opened.renew_session, number)

    async def end(self, number: int) -> None:
        await self._thread.run(self._opened.end_session, number)
        self._move()

    def forget(self, session: SqliteSession) -> None:
        if session in self._sessions:
            self._sessions.remove(session)
            self._look.leases -= 1

    # For watchers

    def _note_move(self) -> None:
        """Called by the thread."""
        hand_over(self._loop, self._move)

    def _move(self) -> None:
        self._moves += 1
        self._moved.set()
        self._moved = asyncio.Event()


class SqliteSession(RenewedSession):
    def __init__(self, store: SqliteStore, number: int, ttl_ms: float, deadline_ms: float) -> None:
        self._store = store
        super().__init__(number, ttl_ms, deadline_ms)

    async def _renew_once(self) -> bool:
        begun_ms = now_ms()
        alive = await self._store.renew(self._number)
        if alive:
            self._deadline_ms = begun_ms + self._ttl_ms
        return alive

    async def _end(self) -> None:
        await self._store.end(self._number)

    def _over(self) -> None:
        self._store.forget(self)
