"""What is particular to the etcd store: its revisions, pages, limits, and what it opens with."""

from __future__ import annotations

import asyncio
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.metadata.etcd_backend import EtcdProcess, open_store, shared_server, url_of

from penstock.errors import Refused, Unusable
from penstock.metadata.store import OPERATIONS_MAX, Conflict, Events, NoRoom, Reset, Unavailable
from penstock.metadata.stores import etcd
from penstock.metadata.stores.etcd import EtcdStore

Between = Callable[[], Awaitable[object]]


@pytest.fixture
def server() -> EtcdProcess:
    return shared_server()


@pytest.fixture
async def own_server(tmp_path: Path) -> AsyncIterator[EtcdProcess]:
    """Not started yet."""
    server = EtcdProcess(tmp_path)
    yield server
    server.kill()


@pytest.fixture
async def store(server: EtcdProcess) -> AsyncIterator[EtcdStore]:
    opened = await open_store(url_of(server))
    yield opened
    await opened.close()


def write_as_another(server: EtcdProcess) -> None:
    """What moves etcd's revision, but is none of ours."""
    server.call("/v3/kv/put", {"key": b64encode(b"/elsewhere").decode(), "value": ""})


def compact(server: EtcdProcess, revision: int) -> None:
    server.call("/v3/kv/compaction", {"revision": str(revision), "physical": True})


def after_first_page(store: EtcdStore, monkeypatch: pytest.MonkeyPatch, between: Between) -> None:
    """Something happens while a list is read."""
    ask = store._gateway.ask
    asked = 0

    async def asking(*arguments: Any) -> Any:
        nonlocal asked
        answer = await ask(*arguments)
        asked += 1
        if asked == 1:
            await between()
        return answer

    monkeypatch.setattr(etcd, "PAGE_KEYS", 3)
    monkeypatch.setattr(store._gateway, "ask", asking)


# Revisions


async def test_a_conflict_over_a_deleted_key_names_the_revision_of_the_delete(
    server: EtcdProcess, store: EtcdStore
) -> None:
    revision = await store.commit([], [("/a", b"1")])
    for _ in range(5):
        write_as_another(server)
    deleted = await store.commit([], [], ["/a"])
    for _ in range(9):
        write_as_another(server)
    with pytest.raises(Conflict) as refused:
        await store.commit([("/a", revision)], [("/a", b"2")])
    assert refused.value.revision == deleted


async def test_a_conflict_is_seen_by_its_revision_whatever_others_write(
    server: EtcdProcess, store: EtcdStore
) -> None:
    first = await store.commit([], [("/a", b"1")])
    second = await store.commit([], [("/a", b"2")])
    write_as_another(server)
    with pytest.raises(Conflict) as refused:
        await store.commit([("/b", 0), ("/a", first)], [("/a", b"3")])
    assert (refused.value.key, refused.value.revision) == ("/a", second)


async def test_a_conflict_over_a_revision_that_never_was_is_seen_at_once(store: EtcdStore) -> None:
    last = await store.commit([], [("/a", b"1")])
    with pytest.raises(Conflict) as refused:
        await store.commit([("/b", last - 1)], [("/b", b"3")])
    assert refused.value.revision == last - 1


async def test_a_commit_that_changes_nothing_names_a_revision_that_a_watch_comes_to(
    server: EtcdProcess, store: EtcdStore
) -> None:
    last = await store.commit([], [("/a", b"1")])
    write_as_another(server)
    assert await store.commit([], [], ["/absent"]) == last


async def test_a_key_both_put_and_deleted_is_deleted(store: EtcdStore) -> None:
    await store.commit([], [("/a", b"1")])
    await store.commit([], [("/a", b"2"), ("/b", b"1"), ("/b", b"2")], ["/a", "/a"])
    entries, _ = await store.list("/")
    assert [(entry.key, entry.value) for entry in entries] == [("/b", b"2")]


# Lists


async def test_a_list_of_many_pages_is_of_one_revision(
    store: EtcdStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = await store.commit([], [(f"/{i}", b"old") for i in range(8)])

    async def overwrite() -> None:
        await store.commit([], [(f"/{i}", b"new") for i in range(20)], ["/x"])

    after_first_page(store, monkeypatch, overwrite)
    entries, revision = await store.list("/")
    assert revision == last
    assert [(entry.key, entry.value) for entry in entries] == [(f"/{i}", b"old") for i in range(8)]


async def test_a_list_that_is_compacted_away_between_two_pages_begins_again(
    own_server: EtcdProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(url_of(own_server.start()))
    await store.commit([], [(f"/{i}", b"old") for i in range(8)])
    written = 0

    async def overwrite_and_compact() -> None:
        nonlocal written
        written = await store.commit([], [(f"/{i}", b"new") for i in range(8)])
        compact(own_server, written)

    after_first_page(store, monkeypatch, overwrite_and_compact)
    entries, revision = await store.list("/")
    assert revision == written
    assert {entry.value for entry in entries} == {b"new"}
    await store.close()


# Watches


async def test_large_commits_come_whole_though_etcd_sends_them_in_pieces(store: EtcdStore) -> None:
    """A megabyte each: more than one fits into none of the pieces that are sent."""
    before = (await store.list("/"))[1]
    revisions = [
        await store.commit([], [(f"/{i}", bytes([turn]) * 10_000) for i in range(100)])
        for turn in range(5)
    ]
    found: list[Events] = []
    async with aclosing(store.watch("/", before)) as steps:
        async for step in steps:
            assert isinstance(step, Events)
            found.append(step)
            if step.revision == revisions[-1]:
                break
    assert [(step.revision, len(step.events)) for step in found] == [(at, 100) for at in revisions]


async def test_a_watch_from_before_what_is_kept_ends_with_a_reset(own_server: EtcdProcess) -> None:
    store = await open_store(url_of(own_server.start()))
    first = await store.commit([], [("/a", b"1")])
    await store.commit([], [("/a", b"2")])
    compact(own_server, await store.commit([], [("/a", b"3")]))
    assert [step async for step in store.watch("/", first)] == [Reset()]
    await store.close()


async def test_a_watch_that_would_miss_a_delete_because_of_compaction_is_reset(
    own_server: EtcdProcess,
) -> None:
    store = await open_store(url_of(own_server.start()))
    first = await store.commit([], [("/a", b"1")])
    compact(own_server, await store.commit([], [], ["/a"]))
    assert [step async for step in store.watch("/", first)] == [Reset()]
    await store.close()


async def test_a_watch_of_a_store_that_is_closed_ends(store: EtcdStore) -> None:
    async def follow() -> None:
        async for _ in store.watch("/", 0):
            pass

    watching = asyncio.create_task(follow())
    await asyncio.sleep(0.1)
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await watching


# Limits


async def test_more_operations_than_etcd_takes_are_refused(store: EtcdStore) -> None:
    keys = [f"/{i}" for i in range(OPERATIONS_MAX + 1)]
    with pytest.raises(Refused, match="at most 100"):
        await store.commit([], [(key, b"") for key in keys[:-1]], keys[-1:])
    with pytest.raises(Refused, match="at most 100"):
        await store.commit([(key, 0) for key in keys], [])
    assert (await store.list("/"))[0] == []


@pytest.mark.parametrize("size", [1_600_000, 4_000_000])
async def test_more_bytes_than_etcd_takes_are_refused(store: EtcdStore, size: int) -> None:
    with pytest.raises(Refused, match="larger than etcd takes"):
        await store.commit([], [("/a", bytes(size))])
    assert await store.get("/a") is None


async def test_a_database_as_large_as_it_may_be_has_no_room(own_server: EtcdProcess) -> None:
    own_server.options = ("--quota-backend-bytes", "200000")
    store = await open_store(url_of(own_server.start()))
    with pytest.raises(NoRoom, match="quota-backend-bytes"):
        await store.commit([], [("/a", bytes(250_000))])
    assert await store.get("/a") is None
    await store.close()


# Opening


async def test_nothing_can_be_asked_of_a_store_that_is_closed(store: EtcdStore) -> None:
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await store.get("/a")
    with pytest.raises(Unavailable, match="closed"):
        await store.commit([], [("/a", b"1")])


async def test_two_prefixes_of_one_etcd_are_two_stores(
    server: EtcdProcess, store: EtcdStore
) -> None:
    other = await open_store(url_of(server))
    await store.commit([], [("/a", b"1")])
    assert (await other.list("/"))[0] == []
    await other.close()


async def test_an_etcd_that_is_not_there_is_told(own_server: EtcdProcess) -> None:
    with pytest.raises(Unusable, match="check that it runs") as refused:
        await open_store(url_of(own_server), timeout_ms=200)
    assert own_server.address in str(refused.value)


async def test_an_etcd_that_starts_while_we_do_is_waited_for(own_server: EtcdProcess) -> None:
    opening = asyncio.create_task(open_store(url_of(own_server), timeout_ms=30_000))
    await asyncio.sleep(0.2)
    own_server.launch()
    await (await opening).close()


async def test_what_is_no_etcd_is_told(own_server: EtcdProcess) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone")
        writer.close()

    host, port = own_server.address.split(":")
    async with await asyncio.start_server(answer, host, int(port)):
        with pytest.raises(Unusable, match="HTTP 404"):
            await open_store(url_of(own_server), timeout_ms=200)


async def test_servers_of_two_clusters_are_not_taken_for_one(
    server: EtcdProcess, own_server: EtcdProcess
) -> None:
    store = await open_store(url_of(own_server.start(), server))
    own_server.kill()
    with pytest.raises(Unusable, match="another cluster"):
        await store.get("/a")
    with pytest.raises(Unusable, match="another cluster"):
        await anext(store.watch("/", 0))
    await store.close()


async def test_the_version_of_the_server_is_known(store: EtcdStore) -> None:
    major, minor, _ = (await store._gateway.version()).split(".")
    assert (int(major), int(minor)) >= (3, 4)


async def test_without_the_library_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("etcd_gateway", "etcd_http"):
        monkeypatch.delitem(sys.modules, f"penstock.metadata.stores.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(Unusable, match=r"aiohttp: pip install penstock\[etcd\]"):
        await open_store("etcd://127.0.0.1:1/p")
