"""Backups that are put back, on every store that there is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest

from penstock.errors import Refused, Unusable
from penstock.metadata.backup import restored
from penstock.metadata.cluster_changes import join, register_broker
from penstock.metadata.features import SUPPORTED
from penstock.metadata.image import Image
from penstock.metadata.keeper import Keeper
from penstock.metadata.records import (
    CLUSTER,
    PRODUCER_IDS,
    RESTORING,
    BrokerRecord,
    ClusterRecord,
    ConfigRecord,
    MemberRecord,
    ProducerIdsRecord,
    RestoringRecord,
    broker_key,
    encode,
    group_config_key,
    member_key,
)
from penstock.metadata.restoring import PIECE, Restoring
from penstock.metadata.store import Check, Conflict, Entry, Put, Store, Unavailable
from penstock.world.real import RealChance

OpenStore = Callable[[], Awaitable[Store]]
BROKER = BrokerRecord(node_id=1, host="h", port=1, owner=b"1", features=dict(SUPPORTED))


def backup(cluster_id: str = "kept", groups: int = 2) -> list[Entry]:
    config = encode(ConfigRecord(configs={}))
    rows = [Entry(group_config_key(f"g{number}"), config, 1) for number in range(groups)]
    rows.append(Entry(member_key(1), encode(MemberRecord(node_id=1, owner=b"1")), 1))
    rows.append(Entry(PRODUCER_IDS, encode(ProducerIdsRecord(next_id=0)), 1))
    return [*rows, Entry(CLUSTER, encode(ClusterRecord(cluster_id=cluster_id)), 1)]


async def restore(
    store: Store, entries: Sequence[Entry], *, nonce: bytes = b"one", replace: bool = False
) -> None:
    restoring = Restoring(store, nonce, 0, replace=replace)
    await restoring.look()
    await restoring.run(restored(entries, 0, RealChance()))


async def keys(store: Store) -> list[str]:
    return [entry.key for entry in (await store.list("/"))[0]]


class Cut(Exception):
    """The process was killed."""


class CutShort:
    """A store whose user is killed before a commit."""

    def __init__(self, store: Store, commits: int) -> None:
        self._store = store
        self._left = commits
        self.get, self.list, self.watch = store.get, store.list, store.watch
        self.session, self.close = store.session, store.close

    async def commit(
        self,
        checks: Sequence[Check],
        puts: Sequence[Put],
        deletes: Sequence[str] = (),
        session: str | None = None,
    ) -> int:
        self._left -= 1
        if self._left < 0:
            raise Cut
        return await self._store.commit(checks, puts, deletes, session)


async def test_a_backup_of_many_records_is_put_back_whole(store: Store) -> None:
    entries = backup(groups=2 * PIECE + 1)
    await restore(store, entries)
    assert sorted(await keys(store)) == sorted(entry.key for entry in entries)


async def test_a_cluster_that_is_there_stays_unless_it_is_to_be_replaced(store: Store) -> None:
    await restore(store, backup("old", groups=PIECE + 2))
    with pytest.raises(Unusable, match="--replace"):
        await restore(store, backup("new"))
    await restore(store, backup("new"), replace=True)
    assert sorted(await keys(store)) == sorted(entry.key for entry in backup("new"))
    found = await store.get(CLUSTER)
    assert found is not None
    assert b"new" in found.value


async def test_what_is_not_ours_is_not_touched(store: Store) -> None:
    await store.commit([], [("/theirs", b"{}")])
    for replace in (False, True):
        with pytest.raises(Unusable, match="/theirs"):
            await restore(store, backup(), replace=replace)
    assert await keys(store) == ["/theirs"]


@pytest.mark.parametrize("commits", [0, 1, 2, 3])
async def test_a_run_that_was_cut_short_leaves_no_cluster_and_is_done_again(
    store: Store, commits: int
) -> None:
    first, second = backup("first", groups=PIECE + 1), backup("second", groups=2)
    with pytest.raises(Cut):
        await restore(CutShort(store, commits), first)
    assert await store.get(CLUSTER) is None
    await restore(store, second, nonce=b"two")
    assert sorted(await keys(store)) == sorted(entry.key for entry in second)


async def test_no_broker_starts_in_a_store_that_is_half_restored(open_store: OpenStore) -> None:
    store = await open_store()
    with pytest.raises(Cut):
        await restore(CutShort(store, 2), backup(groups=PIECE + 1))
    keeper = Keeper(await open_store(), Image())
    try:
        with pytest.raises(Refused, match="backup restore"):
            await keeper.start("another", b"secret")
    finally:
        await keeper.close()


async def test_a_broker_that_looked_before_the_restore_does_not_get_in(
    open_store: OpenStore,
) -> None:
    """Its image is as old as can be: the store itself must refuse."""
    store, image = await open_store(), Image()
    await restore(store, backup("old"))
    image.load(*await store.list("/"))
    joining = join(image, 1, b"1")
    await store.commit(joining.checks, joining.puts)
    image.load(*await store.list("/"))
    session = await store.session(10_000)
    with pytest.raises(Cut):
        await restore(CutShort(store, 1), backup("new"), replace=True)
    for commit in (register_broker(image, BROKER, session.id), join(image, 1, b"1", 1)):
        with pytest.raises(Conflict):
            await store.commit(commit.checks, commit.puts, session=commit.session)


async def test_registered_brokers_are_not_restored_under_their_feet(store: Store) -> None:
    await restore(store, backup("old"))
    session = await store.session(10_000)
    await store.commit([], [(broker_key(1), encode(BROKER))], session=session.id)
    with pytest.raises(Unusable, match="stop them first"):
        await restore(store, backup("new"), replace=True)
    restoring = Restoring(store, b"two", 0, replace=True)
    with pytest.raises(Unusable, match="stop them first"):
        await restoring.run(restored(backup("new"), 0, RealChance()))
    assert RESTORING not in await keys(store), "the brokers may go on"
    await session.close()
    await restore(store, backup("new"), replace=True)


async def test_the_lease_of_a_broker_that_was_killed_is_waited_for(open_store: OpenStore) -> None:
    killed = await open_store()
    await restore(killed, backup("old"))
    session = await killed.session(2000)
    await killed.commit([], [(broker_key(1), encode(BROKER))], session=session.id)
    await killed.close()
    store = await open_store()
    there = await Restoring(store, b"two", 60_000, replace=True).look()
    assert there.cluster_id == "old"


async def test_of_two_runs_the_later_one_goes_on(open_store: OpenStore) -> None:
    store, other = await open_store(), await open_store()
    one = Restoring(store, b"one", 0, replace=False)
    guard = await one._begin()
    await restore(other, backup("second"), nonce=b"two")
    with pytest.raises(Unusable, match="another restore"):
        await one._commit([guard], [("/late", b"{}")])
    assert "/late" not in await keys(store)


async def test_a_marker_that_was_written_unnoticed_is_known_again(store: Store) -> None:
    await store.commit([], [(RESTORING, encode(RestoringRecord(nonce=b"one")))])
    await restore(store, backup())
    assert RESTORING not in await keys(store)


async def test_a_store_that_does_not_answer_is_said_so(store: Store) -> None:
    await store.close()
    with pytest.raises(Unavailable):
        await restore(store, backup())
