"""A broker that was held up for longer than its lease, and what may have come between."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.node.test_moving import Brokers

from penstock.metadata.changes import Commit
from penstock.metadata.records import encode, member_key
from penstock.metadata.stores.sqlite import SqliteStore
from penstock.node.node import Node

WAIT_S = 60


@pytest.fixture
async def brokers(tmp_path: Path) -> AsyncIterator[Brokers]:
    made = Brokers(tmp_path)
    yield made
    await made.close()


async def rewrite_member(node: Node, node_id: int, **fields: object) -> None:
    known = node.image.members[node_id].record
    put = member_key(node_id), encode(msgspec.structs.replace(known, **fields))
    await node.keeper.change(lambda image: Commit(None, puts=[put]))


async def forget_member(node: Node, node_id: int) -> None:
    await node.keeper.change(lambda image: Commit(None, deletes=[member_key(node_id)]))


async def end_lease(node: Node) -> None:
    """As if the process had been stopped for so long."""
    assert isinstance(node.store, SqliteStore)
    await node.store.end(int(node.session.id))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"is_gone": True}, "was removed"),
        ({"owner": b"another"}, "another process has taken its place"),
        ({"is_restored": True}, "put back from a backup"),
    ],
    ids=["removed", "replaced", "restored"],
)
async def test_a_broker_paused_beyond_its_lease_ends_if_it_was_meanwhile(
    brokers: Brokers, fields: dict[str, object], said: str
) -> None:
    await brokers.start(1, 2)
    paused = brokers.nodes[2]
    await rewrite_member(brokers.nodes[1], 2, **fields)
    await end_lease(paused)
    async with asyncio.timeout(WAIT_S):
        assert said in await paused.failed
    await brokers.until(lambda: 2 not in brokers.nodes[1].image.brokers)


async def test_a_broker_paused_beyond_its_lease_ends_if_the_store_knows_it_no_more(
    brokers: Brokers,
) -> None:
    """It joined after the backup was made that was put back."""
    await brokers.start(1, 2)
    paused = brokers.nodes[2]
    await forget_member(brokers.nodes[1], 2)
    await end_lease(paused)
    async with asyncio.timeout(WAIT_S):
        assert "so that it joins" in await paused.failed


async def test_a_broker_paused_beyond_its_lease_comes_back_if_nothing_has_come_between(
    brokers: Brokers,
) -> None:
    await brokers.start(1, 2)
    paused = brokers.nodes[2]
    await paused._marking.raise_once()
    before = paused.image.brokers[2].epoch
    await end_lease(paused)
    known = brokers.nodes[1].image.brokers
    await brokers.until(lambda: 2 in known and known[2].epoch > before)
    assert not paused.failed.done()


@pytest.mark.parametrize("is_removed", [True, False])
async def test_an_empty_disk_is_not_in_sync_though_the_member_is_gone(
    brokers: Brokers, is_removed: bool
) -> None:
    """Whatever the partition says: nobody knows what that was."""
    await brokers.start(1, 2, 3)
    await brokers.create(2, 1)
    await brokers.append(3)
    await brokers.stop(1)
    await brokers.until(lambda: brokers.record.isr == (2,))
    await brokers.append(3)
    await brokers.stop(2)
    if is_removed:
        await rewrite_member(brokers.any, 2, is_gone=True)
    else:
        await forget_member(brokers.any, 2)
    shutil.rmtree(brokers.folder / "2")
    await brokers.start(2)
    assert (brokers.record.leader, brokers.record.isr) == (-1, ())


async def test_the_only_copy_of_a_partition_stays_in_sync_though_the_member_is_not_known(
    brokers: Brokers,
) -> None:
    """As with a store of before there were members: nobody can have more."""
    await brokers.start(1)
    await brokers.create(1)
    await brokers.append(3)
    await brokers.stop(1)
    await brokers.start(2)
    await forget_member(brokers.any, 1)
    await brokers.start(1)
    await brokers.until(lambda: brokers.record.leader == 1)
    assert brokers.record.isr == (1,)
