"""What is particular to the SQLite store: its file, several processes on it, stopped and killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.errors import Unusable
from penstock.metadata.store import Conflict, Events, NoRoom, Reset, Unavailable
from penstock.metadata.stores import monotonic, sqlite_file, sqlite_lookout, sqlite_schema
from penstock.metadata.stores.sqlite import SqliteStore

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(penstock.__file__).parents[1])}
Spawn = Callable[[str], Awaitable[Process]]

_HEAD = """
import asyncio, sys
from penstock.metadata.store import *
from penstock.metadata.stores.sqlite import SqliteStore
from penstock.metadata.stores.sqlite_file import SqliteFile
path = sys.argv[1]
def say(*words): print(*words, flush=True)
"""
COUNT_FOR_EVER = """
async def main():
    store = await SqliteStore.open(path)
    turn = 0
    while True:
        turn += 1
        value = str(turn).encode()
        say(turn, await store.commit([], [("/a", value), ("/b", value)]))
asyncio.run(main())
"""
STAY_INSIDE_A_COMMIT = """
class Slow(list):
    def __iter__(self):
        yield ("/a", b"child")
        say("inside")
        sys.stdin.readline()
say("done", SqliteFile(path, 5000).commit([], Slow([1]), [], None))
"""
HOLD_A_LEASE = """
async def main():
    store = await SqliteStore.open(path)
    session = await store.session(2000)
    say(session.id, await store.commit([], [("/brokers/7", b"child")], session=session.id))
    await session.wait_lost()
    say("lost", session.lost, session.suspended)
    await store.close()
asyncio.run(main())
"""
OPEN_AND_ADD = """
async def main():
    store = await SqliteStore.open(path)
    say(await store.commit([], [("/" + store._opened._holder, b"x")]))
    await store.close()
asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "metadata.db")


@pytest.fixture
async def spawn(path: str) -> AsyncIterator[Spawn]:
    started: list[Process] = []

    async def start(script: str) -> Process:
        started.append(
            await asyncio.create_subprocess_exec(
                sys.executable, "-c", _HEAD + script, path, stdin=PIPE, stdout=PIPE, env=ENVIRONMENT
            )
        )
        return started[-1]

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def heard(process: Process) -> list[str]:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().split()


async def answer(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    await process.stdin.drain()


# The file


async def test_what_was_committed_is_there_after_reopening(path: str) -> None:
    store = await SqliteStore.open(path)
    revision = await store.commit([], [("/a", b"1")])
    await store.close()
    store = await SqliteStore.open(path)
    entry = await store.get("/a")
    assert entry is not None
    assert (entry.value, entry.revision) == (b"1", revision)
    await store.close()


async def test_commits_are_synced_to_disk(path: str) -> None:
    file = sqlite_file.SqliteFile(path, 1000)
    lease = file.begin_session(2000)
    assert file.renew_session(lease)
    modes = [
        file._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
    ]
    assert modes == ["wal", 2]
    file.close()


async def test_a_file_of_a_newer_release_is_refused(path: str) -> None:
    await (await SqliteStore.open(path)).close()
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version=99")
    raw.close()
    with pytest.raises(Unusable, match=r"format version 99.*newer release"):
        await SqliteStore.open(path)


async def test_a_database_of_something_else_is_refused(path: str) -> None:
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE songs (name)")
    raw.close()
    with pytest.raises(Unusable, match="not a metadata store"):
        await SqliteStore.open(path)


async def test_a_file_that_is_no_database_is_refused(path: str) -> None:
    Path(path).write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(Unusable, match="damaged"):
        await SqliteStore.open(path)


async def test_a_damaged_file_is_found_when_it_is_read(path: str) -> None:
    store = await SqliteStore.open(path)
    await store.commit([], [(f"/{i}", b"x" * 1000) for i in range(1000)])
    await store.close()
    content = bytearray(Path(path).read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    Path(path).write_bytes(content)
    store = await SqliteStore.open(path)
    with pytest.raises(Unusable, match="damaged"):
        await store.list("/")
    await store.close()


async def test_a_missing_folder_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="check that its folder is there"):
        await SqliteStore.open(str(tmp_path / "absent" / "metadata.db"))


async def test_a_closed_store_answers_nobody(path: str) -> None:
    store = await SqliteStore.open(path)
    watch = store.watch("/", 0)
    waiting = asyncio.ensure_future(anext(watch))
    await store.commit([], [("/a", b"1")])
    await waiting
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0.01)
    await store.close()
    await store.close()
    for call in (waiting, store.get("/a"), store.commit([], [])):
        with pytest.raises(Unavailable):
            await call


async def test_leases_of_an_earlier_boot_are_over(path: str) -> None:
    store = await SqliteStore.open(path)
    session = await store.session(60_000)
    await store.commit([], [("/brokers/1", b"x")], session=session.id)
    await store.close()
    raw = sqlite3.connect(path)
    with raw:
        raw.execute("UPDATE state SET value = 'another' WHERE name = 'boot'")
    raw.close()
    store = await SqliteStore.open(path)
    assert await store.get("/brokers/1") is None
    await store.close()


async def test_of_brokers_that_start_together_after_a_boot_none_ends_the_lease_of_another(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "boot_id", lambda: "before")
    sqlite_file.SqliteFile(path, 1000).close()
    monkeypatch.setattr(sqlite_file, "boot_id", lambda: "after")
    faster: list[tuple[sqlite_file.SqliteFile, int]] = []

    class Slower(sqlite_file.SqliteFile):
        def _forget_earlier_boot(self) -> None:
            monkeypatch.setattr(self, "_writing", partial(self._late, self._writing))
            super()._forget_earlier_boot()

        def _late(self, writing: Callable[[], Any]) -> Any:
            """Another comes between the look at the boot and the lock."""
            if not faster:
                first = sqlite_file.SqliteFile(path, 1000)
                faster.append((first, first.begin_session(9000)))
            return writing()

    second = Slower(path, 1000)
    ((first, lease),) = faster
    assert first.renew_session(lease)
    first.close()
    second.close()


async def test_a_lease_that_an_unusable_file_cannot_renew_is_lost(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteStore.open(path)
    session = await store.session(2000)

    def damaged(number: int) -> bool:
        raise Unusable("damaged")

    monkeypatch.setattr(store._opened, "renew_session", damaged)
    await session.wait_lost()
    assert session.suspended
    await session.close()
    await store.close()


# No room


@pytest.fixture
def file(path: str) -> Iterator[sqlite_file.SqliteFile]:
    opened = sqlite_file.SqliteFile(path, 1000)
    yield opened
    opened.close()


def fill(file: sqlite_file.SqliteFile) -> None:
    """The file may not grow any more."""
    pages = file._number("PRAGMA page_count")
    file._db.execute(f"PRAGMA max_page_count={pages}")


def ends_expired(file: sqlite_file.SqliteFile) -> bool:
    """At the second look at the latest."""
    return file.end_expired() or file.end_expired()


async def test_a_commit_without_room_for_it_surely_was_not_written(
    file: sqlite_file.SqliteFile,
) -> None:
    fill(file)
    with pytest.raises(NoRoom, match="disk is full; free some space"):
        file.commit([], [("/a", b"x" * 100_000)], [], None)
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    assert sqlite_schema.surely_not_written(full)
    assert file.get("/a") is None


async def test_nobody_is_taken_for_dead_because_there_was_no_room(
    file: sqlite_file.SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.begin_session(2000)
    now_ms = monotonic.now_ms()
    monkeypatch.setattr(sqlite_file, "now_ms", lambda: now_ms)
    fill(file)
    now_ms += 5000
    with pytest.raises(Unavailable):
        file.commit([], [("/a", b"x" * 100_000)], [], None)
    assert not ends_expired(file)
    now_ms += 2000
    assert ends_expired(file)


async def test_nobody_is_taken_for_dead_because_our_own_commit_was_slow(
    file: sqlite_file.SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.begin_session(2000)
    now_ms = monotonic.now_ms()
    monkeypatch.setattr(sqlite_file, "now_ms", lambda: now_ms)
    with file._writing():
        now_ms += 5000
    assert not ends_expired(file)
    now_ms += 2000
    assert ends_expired(file)


async def test_a_conflict_does_not_put_off_the_end_of_leases(
    file: sqlite_file.SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.begin_session(2000)
    now_ms = monotonic.now_ms()
    monkeypatch.setattr(sqlite_file, "now_ms", lambda: now_ms)
    now_ms += 5000
    with pytest.raises(Conflict):
        file.commit([("/a", 7)], [("/a", b"x")], [], None)
    assert ends_expired(file)


async def test_a_lease_is_ended_at_the_second_look_so_that_who_waited_for_the_lock_can_renew_it(
    file: sqlite_file.SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = file.begin_session(2000), file.begin_session(60_000)
    now_ms = monotonic.now_ms()
    monkeypatch.setattr(sqlite_file, "now_ms", lambda: now_ms)
    for _ in range(3):
        now_ms += 2001
        assert not file.end_expired()
        assert file.renew_session(short)
        assert not file.end_expired()
    now_ms += 2001
    assert not file.end_expired()
    assert file.end_expired()
    assert not file.renew_session(short)
    assert file.renew_session(long)


async def test_between_two_looks_at_leases_there_is_time_to_renew_them(
    file: sqlite_file.SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ms = 0.0
    looks: list[float] = []

    def look_and_wait_for_the_lock() -> bool:
        nonlocal now_ms
        now_ms += 450
        looks.append(now_ms)
        return False

    monkeypatch.setattr(sqlite_lookout, "now_ms", lambda: now_ms)
    monkeypatch.setattr(file, "end_expired", look_and_wait_for_the_lock)
    lookout = sqlite_lookout.Lookout(lambda: None)
    lookout.file, lookout.leases = file, 1
    for _ in range(20):
        lookout()
        now_ms += 50
    assert looks == [450, 1400]


async def test_what_is_written_again_and_again_takes_no_more_room(
    file: sqlite_file.SqliteFile, path: str
) -> None:
    def used() -> int:
        return sum(os.path.getsize(path + suffix) for suffix in ("", "-wal"))

    lease = file.begin_session(2000)
    for _ in range(2 * sqlite_file.WAL_PAGES):
        file.renew_session(lease)
    before = used()
    assert before < 4096 * 4 * sqlite_file.WAL_PAGES
    for _ in range(5 * sqlite_file.WAL_PAGES):
        file.renew_session(lease)
    assert used() == before


async def test_a_watch_from_before_what_was_pruned_has_to_list_again(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "TOMBSTONES_MAX", 4)
    store = await SqliteStore.open(path)
    first = await store.commit([], [(f"/{i}", b"x") for i in range(10)])
    for i in range(6):
        last = await store.commit([], [], [f"/{i}"])
    async with aclosing(store.watch("/", first)) as steps:
        assert await anext(steps) == Reset()
    async with aclosing(store.watch("/", last - 1)) as steps:
        step = await anext(steps)
        assert isinstance(step, Events)
        assert [event.key for event in step.events] == ["/5"]
    await store.close()


# Several processes


async def test_processes_that_create_the_file_together_share_it(path: str, spawn: Spawn) -> None:
    processes = [await spawn(OPEN_AND_ADD) for _ in range(4)]
    revisions = sorted([int((await heard(process))[0]) for process in processes])
    assert revisions == [1, 2, 3, 4]
    store = await SqliteStore.open(path)
    entries, _ = await store.list("/")
    assert len(entries) == 4
    await store.close()


async def test_a_writer_killed_at_any_moment_leaves_whole_commits(path: str, spawn: Spawn) -> None:
    for _ in range(3):
        child = await spawn(COUNT_FOR_EVER)
        told = [await heard(child) for _ in range(25)]
        child.kill()
        assert child.stdout is not None
        rest = (await child.stdout.read()).decode().splitlines(keepends=True)
        told += [line.split() for line in rest if line.endswith("\n")]
        turn, revision = (int(word) for word in told[-1])
        store = await SqliteStore.open(path)
        entries, at = await store.list("/")
        values = {entry.value for entry in entries}
        assert len(values) == 1
        assert int(values.pop()) >= turn
        assert at >= revision
        await store.close()


async def test_the_commit_of_a_stopped_process_is_waited_for(path: str, spawn: Spawn) -> None:
    store = await SqliteStore.open(path, wait_ms=100)
    revision = await store.commit([], [("/a", b"1")])
    child = await spawn(STAY_INSIDE_A_COMMIT)
    assert await heard(child) == ["inside"]
    os.kill(child.pid, signal.SIGSTOP)
    with pytest.raises(Unavailable, match="locked"):
        await store.commit([("/a", revision)], [("/a", b"2")])
    entry = await store.get("/a")
    assert entry is not None
    assert entry.value == b"1"
    os.kill(child.pid, signal.SIGCONT)
    await answer(child)
    assert await heard(child) == ["done", str(revision + 1)]
    with pytest.raises(Conflict):
        await store.commit([("/a", revision)], [("/a", b"2")])
    await store.close()


async def test_the_commit_of_a_killed_process_never_was(path: str, spawn: Spawn) -> None:
    store = await SqliteStore.open(path)
    revision = await store.commit([], [("/a", b"1")])
    child = await spawn(STAY_INSIDE_A_COMMIT)
    assert await heard(child) == ["inside"]
    waiting = asyncio.create_task(store.commit([("/a", revision)], [("/a", b"2")]))
    os.kill(child.pid, signal.SIGKILL)
    assert await waiting == revision + 1
    await store.close()


async def test_a_killed_broker_takes_its_key_over_at_once(path: str, spawn: Spawn) -> None:
    child = await spawn(HOLD_A_LEASE)
    old_session, revision = await heard(child)
    child.kill()
    store = await SqliteStore.open(path)
    session = await store.session(60_000)
    await store.commit(
        [("/brokers/7", int(revision))], [("/brokers/7", b"again")], session=session.id
    )
    entry = await store.get("/brokers/7")
    assert entry is not None
    assert (entry.value, entry.session) == (b"again", session.id)
    assert session.id != old_session
    await store.close()


async def test_a_broker_stopped_for_too_long_learns_that_it_lost_its_lease(
    path: str, spawn: Spawn
) -> None:
    store = await SqliteStore.open(path)
    child = await spawn(HOLD_A_LEASE)
    _, revision = await heard(child)
    os.kill(child.pid, signal.SIGSTOP)
    async with aclosing(store.watch("/brokers/7", int(revision))) as steps:
        step = await anext(steps)
    assert isinstance(step, Events)
    assert [event.entry for event in step.events] == [None]
    os.kill(child.pid, signal.SIGCONT)
    assert await heard(child) == ["lost", "True", "True"]
    await store.close()


async def test_nobody_is_taken_for_dead_because_nobody_could_write(path: str) -> None:
    stores = [await SqliteStore.open(path) for _ in range(2)]
    sessions = [await store.session(2000) for store in stores]
    for number, store in enumerate(stores):
        await store.commit([], [(f"/{number}", b"x")], session=sessions[number].id)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    while not all(session.suspended for session in sessions):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    blocker.execute("ROLLBACK")
    blocker.close()
    while any(session.suspended for session in sessions):
        await asyncio.sleep(0.05)
        assert not any(session.lost for session in sessions)
    entries, _ = await stores[0].list("/")
    assert [entry.key for entry in entries] == ["/0", "/1"]
    for session, store in zip(sessions, stores, strict=True):
        await session.close()
        await store.close()
