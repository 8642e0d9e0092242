"""Where share groups are, and setting that: asked over a connection of a broker that looks after
the group, its shares and its partitions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from tests.server.house import House

from penstock.api.handlers import k90_describe_share_group_offsets
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share import shares
from penstock.coordination.group.share.heartbeat import heartbeat
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import State
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode
from penstock.metadata.internal_topics import SHARES
from penstock.server.share_upkeep import ShareUpkeep
from penstock.wire.delivery import StateBatch
from penstock.wire.messages import k90_describe_share_group_offsets as k90
from penstock.wire.messages import k91_alter_share_group_offsets as k91
from penstock.wire.messages import k92_delete_share_group_offsets as k92
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from penstock.world.ports import World
from penstock.world.real import RealChance, RealNetwork

NAME, MEMBER = "jobs", "a-member-of-the-group"
PARTITIONS = 4


class Stage:
    """A share group with a topic of four partitions, and the client that asks about it."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.broker = house.broker
        self.topic_id = house.desk.create("orders", partitions=PARTITIONS)
        self.client = house.connect()

    async def ask(self, request: Any, version: int | None = None) -> Any:
        return await self.house.ask(self.client, request, version)

    def key(self, index: int) -> ShareKey:
        return ShareKey(NAME, self.topic_id, index)

    async def begin(self) -> None:
        """A member joins, and all partitions are set up, at offset 2."""
        await self.ask(FindCoordinatorRequest(coordinator_keys=[NAME]))
        self.broker.groups.follow()
        self.beat(0, ["orders"])
        for index in range(PARTITIONS):
            await self.broker.share_states.initialize(self.key(index), 0, 2)
        done = {self.topic_id: frozenset(range(PARTITIONS))}

        def initialized(turn: Turn, group: Group) -> bool:
            shares.initialized(turn, group, done)
            return True

        self._decide(initialized)

    def beat(self, epoch: int, topics: list[str] | None = None) -> None:
        request = ShareGroupHeartbeatRequest(NAME, MEMBER, epoch, None, topics)
        self._decide(partial(heartbeat, request=request, client_id="test", client_host="/test"))

    def leave(self) -> None:
        self.beat(-1)

    def _decide(self, decide: Any) -> None:
        self.broker.groups.shard(NAME).decide_part(NAME, decide)
        self.house.door.settle()

    # -- what clients ask

    async def describe(self, *topics: Any, version: int = 1) -> Any:
        asked = [k90.DescribeShareGroupOffsetsRequestTopic(*each) for each in topics] or None
        group = k90.DescribeShareGroupOffsetsRequestGroup(NAME, asked)
        answer = await self.ask(k90.DescribeShareGroupOffsetsRequest([group]), version)
        (described,) = answer.groups
        return described

    async def alter(self, offsets: dict[int, int], topic: str = "orders") -> Any:
        parts = [k91.AlterShareGroupOffsetsRequestPartition(*each) for each in offsets.items()]
        topics = [k91.AlterShareGroupOffsetsRequestTopic(topic, parts)]
        return await self.ask(k91.AlterShareGroupOffsetsRequest(NAME, topics))

    async def delete(self, *topics: str) -> Any:
        asked = [k92.DeleteShareGroupOffsetsRequestTopic(name) for name in topics]
        return await self.ask(k92.DeleteShareGroupOffsetsRequest(NAME, asked))

    async def summary(self, index: int, topic_id: bytes | None = None) -> State:
        key = ShareKey(NAME, topic_id or self.topic_id, index)
        state = (await self.broker.share_states.summaries([key]))[key]
        assert isinstance(state, State)
        return state


@pytest.fixture
async def stage(house: House) -> AsyncIterator[Stage]:
    world = World(house.clock, house.disk, RealNetwork(), RealChance())
    upkeep = ShareUpkeep(world, house.door)
    upkeep.start()
    stage = Stage(house)
    await stage.begin()
    yield stage
    await upkeep.stop()


def starts(described: Any) -> dict[int, int]:
    (topic,) = described.topics
    return {part.partition_index: part.start_offset for part in topic.partitions}


def codes(answer: Any) -> list[int]:
    return [part.error_code for topic in answer.responses for part in topic.partitions]


# Describing


async def test_all_that_a_group_shares_is_described(stage: Stage) -> None:
    described = await stage.describe()
    assert (described.group_id, described.error_code) == (NAME, ErrorCode.NONE)
    (topic,) = described.topics
    assert (topic.topic_name, topic.topic_id) == ("orders", stage.topic_id)
    assert starts(described) == dict.fromkeys(range(PARTITIONS), 2)
    assert {part.error_code for part in topic.partitions} == {ErrorCode.NONE}


async def test_the_lag_is_what_is_not_finished_up_to_the_high_watermark(stage: Stage) -> None:
    stage.house.desk.append("orders", 0, count=10)
    stage.house.desk.append("orders", 1, count=10)
    finished = [StateBatch(6, 7, 2, 0), StateBatch(9, 9, 4, 0)]
    await stage.broker.share_states.write(stage.key(0), Written(0, 5, 4, 3, finished))
    (topic,) = (await stage.describe(("orders", [0, 1]))).topics
    found = [(part.start_offset, part.leader_epoch, part.lag) for part in topic.partitions]
    assert found == [(4, 5, 3), (2, 0, 8)]


async def test_version_0_has_no_lag(stage: Stage) -> None:
    (topic,) = (await stage.describe(("orders", [0]), version=0)).topics
    assert [(part.start_offset, part.lag) for part in topic.partitions] == [(2, -1)]


async def test_what_the_group_has_not_begun_with_is_nowhere(stage: Stage) -> None:
    stage.house.desk.create("others")
    (topic,) = (await stage.describe(("others", [0]))).topics
    (part,) = topic.partitions
    assert (part.start_offset, part.lag, part.error_code) == (-1, -1, ErrorCode.NONE)


async def test_what_is_not_there_is_said_for_each_partition(stage: Stage) -> None:
    described = await stage.describe(("nothing", [0, 1]), ("orders", [0, 77]), (SHARES, [0]))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    found = [[part.error_code for part in topic.partitions] for topic in described.topics]
    assert found == [[unknown, unknown], [ErrorCode.NONE, unknown], [unknown]]
    assert described.topics[0].partitions[0].error_message


async def test_a_group_that_is_not_there_is_said_by_itself(stage: Stage) -> None:
    groups = [k90.DescribeShareGroupOffsetsRequestGroup(name, None) for name in ("none", NAME)]
    answer = await stage.ask(k90.DescribeShareGroupOffsetsRequest(groups))
    found = [(each.group_id, each.error_code) for each in answer.groups]
    assert found == [("none", ErrorCode.GROUP_ID_NOT_FOUND), (NAME, ErrorCode.NONE)]


async def test_who_asks_for_too_much_is_told_to_ask_for_less(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(k90_describe_share_group_offsets, "SHARES_MAX", PARTITIONS - 1)
    described = await stage.describe()
    assert described.error_code == ErrorCode.POLICY_VIOLATION
    assert "fewer" in described.error_message


# Setting


async def test_a_group_without_members_begins_anew_where_it_is_set_to(stage: Stage) -> None:
    batch = StateBatch(3, 3, 2, 0)
    await stage.broker.share_states.write(stage.key(1), Written(0, 4, 2, 1, [batch]))
    stage.leave()
    answer = await stage.alter({0: 7, 1: 0})
    assert (answer.error_code, codes(answer)) == (ErrorCode.NONE, [0, 0])
    assert starts(await stage.describe()) == {0: 7, 1: 0, 2: 2, 3: 2}
    assert await stage.broker.share_states.read(stage.key(1), 4) == State(1, 4, 0, -1, ())
    assert codes(await stage.alter({1: 5})) == [ErrorCode.NONE]
    assert (await stage.summary(1)).state_epoch == 2


async def test_a_group_with_members_stays_where_it_is(stage: Stage) -> None:
    answer = await stage.alter({0: 7})
    assert answer.error_code == ErrorCode.NON_EMPTY_GROUP
    assert "stop them" in answer.error_message
    assert (await stage.summary(0)).start_offset == 2


async def test_each_partition_is_set_or_refused_by_itself(stage: Stage) -> None:
    stage.leave()
    answer = await stage.alter({0: 7, 50: 1, 1: -1})
    assert codes(answer) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    ]
    for topic in ("nothing", SHARES):
        assert codes(await stage.alter({0: 0}, topic)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert starts(await stage.describe())[0] == 7


async def test_a_topic_that_the_group_has_not_read_is_its_own_from_then_on(stage: Stage) -> None:
    stage.house.desk.create("others", partitions=2)
    stage.leave()
    assert codes(await stage.alter({1: 3}, "others")) == [ErrorCode.NONE]
    described = await stage.describe()
    assert {topic.topic_name for topic in described.topics} == {"orders", "others"}
    others = next(topic for topic in described.topics if topic.topic_name == "others")
    assert [(part.partition_index, part.start_offset) for part in others.partitions] == [(1, 3)]


@pytest.mark.parametrize("name", ["none", ""])
async def test_a_group_that_is_not_there_is_not_made(stage: Stage, name: str) -> None:
    for request in (
        k91.AlterShareGroupOffsetsRequest(name, []),
        k92.DeleteShareGroupOffsetsRequest(name, []),
    ):
        expected = ErrorCode.GROUP_ID_NOT_FOUND if name else ErrorCode.INVALID_GROUP_ID
        assert (await stage.ask(request)).error_code == expected


# Forgetting


async def test_a_group_without_members_forgets_topics(stage: Stage) -> None:
    stage.leave()
    answer = await stage.delete("orders", "nothing")
    assert answer.error_code == ErrorCode.NONE
    found = [(each.topic_name, each.error_code) for each in answer.responses]
    assert found == [
        ("orders", ErrorCode.NONE),
        ("nothing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert (await stage.describe()).topics == []


async def test_a_group_with_members_forgets_nothing(stage: Stage) -> None:
    assert (await stage.delete("orders")).error_code == ErrorCode.NON_EMPTY_GROUP
    assert len(starts(await stage.describe())) == PARTITIONS


async def test_what_is_being_deleted_is_not_set(stage: Stage) -> None:
    stage.leave()

    def forget(turn: Turn, group: Group) -> bool:
        shares.delete_topics(turn, group, [stage.topic_id])
        return True

    stage.broker.groups.shard(NAME).decide_part(NAME, forget)
    assert codes(await stage.alter({0: 7})) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert (await stage.summary(0)).state_epoch == 0
