"""How the store's file begins: made by whoever comes first, and told from files that are not it."""

from __future__ import annotations

import sqlite3
import time

from penstock.errors import Unusable
from penstock.metadata.stores.monotonic import now_ms

SCHEMA_VERSION = 1
APPLICATION_ID = 0x50656E73

_SCHEMA = """
CREATE TABLE state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO state VALUES ('revision', 0), ('pruned', 0), ('boot', '');
CREATE TABLE entries (
    key TEXT PRIMARY KEY, value BLOB, revision INTEGER NOT NULL, session INTEGER
) WITHOUT ROWID;
CREATE INDEX entries_by_revision ON entries (revision);
CREATE INDEX entries_by_session ON entries (session) WHERE session IS NOT NULL;
CREATE INDEX tombstones ON entries (revision) WHERE value IS NULL;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, holder TEXT NOT NULL, ttl_ms REAL NOT NULL,
    expires_ms REAL NOT NULL
);
"""


def prepare(db: sqlite3.Connection, path: str, wait_ms: int) -> None:
    """Makes the tables where there are none; Unusable where there is something else."""
    if _pragma(db, "user_version") == 0:
        _switch_to_wal(db, wait_ms)
        _create(db)
    if _pragma(db, "application_id") != APPLICATION_ID:
        raise Unusable(f"{path} is an SQLite file, but not a metadata store of Penstock")
    found = _pragma(db, "user_version")
    if found > SCHEMA_VERSION:
        raise Unusable(
            f"{path} has format version {found}, this Penstock reads up to {SCHEMA_VERSION}: it "
            "was written by a newer release; run that one"
        )


def _switch_to_wal(db: sqlite3.Connection, wait_ms: int) -> None:
    """SQLite does not wait for locks by itself here."""
    deadline_ms = now_ms() + wait_ms
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as problem:
            if not busy(problem) or now_ms() > deadline_ms:
                raise
            time.sleep(0.002)


def _create(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        for statement in _SCHEMA.split(";")[:-1]:
            db.execute(statement)
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    db.execute("COMMIT")


def _pragma(db: sqlite3.Connection, name: str) -> int:
    value: int = db.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def busy(problem: sqlite3.DatabaseError) -> bool:
    return (problem.sqlite_errorcode & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def no_room(problem: sqlite3.DatabaseError) -> bool:
    """Neither for what was to be written, nor for the file in which processes share an index."""
    return problem.sqlite_errorcode in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)


def surely_not_written(problem: sqlite3.DatabaseError) -> bool:
    """Of a commit that failed. What makes it count is written last, so not without room."""
    return busy(problem) or no_room(problem)


def boot_id() -> str:
    """Empty where the system does not tell; then only leases that end too late give it away."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""
