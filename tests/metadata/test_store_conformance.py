"""What every metadata store must do, on every backend that there is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from penstock.metadata.store import (
    OPERATIONS_MAX,
    Conflict,
    Event,
    Events,
    Reset,
    SessionLost,
    Store,
)

OpenStore = Callable[[], Awaitable[Store]]


async def put(store: Store, key: str, value: bytes = b"x") -> int:
    return await store.commit([], [(key, value)])


async def values(store: Store, prefix: str = "/") -> dict[str, bytes]:
    entries, _ = await store.list(prefix)
    return {entry.key: entry.value for entry in entries}


async def follow(
    store: Store, prefix: str, after: int, until: Callable[[Event], bool]
) -> list[Event]:
    """What a watch brings up to the first event that is wanted."""
    seen: list[Event] = []
    async with aclosing(store.watch(prefix, after)) as steps:
        async for step in steps:
            assert isinstance(step, Events)
            seen.extend(step.events)
            if any(until(event) for event in step.events):
                break
    return seen


async def gone(store: Store, key: str, after: int) -> None:
    await follow(store, key, after, lambda event: event.entry is None)


# Reading and committing


async def test_a_key_that_was_never_written_is_not_there(store: Store) -> None:
    assert await store.get("/a") is None
    assert (await store.list("/"))[0] == []


async def test_what_one_broker_commits_another_reads(open_store: OpenStore) -> None:
    one, other = await open_store(), await open_store()
    revision = await put(one, "/a", b"1")
    entry = await other.get("/a")
    assert entry is not None
    assert (entry.value, entry.revision, entry.session) == (b"1", revision, None)


async def test_all_that_one_commit_writes_has_its_revision(store: Store) -> None:
    await put(store, "/before")
    revision = await store.commit([], [("/a", b"1"), ("/b", b"2")])
    entries, _ = await store.list("/")
    assert [(e.key, e.revision == revision) for e in entries] == [
        ("/a", True),
        ("/b", True),
        ("/before", False),
    ]


async def test_revisions_ascend_over_all_keys(open_store: OpenStore) -> None:
    one, other = await open_store(), await open_store()
    revisions = [await put(s, key) for s in (one, other) for key in ("/a", "/b", "/a")]
    assert revisions == sorted(set(revisions))


async def test_a_list_has_what_begins_with_the_prefix_sorted_by_key(store: Store) -> None:
    last = [await put(store, key) for key in ("/a/2", "/ab", "/a/10", "/b", "/a/1")][-1]
    entries, revision = await store.list("/a/")
    assert [entry.key for entry in entries] == ["/a/1", "/a/10", "/a/2"]
    assert revision == last


async def test_a_value_is_any_bytes(store: Store) -> None:
    await put(store, "/a", bytes(range(256)))
    await put(store, "/empty", b"")
    assert await values(store) == {"/a": bytes(range(256)), "/empty": b""}


async def test_a_commit_of_as_many_puts_as_there_may_be_is_one_step(store: Store) -> None:
    revision = await store.commit([], [(f"/p/{i}", b"x") for i in range(OPERATIONS_MAX)])
    entries, at = await store.list("/p/")
    assert (len(entries), at) == (OPERATIONS_MAX, revision)
    assert {entry.revision for entry in entries} == {revision}


# Conflicts


async def test_a_check_for_the_revision_read_lets_the_commit_pass(store: Store) -> None:
    revision = await put(store, "/a")
    assert await store.commit([("/a", revision)], [("/a", b"2")]) > revision


async def test_a_check_for_an_older_revision_is_a_conflict(store: Store) -> None:
    old = await put(store, "/a", b"1")
    new = await put(store, "/a", b"2")
    with pytest.raises(Conflict) as refused:
        await store.commit([("/a", old)], [("/a", b"3")])
    assert (refused.value.key, refused.value.revision) == ("/a", new)
    assert await values(store) == {"/a": b"2"}


async def test_a_check_that_a_key_is_absent_fails_where_it_exists(store: Store) -> None:
    await store.commit([("/a", 0)], [("/a", b"1")])
    with pytest.raises(Conflict):
        await store.commit([("/a", 0)], [("/a", b"2")])


async def test_a_check_of_a_key_that_is_gone_is_a_conflict(store: Store) -> None:
    revision = await put(store, "/a")
    await store.commit([], [], ["/a"])
    with pytest.raises(Conflict):
        await store.commit([("/a", revision)], [("/b", b"1")])


async def test_a_key_deleted_and_written_again_is_not_what_it_was(store: Store) -> None:
    revision = await put(store, "/a", b"same")
    await store.commit([], [], ["/a"])
    assert await store.get("/a") is None
    await store.commit([("/a", 0)], [("/a", b"same")])
    with pytest.raises(Conflict):
        await store.commit([("/a", revision)], [("/a", b"1")])


async def test_a_conflict_leaves_nothing_of_the_commit(store: Store) -> None:
    revision = await put(store, "/a", b"1")
    with pytest.raises(Conflict):
        await store.commit([("/a", revision), ("/b", 7)], [("/a", b"2"), ("/c", b"2")], ["/a"])
    assert await values(store) == {"/a": b"1"}
    assert (await store.list("/"))[1] == revision


async def test_a_commit_that_changes_nothing_makes_no_revision(store: Store) -> None:
    revision = await put(store, "/a")
    assert await store.commit([("/a", revision)], [], ["/absent"]) == revision


async def test_of_many_that_compare_the_same_revision_one_wins(open_store: OpenStore) -> None:
    stores = [await open_store() for _ in range(3)]

    async def count_up(store: Store) -> None:
        added = 0
        while added < 20:
            entry = await store.get("/n")
            number, revision = (int(entry.value), entry.revision) if entry else (0, 0)
            try:
                await store.commit([("/n", revision)], [("/n", str(number + 1).encode())])
            except Conflict:
                continue
            added += 1

    await asyncio.gather(*(count_up(store) for store in stores))
    assert await values(stores[0]) == {"/n": b"60"}


# Watches


async def test_a_watch_begins_with_what_changed_since(store: Store) -> None:
    first = await put(store, "/a", b"1")
    await store.commit([], [("/b", b"2")], ["/a"])
    events = await follow(store, "/", first, lambda event: event.key == "/b")
    assert {event.key: event.entry and event.entry.value for event in events} == {
        "/a": None,
        "/b": b"2",
    }


async def test_a_watch_goes_on_with_commits_of_others(open_store: OpenStore) -> None:
    one, other = await open_store(), await open_store()
    watching = asyncio.create_task(follow(one, "/", 0, lambda event: event.key == "/c"))
    for store, key in ((other, "/a"), (one, "/b"), (other, "/c")):
        await put(store, key)
    assert [event.key for event in await watching] == ["/a", "/b", "/c"]


async def test_a_watch_brings_only_what_begins_with_its_prefix(store: Store) -> None:
    for key in ("/b/1", "/a/1", "/b/2"):
        await put(store, key)
    events = await follow(store, "/b/", 0, lambda event: event.key == "/b/2")
    assert [event.key for event in events] == ["/b/1", "/b/2"]


async def test_a_commit_comes_whole_in_one_step(store: Store) -> None:
    async with aclosing(store.watch("/", 0)) as steps:
        revision = await store.commit([], [(f"/{i}", b"x") for i in range(100)])
        step = await anext(steps)
    assert isinstance(step, Events)
    assert (step.revision, len(step.events)) == (revision, 100)


async def test_a_watch_among_concurrent_commits_misses_nothing(open_store: OpenStore) -> None:
    writers = [await open_store() for _ in range(2)]
    watcher = await open_store()
    state: dict[str, tuple[bytes, int]] = {}
    revisions: list[int] = []

    async def write(number: int, store: Store) -> None:
        for turn in range(60):
            keys = [f"/{number}/{turn % 7}", f"/both/{turn % 3}"]
            dropped = [f"/{number}/{(turn + 3) % 7}"] if turn % 2 else []
            await store.commit([], [(key, f"{number}.{turn}".encode()) for key in keys], dropped)
        await put(store, f"/end/{number}")

    async def replay() -> None:
        async with aclosing(watcher.watch("/", 0)) as steps:
            async for step in steps:
                assert not isinstance(step, Reset)
                revisions.append(step.revision)
                for event in step.events:
                    state.pop(event.key, None)
                    if event.entry:
                        state[event.key] = (event.entry.value, event.entry.revision)
                if {"/end/0", "/end/1"} <= state.keys():
                    return

    await asyncio.gather(replay(), *(write(n, store) for n, store in enumerate(writers)))
    entries, _ = await watcher.list("/")
    assert state == {entry.key: (entry.value, entry.revision) for entry in entries}
    assert revisions == sorted(set(revisions))


async def test_each_of_several_watches_sees_everything(open_store: OpenStore) -> None:
    one, other = await open_store(), await open_store()
    watches = [
        asyncio.create_task(follow(store, "/", 0, lambda event: event.key == "/z"))
        for store in (one, one, other)
    ]
    await put(one, "/a")
    await put(other, "/z")
    for watch in watches:
        assert [event.key for event in await watch] == ["/a", "/z"]


# Sessions


async def test_a_key_bound_to_a_session_says_so(store: Store) -> None:
    session = await store.session(10_000)
    await store.commit([], [("/a", b"1")], session=session.id)
    entry = await store.get("/a")
    assert entry is not None
    assert entry.session == session.id
    assert not session.suspended
    assert not session.lost
    await session.close()


async def test_a_session_that_is_closed_takes_its_keys_with_it(open_store: OpenStore) -> None:
    one, other = await open_store(), await open_store()
    session = await one.session(10_000)
    await put(one, "/stays")
    revision = await one.commit([], [("/a", b"1"), ("/b", b"1")], session=session.id)
    await session.close()
    await gone(other, "/a", revision)
    assert await values(other) == {"/stays": b"x"}
    assert session.lost


async def test_nothing_can_be_bound_to_a_session_that_has_ended(store: Store) -> None:
    session = await store.session(10_000)
    await session.close()
    with pytest.raises(SessionLost):
        await store.commit([], [("/a", b"1")], session=session.id)
    assert await values(store) == {}


async def test_a_key_taken_over_outlives_the_session_it_was_bound_to(store: Store) -> None:
    before, after = await store.session(10_000), await store.session(10_000)
    assert before.id != after.id
    revision = await store.commit([], [("/a", b"1"), ("/b", b"1")], session=before.id)
    await store.commit([("/a", revision)], [("/a", b"2")], session=after.id)
    await before.close()
    assert await values(store) == {"/a": b"2"}
    await after.close()
    assert await values(store) == {}


async def test_a_key_written_without_the_session_is_no_longer_bound(store: Store) -> None:
    session = await store.session(10_000)
    await store.commit([], [("/a", b"1")], session=session.id)
    await put(store, "/a", b"2")
    await session.close()
    assert await values(store) == {"/a": b"2"}


async def test_the_dead_lose_their_keys_and_the_living_keep_them(open_store: OpenStore) -> None:
    living, dying = await open_store(), await open_store()
    session = await living.session(1)
    begun_ms = session.deadline_ms
    await living.commit([], [("/living", b"1")], session=session.id)
    lease = await dying.session(1)
    revision = await dying.commit([], [("/dying", b"1")], session=lease.id)
    await dying.close()
    await gone(living, "/dying", revision)
    assert await values(living) == {"/living": b"1"}
    assert session.deadline_ms > begun_ms
    assert not session.lost
    await session.close()
