"""Faults of the simulated metadata store; what it does without them is the conformance suite's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from penstock.metadata.store import Conflict, Reset, Session, SessionLost, Unavailable, Unknown
from penstock.sim.loop import virtual_loop
from penstock.sim.scheduler import Scheduler
from penstock.sim.store import LATE_S_MAX, SimStore, StoreServer

Play = Callable[[StoreServer, SimStore], Awaitable[None]]


def played(play: Play, seed: int = 1) -> None:
    scheduler = Scheduler(seed)
    server = StoreServer(virtual_loop(scheduler, "store"), scheduler.chance("store"))
    loop = virtual_loop(scheduler, "broker")

    async def whole() -> None:
        await play(server, SimStore(server))

    task = loop.create_task(whole())
    scheduler.run(task.done, 1000)
    task.result()
    loop.kill()
    loop.bury()


async def written(store: SimStore, key: str) -> bool:
    return await store.get(key) is not None


def state_of(session: Session) -> str:
    if session.lost:
        return "lost"
    return "suspended" if session.suspended else "held"


def test_a_store_that_is_away_answers_nothing_and_writes_nothing() -> None:
    async def play(server: StoreServer, store: SimStore) -> None:
        server.go_down()
        with pytest.raises(Unavailable):
            await store.get("/a")
        with pytest.raises(Unavailable):
            await store.commit([], [("/a", b"1")])
        server.come_back()
        assert not await written(store, "/a")

    for seed in range(10):
        played(play, seed)


def test_of_a_commit_whose_answer_is_lost_nobody_knows_whether_it_was_written() -> None:
    found: set[str] = set()

    async def play(server: StoreServer, store: SimStore) -> None:
        server.unknown_rate = 1.0
        with pytest.raises(Unknown):
            await store.commit([], [("/a", b"1")])
        server.unknown_rate = 0.0
        at_once = await written(store, "/a")
        await asyncio.sleep(LATE_S_MAX)
        in_the_end = await written(store, "/a")
        found.add("at once" if at_once else "later" if in_the_end else "never")

    for seed in range(40):
        played(play, seed)
    assert found == {"at once", "later", "never"}


def test_a_lease_ends_with_its_time_and_takes_its_keys_along() -> None:
    async def play(server: StoreServer, store: SimStore) -> None:
        session = await store.session(3000)
        await store.commit([], [("/a", b"1")], session=session.id)
        await asyncio.sleep(20)
        assert await written(store, "/a")
        assert state_of(session) == "held"
        await session.stop_renewing()
        await asyncio.sleep(4)
        assert state_of(session) == "suspended"
        assert not await written(store, "/a")
        with pytest.raises(SessionLost):
            await store.commit([], [("/b", b"1")], session=session.id)

    played(play)


def test_the_owner_of_a_lease_that_has_ended_is_told() -> None:
    async def play(server: StoreServer, store: SimStore) -> None:
        session = await store.session(2000)
        server.state.end_lease(session.id)
        await session.wait_lost()
        assert session.lost

    played(play)


def test_leases_outlive_an_outage_of_the_store() -> None:
    async def play(server: StoreServer, store: SimStore) -> None:
        session = await store.session(2000)
        server.go_down()
        await asyncio.sleep(10)
        assert state_of(session) == "suspended"
        server.come_back()
        await asyncio.sleep(3)
        assert state_of(session) == "held"

    played(play)


def test_a_watch_that_lags_brings_everything_in_the_end() -> None:
    async def play(server: StoreServer, store: SimStore) -> None:
        server.watch_lag_s = 5.0
        seen: set[str] = set()

        async def watch() -> None:
            async with aclosing(store.watch("/", 0)) as steps:
                async for step in steps:
                    assert not isinstance(step, Reset)
                    seen.update(event.key for event in step.events)
                    if len(seen) == 20:
                        return

        watching = asyncio.create_task(watch())
        for number in range(20):
            await store.commit([], [(f"/{number}", b"1")])
        await watching

    for seed in range(5):
        played(play, seed)


def test_a_watch_of_what_the_store_has_forgotten_begins_anew() -> None:
    async def play(server: StoreServer, store: SimStore) -> None:
        await store.commit([], [("/a", b"1")])
        await store.commit([], [], ["/a"])
        async with aclosing(store.watch("/", 2)) as steps:
            waiting = asyncio.ensure_future(anext(steps))
            await asyncio.sleep(1)
            server.forget()
            assert isinstance(await waiting, Reset)
        async with aclosing(store.watch("/", 1)) as steps:
            assert isinstance(await anext(steps), Reset)

    played(play)


def test_a_late_commit_that_conflicts_changes_nothing() -> None:
    async def play(server: StoreServer, store: SimStore) -> None:
        server.unknown_rate = 1.0
        with pytest.raises(Unknown):
            await store.commit([("/a", 0)], [("/a", b"late")])
        server.unknown_rate = 0.0
        try:
            await store.commit([("/a", 0)], [("/a", b"ours")])
        except Conflict:
            return
        await asyncio.sleep(LATE_S_MAX)
        entry = await store.get("/a")
        assert entry is not None
        assert entry.value == b"ours"

    for seed in range(20):
        played(play, seed)


def test_who_is_cut_off_reaches_nothing_while_others_do() -> None:
    async def play(server: StoreServer, store: SimStore) -> None:
        other = SimStore(server)
        store.client = 7
        server.cut_off.add(7)
        with pytest.raises(Unavailable):
            await store.commit([], [("/a", b"1")])
        await other.commit([], [("/b", b"1")])
        server.rejoin()
        assert await written(store, "/b")
        assert not await written(store, "/a")

    for seed in range(5):
        played(play, seed)
