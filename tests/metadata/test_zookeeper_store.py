"""What is particular to the ZooKeeper store: its log, its leases, a server that fails."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from tests.metadata.zookeeper_backend import (
    Road,
    ZookeeperServer,
    free_port,
    require_server,
    shared_server,
)

from penstock.errors import Refused, Unusable
from penstock.metadata.store import (
    Conflict,
    Event,
    Events,
    Reset,
    Session,
    SessionLost,
    Unavailable,
    Unknown,
)
from penstock.metadata.stores import zookeeper_client, zookeeper_log, zookeeper_nodes
from penstock.metadata.stores.zookeeper import ZookeeperStore
from penstock.metadata.stores.zookeeper_commit import COMMIT_BYTES_MAX
from penstock.metadata.stores.zookeeper_nodes import Operation
from penstock.world.real import RealChance

Open = Callable[..., Awaitable[ZookeeperStore]]


@pytest.fixture
def chroot() -> str:
    return f"/tests/{uuid.uuid4().hex}"


@pytest.fixture
def server() -> ZookeeperServer:
    return shared_server()


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperServer]:
    """One that may be stopped and killed."""
    require_server()
    server = ZookeeperServer(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    server.wait_ready()
    yield server
    server.end()


@pytest.fixture
async def opening(chroot: str) -> AsyncIterator[Open]:
    opened: list[ZookeeperStore] = []

    async def open_at(place: ZookeeperServer | Road, **settings: Any) -> ZookeeperStore:
        opened.append(await ZookeeperStore.open(place.url(chroot), chance=RealChance(), **settings))
        return opened[-1]

    yield open_at
    for store in opened:
        await store.close()


@pytest.fixture
async def road(server: ZookeeperServer) -> AsyncIterator[Road]:
    road = Road(server.port)
    await road.build()
    yield road
    await road.end()


async def put(store: ZookeeperStore, key: str, value: bytes = b"x") -> int:
    return await store.commit([], [(key, value)])


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def seen(
    store: ZookeeperStore, after: int, last: Callable[[Event], bool]
) -> list[Event | Reset]:
    """What a watch brings up to an event, or to its end."""
    events: list[Event | Reset] = []
    async with aclosing(store.watch("/", after)) as steps:
        async for step in steps:
            events.extend(step.events if isinstance(step, Events) else [step])
            if isinstance(step, Events) and any(last(event) for event in step.events):
                break
    return events


def before_the_next_write(store: ZookeeperStore, act: Callable[[], Awaitable[None]]) -> None:
    """Between what a commit reads and what it sends."""
    write = store._link.write

    async def act_and_write(operations: Sequence[Operation]) -> list[Any] | None:
        store._link.write = write  # type: ignore[method-assign]
        await act()
        return await write(operations)

    store._link.write = act_and_write  # type: ignore[method-assign]


# Commits


async def test_a_key_made_anew_with_the_version_it_had_is_a_conflict(
    opening: Open, server: ZookeeperServer
) -> None:
    one, other = await opening(server), await opening(server)
    await put(one, "/a")
    revision = await put(one, "/a", b"1")

    async def make_anew() -> None:
        await other.commit([], [], ["/a"])
        for value in (b"3", b"4"):
            await put(other, "/a", value)

    before_the_next_write(one, make_anew)
    with pytest.raises(Conflict):
        await one.commit([("/a", revision)], [("/a", b"2")])
    entry = await one.get("/a")
    assert entry is not None
    assert entry.value == b"4"


async def test_a_key_that_appears_meanwhile_is_a_conflict_for_who_saw_none(
    opening: Open, server: ZookeeperServer
) -> None:
    one, other = await opening(server), await opening(server)

    async def appear() -> None:
        await put(other, "/a")

    before_the_next_write(one, appear)
    with pytest.raises(Conflict):
        await one.commit([("/a", 0)], [("/b", b"2")])
    assert await one.get("/b") is None


async def test_a_put_without_a_check_wins_over_what_happens_meanwhile(
    opening: Open, server: ZookeeperServer
) -> None:
    one, other = await opening(server), await opening(server)
    for change in ([("/a", b"2")], []):
        await put(one, "/a")

        async def meanwhile(puts: list[tuple[str, bytes]] = change) -> None:
            await other.commit([], puts, [] if puts else ["/a"])

        before_the_next_write(one, meanwhile)
        revision = await put(one, "/a", b"3")
        entry = await other.get("/a")
        assert entry is not None
        assert (entry.value, entry.revision) == (b"3", revision)


async def test_a_session_that_ends_meanwhile_binds_nothing(
    opening: Open, server: ZookeeperServer
) -> None:
    store = await opening(server)
    session = await store.session(5000)
    before_the_next_write(store, session.close)
    with pytest.raises(SessionLost):
        await store.commit([], [("/a", b"1")], session=session.id)
    assert await store.list("/") == ([], 0)


async def test_a_commit_too_large_is_refused_and_leaves_the_store_as_it_was(
    opening: Open, server: ZookeeperServer
) -> None:
    store = await opening(server)
    with pytest.raises(Refused, match="more than ZooKeeper takes"):
        await put(store, "/a", bytes(COMMIT_BYTES_MAX))
    await put(store, "/a", bytes(COMMIT_BYTES_MAX - 1000))
    entry = await store.get("/a")
    assert entry is not None
    assert len(entry.value) == COMMIT_BYTES_MAX - 1000


async def test_any_text_is_a_key(opening: Open, server: ZookeeperServer) -> None:
    store = await opening(server)
    keys = [".", "..", "/", "//", "a:b", "a%2Fb", "ä€😀", "\x00\x1f", "zookeeper", "a,b"]
    await store.commit([], [(key, key.encode()) for key in keys])
    entries, _ = await store.list("")
    assert {entry.key: entry.value for entry in entries} == {key: key.encode() for key in keys}
    assert [entry.key for entry in entries] == sorted(keys)


# Lists and watches


async def test_a_list_among_commits_is_what_was_there_at_its_revision(
    opening: Open, server: ZookeeperServer
) -> None:
    writer, reader = await opening(server), await opening(server)
    count = 150
    await writer.commit([], [(f"/{i}", b"1") for i in range(count)])
    states: dict[int, dict[str, bytes]] = {}
    current = {f"/{i}": b"1" for i in range(count)}
    done = asyncio.Event()

    async def move() -> None:
        for turn in range(120):
            dropped, added = f"/{turn % count}", f"/{count + turn}"
            number = await writer.commit([], [(added, b"1"), ("/n", b"%d" % turn)], [dropped])
            del current[dropped]
            current.update({added: b"1", "/n": b"%d" % turn})
            states[number] = dict(current)
        done.set()

    async def look() -> list[tuple[int, dict[str, bytes]]]:
        lists = []
        while not done.is_set():
            entries, revision = await reader.list("/")
            lists.append((revision, {entry.key: entry.value for entry in entries}))
        return lists

    _, lists = await asyncio.gather(move(), look())
    checked = [found == states[revision] for revision, found in lists if revision in states]
    assert len(checked) > 1
    assert all(checked)


async def test_the_log_is_trimmed_and_a_watch_from_before_has_to_list_again(
    opening: Open, server: ZookeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zookeeper_log, "KEPT", 10)
    store = await opening(server)
    revisions = [await put(store, "/a") for _ in range(205)]
    await until(lambda: not [task for task in store._tasks if "_trim" in repr(task)])
    assert len(await store._link.children(store._paths.log)) == 15
    assert await seen(store, revisions[0], lambda _: False) == [Reset()]
    assert await seen(store, revisions[-16], lambda _: False) == [Reset()]
    for back in (15, 14, 2):
        events = await seen(store, revisions[-back], lambda event: event.revision == revisions[-1])
        assert [event.revision for event in events if isinstance(event, Event)] == (
            revisions[1 - back :]
        )


async def test_a_log_trimmed_while_a_watch_looks_for_its_place_is_noticed(
    opening: Open, server: ZookeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opening(server)
    revisions = [await put(store, "/a") for _ in range(30)]
    children = store._link.children

    async def children_and_trim(path: str) -> list[str]:
        names = await children(path)
        store._link.children = children  # type: ignore[method-assign]
        monkeypatch.setattr(zookeeper_log, "KEPT", 5)
        await store._log.trim(29)
        return names

    store._link.children = children_and_trim  # type: ignore[method-assign, assignment]
    assert await seen(store, revisions[10], lambda _: False) == [Reset()]


async def test_a_watch_over_a_commit_too_large_for_the_log_has_to_list_again(
    opening: Open, server: ZookeeperServer
) -> None:
    store = await opening(server)
    before = await put(store, "/a")
    await put(store, "/b", bytes(zookeeper_nodes.LOGGED_MAX))
    assert await seen(store, before, lambda _: False) == [Reset()]
    entries, revision = await store.list("/")
    assert [entry.key for entry in entries] == ["/a", "/b"]
    await put(store, "/c")
    assert len(await seen(store, revision, lambda event: event.key == "/c")) == 1


async def test_a_watch_from_a_revision_that_is_not_of_this_store_has_to_list_again(
    opening: Open, server: ZookeeperServer
) -> None:
    store = await opening(server)
    revision = await put(store, "/a")
    assert await seen(store, revision + 10**9, lambda _: False) == [Reset()]


async def test_a_watch_over_an_outage_misses_nothing(
    opening: Open, server: ZookeeperServer, road: Road
) -> None:
    far, near = await opening(road, timeout_ms=500), await opening(server)
    begun = await put(near, "/begin")
    watching = asyncio.create_task(seen(far, begun, lambda event: event.key == "/end"))
    await put(near, "/0")
    road.break_off()
    for turn in range(1, 150):
        await put(near, f"/{turn}")
    with pytest.raises(Unavailable):
        await far.get("/0")
    road.repair()
    await put(near, "/end")
    keys = [event.key for event in await watching if isinstance(event, Event)]
    assert keys == [f"/{turn}" for turn in range(150)] + ["/end"]


async def test_a_watch_that_begins_in_an_outage_misses_nothing(
    opening: Open, server: ZookeeperServer, road: Road
) -> None:
    far, near = await opening(road, timeout_ms=500), await opening(server)
    begun = await put(near, "/begin")
    road.break_off()
    watching = asyncio.create_task(seen(far, begun, lambda event: event.key == "/end"))
    await put(near, "/0")
    with pytest.raises(Unavailable):
        await far.get("/0")
    with pytest.raises(Unavailable):
        await far.get("/0")
    road.repair()
    await put(near, "/end")
    assert [event.key for event in await watching if isinstance(event, Event)] == ["/0", "/end"]


async def test_a_watch_ends_when_the_store_is_closed(
    opening: Open, server: ZookeeperServer
) -> None:
    store = await opening(server)
    watching = asyncio.create_task(seen(store, 0, lambda event: event.key == "/b"))
    await put(store, "/a")
    await asyncio.sleep(0.05)
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await watching
    with pytest.raises(Unavailable, match="closed"):
        await store.get("/a")


# Leases


async def bound(store: ZookeeperStore, ttl_ms: int) -> Session:
    session = await store.session(ttl_ms)
    await store.commit([], [("/a", b"1")], session=session.id)
    return session


async def test_a_lease_outlasts_a_short_outage(
    opening: Open, server: ZookeeperServer, road: Road
) -> None:
    far, near = await opening(road), await opening(server)
    session = await bound(far, 8000)
    road.break_off()
    await until(lambda: session.suspended)
    road.repair()
    await until(lambda: not session.suspended)
    assert not session.lost
    assert await near.get("/a") is not None
    await session.close()
    assert await near.get("/a") is None


async def test_a_lease_is_lost_over_a_long_outage_and_its_keys_with_it(
    opening: Open, server: ZookeeperServer, road: Road
) -> None:
    far, near = await opening(road), await opening(server)
    session = await bound(far, 1000)
    road.break_off()
    await seen(near, 0, lambda event: event.entry is None)
    assert session.suspended
    assert time.monotonic() * 1000 >= session.deadline_ms
    road.repair()
    await session.wait_lost()
    with pytest.raises(SessionLost):
        await far.commit([], [("/a", b"2")], session=session.id)


async def test_an_owner_whose_server_is_silent_is_suspended_before_its_keys_go(
    opening: Open, server: ZookeeperServer, road: Road
) -> None:
    far, near = await opening(road), await opening(server)
    session = await bound(far, 1000)
    road.swallow()
    await seen(near, 0, lambda event: event.entry is None)
    assert session.suspended
    road.repair()
    await session.wait_lost()


async def test_a_broker_whose_loop_hangs_loses_its_lease(
    opening: Open, server: ZookeeperServer
) -> None:
    store = await opening(server)
    session = await bound(store, 1000)
    time.sleep(4)  # as a loop does that hangs
    assert session.suspended
    await session.wait_lost()
    await seen(store, 0, lambda event: event.entry is None)


async def test_a_store_that_is_closed_leaves_its_leases_to_end_by_themselves(
    opening: Open, server: ZookeeperServer
) -> None:
    one, other = await opening(server), await opening(server)
    session = await bound(one, 8000)
    await one.close()
    await asyncio.sleep(0.3)
    assert await other.get("/a") is not None
    assert session.suspended


async def test_keys_left_by_the_dead_are_buried_by_whoever_opens_the_store_next(
    opening: Open, server: ZookeeperServer
) -> None:
    one = await opening(server)
    one._burial.bury = lambda *_: asyncio.sleep(0)  # type: ignore[method-assign]
    session = await bound(one, 1000)
    await session.close()
    assert await one.get("/a") is not None
    other = await opening(server)
    await seen(other, 0, lambda event: event.entry is None)
    assert await other._link.children(other._paths.bound) == []


async def test_a_key_taken_over_at_the_last_moment_does_not_save_the_others(
    opening: Open, server: ZookeeperServer
) -> None:
    store = await opening(server)
    for task in store._tasks:
        task.cancel()  # so that nobody but the session itself buries
    session = await bound(store, 5000)
    await store.commit([], [("/b", b"1")], session=session.id)

    async def take_over() -> None:
        await put(store, "/a", b"2")

    before_the_next_write(store, take_over)
    await session.close()
    assert [entry.key for entry in (await store.list("/"))[0]] == ["/a"]


# A server that fails


async def test_a_server_that_is_stopped_is_unavailable_and_then_there_again(
    opening: Open, own_server: ZookeeperServer
) -> None:
    store = await opening(own_server, timeout_ms=500)
    revision = await put(store, "/a")
    own_server.stop()
    try:
        with pytest.raises(Unavailable):
            await store.get("/a")
        with pytest.raises(Unavailable):
            await put(store, "/b")
    finally:
        own_server.wake()
    while True:
        try:
            entries, at = await store.list("/")
            break
        except Unavailable:
            continue
    assert ([entry.key for entry in entries], at) == (["/a"], revision)


async def test_a_commit_whose_answer_does_not_come_is_unknown(
    opening: Open, own_server: ZookeeperServer
) -> None:
    store, other = await opening(own_server, timeout_ms=500), await opening(own_server)
    await put(store, "/a", b"before")

    async def stop() -> None:
        own_server.stop()

    before_the_next_write(store, stop)
    try:
        with pytest.raises(Unknown):
            await put(store, "/a", b"mine")
    finally:
        own_server.wake()
    entry = await other.get("/a")
    assert entry is not None
    assert entry.value in (b"before", b"mine")
    assert await other.commit([("/a", entry.revision)], [("/a", b"after")]) > entry.revision


async def test_a_commit_that_is_swallowed_on_its_way_is_unknown(
    opening: Open, server: ZookeeperServer, road: Road
) -> None:
    far, near = await opening(road), await opening(server)
    far._link.timeout_ms = 300

    async def swallow() -> None:
        road.swallow()

    before_the_next_write(far, swallow)
    with pytest.raises(Unknown, match="does not answer"):
        await put(far, "/a")
    assert await near.get("/a") is None


async def test_who_meets_a_silent_server_goes_to_another(
    opening: Open, server: ZookeeperServer, road: Road, chroot: str
) -> None:
    other = Road(server.port)
    await other.build()
    url = f"zookeeper://127.0.0.1:{road.port},127.0.0.1:{other.port}{chroot}"
    store = await ZookeeperStore.open(url, chance=RealChance())
    store._link.timeout_ms = 300
    used = store._link._handler._socket
    assert used is not None
    (road if used.getpeername()[1] == road.port else other).swallow()
    for _ in range(20):
        with suppress(Unavailable):
            assert await store.get("/a") is None
            break
    else:
        pytest.fail("it has stayed with the silent one")
    await store.close()
    await other.end()


async def test_a_server_that_takes_a_connection_and_says_nothing_is_passed_over(
    server: ZookeeperServer, road: Road, chroot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zookeeper_client, "CONNECT_S", 0.2)
    monkeypatch.setattr("random.shuffle", lambda hosts: None)
    road.swallow()
    url = f"zookeeper://127.0.0.1:{road.port},127.0.0.1:{server.port}{chroot}"
    store = await ZookeeperStore.open(url, chance=RealChance())
    assert await store.get("/a") is None
    await store.close()


async def test_a_server_killed_and_started_again_has_all_and_keeps_leases(
    opening: Open, own_server: ZookeeperServer
) -> None:
    store = await opening(own_server)
    session = await bound(store, 10_000)
    revision = await put(store, "/b")
    watching = asyncio.create_task(seen(store, revision, lambda event: event.key == "/c"))
    own_server.end()
    await until(lambda: session.suspended)
    own_server.start()
    await asyncio.to_thread(own_server.wait_ready)
    await until(lambda: not session.suspended)
    assert [entry.key for entry in (await store.list("/"))[0]] == ["/a", "/b"]
    await put(store, "/c")
    assert [event.key for event in await watching if isinstance(event, Event)] == ["/c"]
    await session.close()


# What cannot be opened


async def test_no_server_is_unusable_with_what_to_do() -> None:
    url = f"zookeeper://127.0.0.1:{free_port()}/x"
    with pytest.raises(Unusable, match="can be reached within 300 ms"):
        await ZookeeperStore.open(url, chance=RealChance(), timeout_ms=300)


async def test_a_server_that_is_silent_is_unusable_with_what_to_do(road: Road) -> None:
    road.swallow()
    with pytest.raises(Unusable, match="can be reached within 300 ms"):
        await ZookeeperStore.open(road.url("/x"), chance=RealChance(), timeout_ms=300)


async def test_a_store_of_a_newer_release_is_unusable(
    opening: Open, server: ZookeeperServer
) -> None:
    store = await opening(server)
    await store._link.write([zookeeper_nodes.Set(store._paths.format, b"2")])
    with pytest.raises(Unusable, match="newer release"):
        await opening(server)


async def test_a_store_whose_nodes_were_deleted_says_so(
    opening: Open, server: ZookeeperServer, chroot: str
) -> None:
    store = await opening(server)
    await asyncio.to_thread(as_administrator, server, lambda zk: zk.delete(f"{chroot}/head"))
    for attempt in (lambda: put(store, "/a"), lambda: store.list("/")):
        with pytest.raises(Unusable, match="have been deleted"):
            await attempt()


def as_administrator(server: ZookeeperServer, act: Callable[[KazooClient], Any]) -> Any:
    client = KazooClient(f"127.0.0.1:{server.port}")
    client.start()
    try:
        return act(client)
    finally:
        client.stop()
        client.close()


# Users


async def test_what_one_user_has_made_no_other_can_read_or_write(
    opening: Open, server: ZookeeperServer
) -> None:
    store = await opening(server, user="penstock", password="right")
    session = await bound(store, 5000)
    again = await opening(server, user="penstock", password="right")
    assert await again.get("/a") is not None
    for wrong in ({"user": "penstock", "password": "wrong"}, {}):
        with pytest.raises(Unusable, match="check the user name and the password"):
            await opening(server, **wrong)
    await session.close()


async def test_every_node_is_for_its_user_only_and_those_above_for_all(
    opening: Open, server: ZookeeperServer, chroot: str
) -> None:
    store = await opening(server, user="penstock", password="right")
    session = await bound(store, 5000)

    def owners(client: KazooClient, path: str) -> set[str]:
        client.add_auth("digest", "penstock:right")
        found = {acl.id.scheme for acl in client.get_acls(path)[0]}
        return found.union(*(owners(client, f"{path}/{c}") for c in client.get_children(path)))

    assert await asyncio.to_thread(as_administrator, server, lambda zk: owners(zk, chroot)) == {
        "digest"
    }
    (above,) = await asyncio.to_thread(
        as_administrator, server, lambda zk: zk.get_acls(str(Path(chroot).parent))[0]
    )
    assert above.id.scheme == "world"
    await session.close()
