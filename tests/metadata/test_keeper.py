"""The keeper: an image that follows the store, and changes that get through or are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ErrorCode, Refused, Unusable
from penstock.metadata.changes import Commit, add_partitions, create_topic, delete_topic
from penstock.metadata.cluster import Changed
from penstock.metadata.cluster_changes import allocate_producer_ids, join, register_broker
from penstock.metadata.features import INITIAL, SUPPORTED
from penstock.metadata.image import Image
from penstock.metadata.keeper import Keeper
from penstock.metadata.merging import merge
from penstock.metadata.records import BrokerRecord, ClusterRecord, encode
from penstock.metadata.store import (
    OPERATIONS_MAX,
    Conflict,
    NoRoom,
    SessionLost,
    Unavailable,
    Unknown,
)
from penstock.metadata.stores import sqlite_file
from penstock.metadata.stores.sqlite import SqliteStore

StartKeeper = Callable[..., Awaitable[Keeper]]


class Unreliable:
    """A store whose commits fail in the ways listed, one after the other."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.failures: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, *arguments: Any) -> int:
        failure = self.failures.pop(0) if self.failures else ""
        if failure == "unavailable":
            raise Unavailable("away")
        if failure == "no room":
            raise NoRoom("the disk is full")
        if failure == "lost request":
            raise Unknown("no answer")
        if failure == "conflict":
            raise Conflict("/catalog", 0)
        revision = await self._store.commit(*arguments)
        if failure == "lost answer":
            raise Unknown("no answer")
        return revision


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[StartKeeper]:
    started: list[Keeper] = []

    async def start_keeper(
        cluster_id: str = "abc", on_change: Callable[[Changed], None] | None = None
    ) -> Keeper:
        store = await SqliteStore.open(str(tmp_path / "metadata.db"))
        keeper = Keeper(Unreliable(store), Image(), on_change)
        started.append(keeper)
        await keeper.start(cluster_id, b"secret")
        return keeper

    yield start_keeper
    for keeper in started:
        await keeper.close()
        await keeper.store.close()


async def register(keeper: Keeper, node_id: int = 1) -> None:
    session = await keeper.store.session(60_000)
    record = BrokerRecord(node_id=node_id, host="h", port=1, features=dict(SUPPORTED))
    await keeper.change(lambda image: join(image, node_id, b""))
    await keeper.change(lambda image: register_broker(image, record, session.id))


def creating(name: str) -> Callable[[Image], Commit[Any]]:
    topic_id = name.encode().ljust(16, b"-")
    return lambda image: create_topic(
        image, name, topic_id=topic_id, now_ms=0, partitions=2, replication=1
    )


def deleting(name: str) -> Callable[[Image], Commit[Any]]:
    """As DeleteTopics does it."""
    return lambda image: merge(image, {name: partial(delete_topic, name=name, nonce=b"1")})


def fail(keeper: Keeper, *failures: str) -> None:
    assert isinstance(keeper.store, Unreliable)
    keeper.store.failures.extend(failures)


def allocating(nonce: bytes) -> Callable[[Image], Commit[range]]:
    return lambda image: allocate_producer_ids(image, nonce=nonce)


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def test_the_first_broker_founds_the_cluster_and_others_join_it(start: StartKeeper) -> None:
    first, second = await start("one"), await start("two")
    assert (first.image.cluster_id, second.image.cluster_id) == ("one", "one")
    assert second.image.finalized_features == INITIAL


async def test_brokers_that_start_together_agree_on_the_cluster(start: StartKeeper) -> None:
    keepers = await asyncio.gather(*(start(str(number)) for number in range(4)))
    assert len({keeper.image.cluster_id for keeper in keepers}) == 1


async def test_a_change_is_in_the_image_when_it_is_answered(start: StartKeeper) -> None:
    keeper = await start()
    await register(keeper)
    record = await keeper.change(creating("orders"))
    assert keeper.image.topics["orders"].record == record


async def test_what_one_broker_changes_the_others_see(start: StartKeeper) -> None:
    steps: list[Changed] = []
    one, other = await start(), await start(on_change=steps.append)
    await register(one)
    await one.change(creating("orders"))
    await until(lambda: "orders" in other.image.topics)
    assert [list(step.created) for step in steps if step.created] == [[b"orders----------"]]
    assert [step.brokers for step in steps if step.brokers] == [{1}]


async def test_a_refusal_reaches_the_caller_and_stops_nobody(start: StartKeeper) -> None:
    keeper = await start()
    with pytest.raises(Refused, match="0 are alive"):
        await keeper.change(creating("orders"))
    await register(keeper)
    await keeper.change(creating("orders"))


async def test_changes_of_many_brokers_at_once_all_get_through(start: StartKeeper) -> None:
    keepers = [await start() for _ in range(3)]
    await register(keepers[0])
    asked = [
        keeper.change(allocating(b"%d.%d" % (number, turn)))
        for number, keeper in enumerate(keepers)
        for turn in range(5)
    ]
    blocks = sorted(block.start for block in await asyncio.gather(*asked))
    assert blocks == list(range(0, 15_000, 1000))


async def test_a_broker_that_was_overtaken_decides_again_on_what_is_there(
    start: StartKeeper,
) -> None:
    one, other = await start(), await start()
    seen: list[int] = []

    def decide(image: Image) -> Commit[range]:
        seen.append(image.revision)
        return allocate_producer_ids(image, nonce=b"one")

    await other.change(allocating(b"other"))
    overtaken_at = other.image.revision
    assert await one.change(decide) == range(1000, 2000)
    assert len(seen) <= 2
    assert seen[-1] == overtaken_at


async def test_changes_of_one_broker_are_carried_out_in_order(start: StartKeeper) -> None:
    keeper = await start()
    blocks = await asyncio.gather(*(keeper.change(allocating(b"%d" % n)) for n in range(5)))
    assert [block.start for block in blocks] == [0, 1000, 2000, 3000, 4000]


async def test_of_two_brokers_that_create_a_topic_one_is_told_that_it_exists(
    start: StartKeeper,
) -> None:
    one, other = await start(), await start()
    await register(one)
    await until(lambda: other.image.brokers)
    answers = await asyncio.gather(
        one.change(creating("orders")), other.change(creating("orders")), return_exceptions=True
    )
    (problem,) = [answer for answer in answers if isinstance(answer, Refused)]
    assert problem.code is ErrorCode.TOPIC_ALREADY_EXISTS


async def test_a_change_that_is_always_overtaken_is_given_up(start: StartKeeper) -> None:
    keeper = await start()
    fail(keeper, *["conflict"] * 20)
    with pytest.raises(Refused, match=r"20 times.*others changed the same metadata") as caught:
        await keeper.change(allocating(b"1"))
    assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert await keeper.change(allocating(b"2")) == range(1000)


async def test_a_commit_whose_answer_was_lost_is_recognised(start: StartKeeper) -> None:
    keeper = await start()
    fail(keeper, "lost answer")
    assert await keeper.change(allocating(b"1")) == range(1000)
    assert await keeper.change(allocating(b"2")) == range(1000, 2000)


async def test_a_topic_is_created_and_deleted_once_though_answers_are_lost(
    start: StartKeeper,
) -> None:
    keeper = await start()
    await register(keeper)
    fail(keeper, "lost answer", "lost answer")
    record = await keeper.change(creating("orders"))
    assert await keeper.change(lambda image: delete_topic(image, "orders", nonce=b"1")) == record
    assert not keeper.image.topics


async def test_a_commit_that_never_arrived_is_made_again(start: StartKeeper) -> None:
    keeper = await start()
    fail(keeper, "lost request")
    assert await keeper.change(allocating(b"1")) == range(1000)
    assert await keeper.change(allocating(b"2")) == range(1000, 2000)


async def test_a_store_that_is_away_is_a_refusal_in_time(start: StartKeeper) -> None:
    keeper = await start()
    fail(keeper, "unavailable")
    with pytest.raises(Refused, match="away") as caught:
        await keeper.change(allocating(b"1"))
    assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT


async def test_a_store_that_never_says_what_became_of_a_commit_is_told_from_one_that_others_change(
    start: StartKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.metadata.keeper.RETRY_MS", 0)
    keeper = await start()
    fail(keeper, *["lost request"] * 20)
    with pytest.raises(Refused, match=r"20 times.*does not say.*no answer"):
        await keeper.change(allocating(b"1"))


async def test_a_change_that_makes_room_may_have_some_made_for_it(start: StartKeeper) -> None:
    keeper = await start()
    await register(keeper)
    await keeper.change(creating("orders"))
    asked: list[bool] = []

    def make_room() -> bool:
        asked.append(len(asked) == 0)
        return asked[-1]

    keeper.make_room = make_room
    fail(keeper, "no room")
    with pytest.raises(Refused, match="the disk is full"):
        await keeper.change(creating("more"))
    assert not asked
    fail(keeper, "no room")
    await keeper.change(deleting("orders"))
    assert not keeper.image.topics
    await keeper.change(creating("others"))
    fail(keeper, "no room")
    with pytest.raises(Refused, match="the disk is full"):
        await keeper.change(deleting("others"))
    assert asked == [True, False]


async def test_registering_with_a_session_that_has_ended_fails(start: StartKeeper) -> None:
    keeper = await start()
    session = await keeper.store.session(60_000)
    await session.close()
    record = BrokerRecord(node_id=1, host="h", port=1, features=dict(SUPPORTED))
    await keeper.change(lambda image: join(image, 1, b""))
    with pytest.raises(SessionLost):
        await keeper.change(lambda image: register_broker(image, record, session.id))


async def test_a_broker_too_far_behind_lists_again(
    start: StartKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "TOMBSTONES_MAX", 2)
    deleted: list[str] = []

    def note(changed: Changed) -> None:
        deleted.extend(topic.name for topic in changed.deleted.values())

    one, other = await start(), await start(on_change=note)
    await register(one)
    names: Sequence[str] = ["a", "b", "c", "d"]
    for name in names:
        await one.change(creating(name))
    await until(lambda: len(other.image.topics) == 4)
    assert other._following is not None
    other._following.cancel()
    await asyncio.wait([other._following])
    for name in names[:3]:
        await one.change(partial(delete_topic, name=name, nonce=b"1"))
    other._following = asyncio.create_task(other._follow())
    await until(lambda: list(other.image.topics) == ["d"])
    assert sorted(deleted) == ["a", "b", "c"]


async def test_a_record_of_a_newer_release_ends_the_following(start: StartKeeper) -> None:
    keeper = await start()
    newer = encode(ClusterRecord(cluster_id="abc", version=9))
    await keeper.store.commit([], [("/cluster", newer)])
    assert isinstance(await keeper.wait_failed(), Unusable)
    with pytest.raises(Unusable, match="newer release"):
        await keeper.change(allocating(b"1"))


async def test_a_change_while_stopping_is_told_so(start: StartKeeper) -> None:
    keeper = await start()
    await keeper.close()
    with pytest.raises(Refused, match="stopping"):
        await keeper.change(allocating(b"1"))


# More than a store takes at once


def creating_large(name: str, partitions: int, topic_id: bytes) -> Callable[[Image], Commit[Any]]:
    return lambda image: create_topic(
        image, name, topic_id=topic_id, now_ms=1, partitions=partitions, replication=1
    )


async def test_a_topic_of_many_partitions_is_there_at_once(start: StartKeeper) -> None:
    seen: list[tuple[int, int]] = []

    def note(changed: Changed) -> None:
        seen.append((len(changed.created), len(changed.partitions)))

    keeper = await start(on_change=note)
    await register(keeper)
    seen.clear()
    count = 2 * OPERATIONS_MAX + 1
    await keeper.change(creating_large("t", count, b"t" * 16))
    assert sum(created for created, _ in seen) == 1
    assert (1, count) in seen, "with all its partitions"
    assert len(keeper.image.topics["t"].partitions) == count
    await keeper.change(partial(delete_topic, name="t", nonce=b"n" * 16))
    assert [entry.key for entry in (await keeper.store.list("/partitions/"))[0]] == []


@pytest.mark.parametrize("failure", ["lost request", "lost answer", "conflict"])
async def test_what_is_written_ahead_is_written_again_if_need_be(
    start: StartKeeper, failure: str
) -> None:
    keeper = await start()
    await register(keeper)
    keeper.store.failures = ["", failure]  # type: ignore[attr-defined]
    count = 3 * OPERATIONS_MAX
    await keeper.change(creating_large("t", count, b"t" * 16))
    assert None not in keeper.image.topics["t"].partitions
    assert len(keeper.image.topics["t"].partitions) == count


async def test_of_two_brokers_that_add_partitions_each_sees_what_the_other_did(
    start: StartKeeper,
) -> None:
    one, other = await start(), await start()
    await register(one)
    await one.change(creating_large("t", 1, b"t" * 16))
    await other.change(lambda image: allocate_producer_ids(image, nonce=b"2"))

    def growing(to: int, nonce: bytes) -> Callable[[Image], Commit[Any]]:
        def decide(image: Image) -> Commit[Any]:
            now = image.topics["t"].record.partitions
            return add_partitions(image, "t", max(now, 1) + to, nonce=nonce)

        return decide

    await asyncio.gather(one.change(growing(150, b"1" * 16)), other.change(growing(250, b"2" * 16)))
    await one.change(lambda image: allocate_producer_ids(image, nonce=b"3"))
    topic = one.image.topics["t"]
    assert topic.record.partitions == 401
    assert all(record is not None and record.leader == 1 for record in topic.partitions)
