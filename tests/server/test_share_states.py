"""Shares whose coordinator is the broker that asks: what is answered is on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest
from tests.server.house import House

from penstock.api.sharing.states import UNCERTAIN
from penstock.coordination.share.deciding import NOT_BEGUN, Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import State, Summary
from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster import Changed
from penstock.metadata.internal_topics import SHARES
from penstock.server.share_states import AskingForShares
from penstock.server.share_upkeep import ShareUpkeep
from penstock.wire.delivery import StateBatch
from penstock.world.ports import World
from penstock.world.real import RealChance, RealNetwork

GROUP = "jobs"


@pytest.fixture
async def upkeep(house: House) -> AsyncIterator[ShareUpkeep]:
    world = World(house.clock, house.disk, RealNetwork(), RealChance())
    upkeep = ShareUpkeep(world, house.door)
    upkeep.start()
    yield upkeep
    await upkeep.stop()


@pytest.fixture
def shares(house: House, upkeep: ShareUpkeep) -> AskingForShares:
    shares = house.broker.share_states
    assert isinstance(shares, AskingForShares)
    return shares


@pytest.fixture
def keys(house: House) -> list[ShareKey]:
    topic_id = house.desk.create("orders", partitions=20)
    return [ShareKey(GROUP, topic_id, index) for index in range(20)]


def written(start: int, *batches: StateBatch, leader_epoch: int = 0) -> Written:
    return Written(0, leader_epoch, start, 0, batches)


async def refusal(asked: Callable[[], object]) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        async with asyncio.timeout(30):
            await asked()  # type: ignore[misc]
    return caught.value.code


async def test_the_first_share_has_the_topic_made(
    house: House, shares: AskingForShares, keys: list[ShareKey]
) -> None:
    assert house.desk.image.topic(SHARES) is None
    await shares.initialize(keys[0], 0, 7)
    assert house.desk.image.topic(SHARES) is not None
    assert await shares.read(keys[0], 3) == State(0, 3, 7, -1, ())


async def test_who_only_wants_to_know_makes_no_topic(
    house: House, shares: AskingForShares, keys: list[ShareKey]
) -> None:
    await shares.delete(keys[0])
    assert await shares.summaries(keys) == dict.fromkeys(keys, NOT_BEGUN)
    assert house.desk.image.topic(SHARES) is None


async def test_what_was_written_is_read_and_summed_up(
    shares: AskingForShares, keys: list[ShareKey]
) -> None:
    for key in keys:
        await shares.initialize(key, 0, 0)
    batch = StateBatch(12, 14, 0, 5, rejected_after=1)
    async with asyncio.TaskGroup() as tasks:
        for key in keys:
            tasks.create_task(shares.write(key, written(10 + key.partition, batch)))
    assert await shares.read(keys[0], 0) == State(0, 0, 10, -1, (batch,))
    assert await shares.summaries(keys) == {
        key: Summary(0, 0, 10 + key.partition, 0, (), max(10 + key.partition, 15)) for key in keys
    }
    await shares.delete(keys[0])
    assert await shares.summaries(keys[:1]) == {keys[0]: NOT_BEGUN}


async def test_a_write_is_answered_once_it_is_safe(
    house: House, shares: AskingForShares, keys: list[ShareKey]
) -> None:
    await shares.initialize(keys[0], 0, 0)
    index, _ = house.broker.shares.place(keys[0].name)
    leader = house.broker.leader(SHARES, index)
    end = leader.log.end_offset
    house.disk.syncs.clear()
    task = asyncio.create_task(shares.write(keys[0], written(5)))
    await house.settle(lambda: leader.log.written_end > end)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    house.disk.syncs.set()
    await task
    assert leader.high_watermark == leader.log.end_offset > end


async def test_writes_of_one_round_are_written_together(
    house: House,
    shares: AskingForShares,
    keys: list[ShareKey],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for key in keys:
        await shares.initialize(key, 0, 0)
    rounds: list[None] = []
    settle = house.door.settle
    monkeypatch.setattr(house.door, "settle", lambda: rounds.append(settle()))
    await asyncio.gather(*(shares.write(key, written(5)) for key in keys))
    assert len(rounds) == 1


async def test_what_the_disk_does_not_take_is_said_to_be_uncertain_at_once(
    house: House, shares: AskingForShares, keys: list[ShareKey]
) -> None:
    await shares.initialize(keys[0], 0, 0)
    index, _ = house.broker.shares.place(keys[0].name)
    house.disk.full_folder = f"{SHARES}-{index}"
    assert await refusal(partial(shares.write, keys[0], written(5))) in UNCERTAIN
    house.disk.full_folder = ""
    house.broker.disk_is_full = False
    assert (await shares.read(keys[0], 0)).start_offset == 0
    await shares.write(keys[0], written(6))
    assert (await shares.read(keys[0], 0)).start_offset == 6


async def test_a_leader_that_is_over_is_shut_out(
    shares: AskingForShares, keys: list[ShareKey]
) -> None:
    await shares.initialize(keys[0], 0, 0)
    await shares.read(keys[0], 2)
    late = partial(shares.write, keys[0], written(5, leader_epoch=1))
    assert await refusal(late) is ErrorCode.FENCED_LEADER_EPOCH
    assert await refusal(partial(shares.read, keys[0], 1)) is ErrorCode.FENCED_LEADER_EPOCH


async def test_what_is_not_known_of_one_share_keeps_nobody_from_the_others(
    shares: AskingForShares, keys: list[ShareKey]
) -> None:
    await shares.initialize(keys[0], 0, 4)
    nowhere = keys[0]._replace(partition=99)
    found = await shares.summaries([nowhere, keys[0], keys[0]])
    refused = found[nowhere]
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found[keys[0]] == Summary(0, 0, 4, 0, (), 4)


async def test_without_a_coordinator_a_write_is_not_waited_for(
    shares: AskingForShares, keys: list[ShareKey]
) -> None:
    code = await refusal(partial(shares.write, keys[0], written(5)))
    assert code is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_shares_go_with_their_topic(
    house: House, shares: AskingForShares, upkeep: ShareUpkeep, keys: list[ShareKey]
) -> None:
    await shares.initialize(keys[0], 0, 0)
    await shares.initialize(keys[1], 0, 0)
    assert len(list(house.broker.shares.each())) == 2
    topic = house.desk.image.topics["orders"]
    house.delete_topic("orders")
    upkeep.follow(Changed(deleted={topic.id: topic}))
    await house.settle(lambda: not list(house.broker.shares.each()))
