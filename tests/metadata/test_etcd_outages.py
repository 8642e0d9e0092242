"""The etcd store while servers stop, die and come back, and networks fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from pathlib import Path

import pytest
from tests.metadata.etcd_backend import (
    EtcdProcess,
    Proxy,
    ensemble,
    open_store,
    shared_server,
    url_of,
)

from penstock.metadata.store import Conflict, Events, Reset, Unavailable, Unknown
from penstock.metadata.stores.etcd import EtcdStore

OpenEtcd = Callable[..., Awaitable[EtcdStore]]
QUICK_MS = 400


@pytest.fixture
async def opened() -> AsyncIterator[OpenEtcd]:
    """Stores that are closed after the test; once open, some wait less long than others."""
    stores: list[EtcdStore] = []

    async def another(url: str, timeout_ms: int = 5000) -> EtcdStore:
        stores.append(await open_store(url))
        stores[-1]._gateway.timeout_ms = timeout_ms
        return stores[-1]

    yield another
    for store in stores:
        await store.close()


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdProcess]:
    server = EtcdProcess(tmp_path_factory.mktemp("etcd"))
    yield server
    server.kill()


@pytest.fixture
def server(own_server: EtcdProcess) -> EtcdProcess:
    """One that a test may stop, kill and start."""
    own_server.ensure_running()
    return own_server


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[EtcdProcess]]:
    members = [EtcdProcess(tmp_path, name) for name in ("one", "two", "three")]
    try:
        ensemble(members)
        yield members
    finally:
        for member in members:
            member.kill()


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    """Before the server that all tests share."""
    between = await Proxy(shared_server()).start()
    yield between
    await between.cut()


def direct(url: str, proxy: Proxy) -> str:
    """The same store, without the proxy."""
    return url.replace(proxy.address, shared_server().address)


async def insist(store: EtcdStore, key: str, value: bytes) -> int:
    """Commits until it is known to have been written, as its callers do."""
    while True:
        try:
            return await store.commit([], [(key, value)])
        except (Unavailable, Unknown):
            await asyncio.sleep(0.05)


async def values_seen(store: EtcdStore, after: int, last: bytes) -> list[bytes]:
    seen: list[bytes] = []
    async with aclosing(store.watch("/", after)) as steps:
        async for step in steps:
            assert isinstance(step, Events)
            seen.extend(event.entry.value for event in step.events if event.entry)
            if last in seen:
                break
    return seen


# One server


async def test_a_server_that_is_stopped_leaves_commits_unknown_and_reads_unavailable(
    server: EtcdProcess, opened: OpenEtcd
) -> None:
    store = await opened(url_of(server), QUICK_MS)
    server.pause()
    with pytest.raises(Unknown):
        await store.commit([("/a", 0)], [("/a", b"mine")])
    with pytest.raises(Unavailable):
        await store.get("/a")
    server.wake()
    store._gateway.timeout_ms = 5000
    with suppress(Conflict):  # if it was written after all
        await store.commit([("/a", 0)], [("/a", b"mine")])
    entry = await store.get("/a")
    assert entry is not None
    assert entry.value == b"mine"


async def test_a_server_that_is_dead_surely_writes_nothing(
    server: EtcdProcess, opened: OpenEtcd
) -> None:
    store = await opened(url_of(server))
    server.kill()
    with pytest.raises(Unavailable):
        await store.get("/a")
    with pytest.raises(Unavailable):
        await store.commit([], [("/a", b"1")])
    with pytest.raises(Unavailable):
        await store.session(10_000)
    server.start()
    assert await store.get("/a") is None


async def test_what_was_committed_is_there_after_a_restart_and_watches_go_on(
    server: EtcdProcess, opened: OpenEtcd
) -> None:
    store = await opened(url_of(server))
    first = await store.commit([], [("/a", b"1")])
    watching = asyncio.create_task(values_seen(store, first, b"3"))
    await store.commit([], [("/b", b"2")])
    server.kill()
    server.start()
    await insist(store, "/c", b"3")
    assert await watching == [b"2", b"3"]
    entry = await store.get("/a")
    assert entry is not None
    assert entry.revision == first


async def test_a_lease_outlives_a_restart_of_the_server(
    server: EtcdProcess, opened: OpenEtcd
) -> None:
    store = await opened(url_of(server))
    session = await store.session(5000)
    await store.commit([], [("/a", b"1")], session=session.id)
    deadline_ms = session.deadline_ms
    server.kill()
    server.start()
    while session.deadline_ms == deadline_ms:
        assert not session.lost
        await asyncio.sleep(0.02)
    entry = await store.get("/a")
    assert entry is not None
    assert entry.session == session.id
    await session.close()
    assert await store.get("/a") is None


# The network


async def test_an_owner_that_is_cut_off_knows_it_before_others_take_its_keys(
    proxy: Proxy, opened: OpenEtcd
) -> None:
    url = url_of(proxy)
    owner, other = await opened(url), await opened(direct(url, proxy))
    session = await owner.session(5000)
    revision = await owner.commit([], [("/a", b"1")], session=session.id)
    await proxy.cut()
    suspended = [session.suspended]
    async with aclosing(other.watch("/", revision)) as steps:
        step = await anext(steps)
    suspended.append(session.suspended)
    assert suspended == [False, True]
    assert isinstance(step, Events)
    assert [(event.key, event.entry) for event in step.events] == [("/a", None)]
    assert not session.lost
    await proxy.start()
    await session.wait_lost()


async def test_a_commit_whose_answer_is_lost_is_unknown_and_its_value_is_found(
    proxy: Proxy, opened: OpenEtcd
) -> None:
    url = url_of(proxy)
    store, other = await opened(url, QUICK_MS), await opened(direct(url, proxy))
    proxy.hush()
    with pytest.raises(Unknown):
        await store.commit([("/a", 0)], [("/a", b"mine")])
    assert [entry.value for entry in (await other.list("/"))[0]] == [b"mine"]


async def test_a_watch_over_an_outage_misses_nothing(proxy: Proxy, opened: OpenEtcd) -> None:
    url = url_of(proxy)
    store, other = await opened(url), await opened(direct(url, proxy))
    first = await other.commit([], [("/0", b"0")])
    watching = asyncio.create_task(values_seen(store, first, b"done"))
    for number in range(1, 41):
        if number % 10 == 5:
            await proxy.cut()
        await other.commit([], [(f"/{number % 3}", str(number).encode())])
        if number % 10 == 0:
            await proxy.start()
            await asyncio.sleep(0.1)
    await other.commit([], [("/z", b"done")])
    assert await watching == [*(str(number).encode() for number in range(1, 41)), b"done"]


async def test_a_watch_that_was_away_for_too_long_is_reset(
    server: EtcdProcess, opened: OpenEtcd
) -> None:
    proxy = await Proxy(server).start()
    url = url_of(proxy)
    store, other = await opened(url), await opened(url.replace(proxy.address, server.address))
    first = await other.commit([], [("/a", b"1")])
    async with aclosing(store.watch("/", first)) as steps:
        await other.commit([], [("/a", b"2")])
        assert isinstance(await anext(steps), Events)
        await proxy.cut()
        await other.commit([], [("/a", b"3")])
        last = await other.commit([], [("/a", b"4")])
        server.call("/v3/kv/compaction", {"revision": str(last)})
        await proxy.start()
        assert isinstance(await anext(steps), Reset)
    await proxy.cut()


async def test_a_watch_whose_server_falls_silent_goes_on_with_another(
    proxy: Proxy, opened: OpenEtcd
) -> None:
    url = url_of(proxy, shared_server())
    store, other = await opened(url, QUICK_MS), await opened(url.replace(f"{proxy.address},", ""))
    first = await other.commit([], [("/a", b"1")])
    watching = asyncio.create_task(values_seen(store, first, b"3"))
    await other.commit([], [("/a", b"2")])
    await asyncio.sleep(0.1)
    proxy.hush()
    await other.commit([], [("/a", b"3")])
    assert await watching == [b"2", b"3"]


async def test_reads_and_commits_go_to_the_next_server_when_one_is_gone(
    proxy: Proxy, opened: OpenEtcd
) -> None:
    store = await opened(url_of(proxy, shared_server()), 2 * QUICK_MS)
    await proxy.cut()
    await asyncio.sleep(0.05)  # else the old connection is used, and the outcome is unknown
    await store.commit([], [("/a", b"1")])
    await proxy.start()
    store._gateway._at = 0
    proxy.hush()
    entry = await store.get("/a")
    assert entry is not None
    assert entry.value == b"1"


# Three servers


async def test_three_servers_go_on_with_two_but_not_with_one_and_come_back(
    three: list[EtcdProcess], opened: OpenEtcd
) -> None:
    store = await opened(url_of(*three), 1500)
    first = await store.commit([], [("/n", b"0")])
    watching = asyncio.create_task(values_seen(store, first, b"done"))
    leader = next(each for each in three if each.leads())
    leader.pause()
    await insist(store, "/n", b"leader stopped")
    next_leader = next(each for each in three if each is not leader and each.leads())
    leader.wake()
    leader = next_leader
    session = await store.session(5000)
    await store.commit([], [("/owned", b"1")], session=session.id)
    leader.kill()
    await insist(store, "/n", b"two left")
    assert not session.lost

    second = next(each for each in three if each is not leader)
    second.kill()
    with pytest.raises((Unavailable, Unknown)):
        await store.commit([], [("/m", b"one left")])
    with pytest.raises(Unavailable):
        await store.get("/n")

    leader.launch()
    second.launch()
    await insist(store, "/n", b"all back")
    await insist(store, "/n", b"done")
    seen = [value for value in await watching if value != b"one left"]
    assert list(dict.fromkeys(seen)) == [b"leader stopped", b"1", b"two left", b"all back", b"done"]
    entry = await store.get("/owned")
    assert (entry is None) == session.lost
