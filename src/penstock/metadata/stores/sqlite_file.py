"""The store's file: its tables, and every statement that reads or writes them. Synchronous.

One table holds the keys. A deleted key stays as a row without a value for a while, so "what changed
after revision N" is one look at an index, and no second record of changes is kept. When there are
many such rows the older half goes, and a watch that began before it has to list again.

Leases are rows that hold the time on the host's monotonic clock at which they end. All processes on
a host share that clock; after a boot it begins anew, so the boot's id is kept, and a lease of an
earlier boot is over.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.errors import Unusable
from penstock.metadata.store import (
    Check,
    Conflict,
    Entry,
    Event,
    Events,
    NoRoom,
    Put,
    SessionLost,
    Unavailable,
    Unknown,
)
from penstock.metadata.stores import sqlite_schema
from penstock.metadata.stores.monotonic import now_ms
from penstock.metadata.stores.sqlite_schema import boot_id, surely_not_written

TOMBSTONES_MAX = 20_000
WAL_PAGES = 100
"""As far as the log before the file grows, unless one commit takes more: what a broker goes on
writing must fit into what is left of a disk that is all but full."""
_SLOW_WRITE_MS = 500
"""For longer than this nobody waits, or writes, but for a process that was stopped or a disk that
is slow: see `_sparing`."""

_PUT = """
INSERT INTO entries (key, value, revision, session) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    value = excluded.value, revision = excluded.revision, session = excluded.session
"""
_BURY = "UPDATE entries SET value = NULL, revision = ?, session = NULL WHERE "


class SqliteFile:
    """Used by one thread. Several of these, in as many processes, may be open on one file."""

    def __init__(self, path: str, wait_ms: int) -> None:
        self._path = path
        self._holder = os.urandom(8).hex()
        self._no_expiry_before_ms = 0.0
        self._overdue: set[int] = set()
        """Leases that were found to be over when there was a lock to renew them with."""
        with self._readable():
            self._db = sqlite3.connect(path, timeout=wait_ms / 1000, isolation_level=None)
            try:
                sqlite_schema.prepare(self._db, path, wait_ms)
                self._db.execute("PRAGMA synchronous=FULL")
                self._db.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
                self._forget_earlier_boot()
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        self._db.close()

    def _forget_earlier_boot(self) -> None:
        boot = boot_id()
        if self._state("boot") == boot:
            return
        with self._writing():
            if self._state("boot") != boot:  # else another has come first, and may have a lease
                self._end([row[0] for row in self._db.execute("SELECT id FROM sessions")])
                self._set_state("boot", boot)

    # Reading

    def get(self, key: str) -> Entry | None:
        with self._readable():
            row = self._db.execute(
                "SELECT key, value, revision, session FROM entries "
                "WHERE key = ? AND value IS NOT NULL",
                (key,),
            ).fetchone()
        return _entry(row) if row else None

    def list(self, prefix: str) -> tuple[Sequence[Entry], int]:
        with self._reading():
            rows = self._db.execute(
                "SELECT key, value, revision, session FROM entries "
                "WHERE key >= ? AND key < ? AND value IS NOT NULL ORDER BY key",
                (prefix, _end_of(prefix)),
            )
            return [_entry(row) for row in rows], self._revision()

    def changes(self, prefix: str, after: int) -> Events | None:
        """None: rows of keys deleted after that revision have been dropped already."""
        with self._reading():
            if after < self._state("pruned"):
                return None
            rows = self._db.execute(
                "SELECT key, value, revision, session FROM entries "
                "WHERE revision > ? AND key >= ? AND key < ? ORDER BY revision, key",
                (after, prefix, _end_of(prefix)),
            )
            return Events(self._revision(), tuple(_event(row) for row in rows))

    def foreign_writes(self) -> int:
        """A number that changes when another connection has committed; costs a few microseconds."""
        with self._readable():
            return self._number("PRAGMA data_version")

    def others(self) -> bool:
        """Whether another process holds a lease."""
        with self._readable():
            row = self._db.execute(
                "SELECT 1 FROM sessions WHERE holder != ? LIMIT 1", (self._holder,)
            ).fetchone()
        return row is not None

    # Writing

    def commit(
        self,
        checks: Sequence[Check],
        puts: Sequence[Put],
        deletes: Sequence[str],
        session: int | None,
    ) -> int:
        with self._writing():
            revision = self._revision()
            for key, expected in checks:
                self._check(key, expected, revision)
            if session is not None and not self._lives(session):
                raise SessionLost(f"session {session} has ended")
            new = revision + 1
            self._db.executemany(_PUT, [(key, value, new, session) for key, value in puts])
            buried = self._bury(deletes, new)
            if not puts and not buried:
                return revision
            self._set_state("revision", new)
            if buried:
                self._prune()
            return new

    def _check(self, key: str, expected: int, revision: int) -> None:
        row = self._db.execute(
            "SELECT revision FROM entries WHERE key = ? AND value IS NOT NULL", (key,)
        ).fetchone()
        if (row[0] if row else 0) != expected:
            raise Conflict(key, revision)

    def _bury(self, keys: Sequence[str], revision: int) -> int:
        rows = [(revision, key) for key in keys]
        if not rows:
            return 0
        return self._db.executemany(_BURY + "key = ? AND value IS NOT NULL", rows).rowcount

    def _prune(self) -> None:
        count = self._number("SELECT count(*) FROM entries WHERE value IS NULL")
        if count <= TOMBSTONES_MAX:
            return
        (last,) = self._db.execute(
            "SELECT revision FROM entries WHERE value IS NULL ORDER BY revision LIMIT 1 OFFSET ?",
            (count // 2,),
        ).fetchone()
        self._db.execute("DELETE FROM entries WHERE value IS NULL AND revision <= ?", (last,))
        self._set_state("pruned", last)

    # Leases

    def begin_session(self, ttl_ms: float) -> int:
        with self._writing(durable=False):
            made = self._db.execute(
                "INSERT INTO sessions (holder, ttl_ms, expires_ms) VALUES (?, ?, ?)",
                (self._holder, ttl_ms, now_ms() + ttl_ms),
            ).lastrowid
        assert made is not None
        return made

    def renew_session(self, session: int) -> bool:
        """False if it has ended. A lease that is overdue, but that nobody has ended, goes on."""
        with self._writing(durable=False):
            changed = self._db.execute(
                "UPDATE sessions SET expires_ms = ? + ttl_ms WHERE id = ?", (now_ms(), session)
            )
            return changed.rowcount == 1

    def end_session(self, session: int) -> None:
        with self._writing():
            self._end([session])

    def end_expired(self) -> bool:
        """Ends the leases of those who have not renewed them; whoever notices does it.

        At the second look: an owner may have been waiting for the lock as we have, and had no luck.
        """
        with self._readable():
            if not self._expired():
                self._overdue.clear()
                return False
        with self._writing():
            overdue = set(self._expired())
            ended = overdue & self._overdue
            self._overdue = overdue - ended
            self._end(sorted(ended))
        return bool(ended)

    def _expired(self) -> Sequence[int]:
        if now_ms() < self._no_expiry_before_ms:
            return []
        rows = self._db.execute(
            "SELECT id FROM sessions WHERE expires_ms < ?1 OR expires_ms > ?1 + ttl_ms", (now_ms(),)
        )
        return [row[0] for row in rows]

    def _end(self, sessions: Sequence[int]) -> None:
        new = self._revision() + 1
        buried = 0
        for session in sessions:
            buried += self._db.execute(_BURY + "session = ?", (new, session)).rowcount
            self._db.execute("DELETE FROM sessions WHERE id = ?", (session,))
        if buried:
            self._set_state("revision", new)

    def _lives(self, session: int) -> bool:
        found = self._db.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone()
        return found is not None

    # Transactions

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as problem:
            raise self._translated(problem) from problem

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """All that is read inside is of one state."""
        with self._readable():
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                self._db.execute("ROLLBACK")

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[None]:
        """Leases need no sync: a power loss ends them anyway."""
        with self._readable(), self._sparing():
            if not durable:
                self._db.execute("PRAGMA synchronous=NORMAL")
            try:
                with self._sparing():
                    self._db.execute("BEGIN IMMEDIATE")
                yield
                self._finish()
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if not durable:
                    self._db.execute("PRAGMA synchronous=FULL")

    @contextmanager
    def _sparing(self) -> Iterator[None]:
        """Nobody can renew a lease while a process is stopped inside a commit, or its disk is slow,
        or there is no room left. Who waits for that, or does it, gives the others the time to renew
        theirs before taking them for dead."""
        begun_ms = now_ms()
        failed = False
        try:
            yield
        except (sqlite3.DatabaseError, Unknown):
            failed = True
            raise
        finally:
            if failed or now_ms() - begun_ms > _SLOW_WRITE_MS:
                longest = self._number("SELECT coalesce(max(ttl_ms), 0) FROM sessions")
                self._no_expiry_before_ms = now_ms() + longest

    def _finish(self) -> None:
        try:
            self._db.execute("COMMIT")
        except sqlite3.DatabaseError as problem:
            if surely_not_written(problem):
                raise
            raise Unknown(f"{self._path}: {problem}") from problem

    def _translated(self, problem: sqlite3.DatabaseError) -> Exception:
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return Unusable(
                f"the metadata store {self._path} is damaged ({problem}); restore it from a backup"
            )
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            return Unusable(
                f"the metadata store {self._path} cannot be opened for writing ({problem}); "
                "check that its folder is there and that this user may write to it"
            )
        if sqlite_schema.no_room(problem):
            return NoRoom(
                f"the metadata store {self._path} cannot be written, because the disk is full; "
                "free some space"
            )
        return Unavailable(f"the metadata store {self._path} cannot be used now: {problem}")

    # Numbers

    def _revision(self) -> int:
        revision: int = self._state("revision")
        return revision

    def _state(self, name: str) -> Any:
        row = self._db.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
        return row[0]

    def _set_state(self, name: str, value: int | str) -> None:
        self._db.execute("UPDATE state SET value = ? WHERE name = ?", (value, name))

    def _number(self, statement: str) -> int:
        value: int = self._db.execute(statement).fetchone()[0]
        return value


def _entry(row: tuple[str, bytes, int, int | None]) -> Entry:
    key, value, revision, session = row
    return Entry(key, value, revision, None if session is None else str(session))


def _event(row: tuple[str, bytes | None, int, int | None]) -> Event:
    key, value, revision, session = row
    if value is None:
        return Event(key, None, revision)
    return Event(key, _entry((key, value, revision, session)), revision)


def _end_of(prefix: str) -> str:
    """What sorts after all keys that begin with the prefix."""
    return prefix + "\U0010ffff"
