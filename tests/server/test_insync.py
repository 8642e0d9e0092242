"""Who is in sync with what a broker leads, while the store takes its time or does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.server.house import House

from penstock.errors import ErrorCode, Refused
from penstock.log.damage import Damage
from penstock.metadata.records import PartitionRecord, encode, partition_key
from penstock.replication.leader import Leader
from penstock.server.insync import InSync

NODE_ID, SECOND, THIRD = 1, 2, 3


class SlowStore:
    """In the place of the keeper: changes wait for the test, which may let them fail."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.asked: list[Any] = []
        self.answers: asyncio.Queue[Refused | None] = asyncio.Queue()

    async def change(self, decide: Any) -> Any:
        self.asked.append(decide)
        problem = await self.answers.get()
        if problem is not None:
            raise problem
        return self._house.desk.change(decide)


class Stage:
    """Broker 1 leads a partition with replicas on 2 and 3; 1 and 2 are in sync."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.desk = house.desk
        for node_id in (SECOND, THIRD):
            self.desk.register(node_id)
        self.topic_id = self.desk.create("news", min_insync_replicas="1")
        self.write((NODE_ID, SECOND))
        self.store = SlowStore(house)
        self.insync = InSync(house.door, self.store)  # type: ignore[arg-type]
        for _ in range(4):
            self.desk.append("news")

    def write(self, isr: tuple[int, ...]) -> None:
        """As another broker does: the record is changed within the term."""
        before = self.desk.image.partition(self.topic_id, 0)
        assert before is not None
        record = PartitionRecord(
            replicas=(NODE_ID, SECOND, THIRD),
            leader=NODE_ID,
            isr=isr,
            partition_epoch=before.partition_epoch + 1,
        )
        self.desk._write([(partition_key(self.topic_id, 0), encode(record))], (), None)
        self.house.broker.follow_partition(self.topic_id, 0)

    @property
    def leader(self) -> Leader:
        return self.house.broker.leader("news", 0)

    @property
    def record(self) -> PartitionRecord:
        record = self.desk.image.partition(self.topic_id, 0)
        assert record is not None
        return record

    def fetched(self, node_id: int, offset: int) -> None:
        registration = self.desk.image.brokers[node_id].epoch
        now_ms = self.house.clock.monotonic_ms()
        self.leader.fetched(node_id, offset, now_ms, registration)
        if node_id in self.leader.caught_up():
            self.house.broker.caught_up(self.leader)

    async def until_asked(self, times: int) -> None:
        await self.house.settle(lambda: len(self.store.asked) == times)

    async def until_decided(self) -> None:
        await self.house.settle(lambda: not self.house.broker.changing)


@pytest.fixture
async def stage(house: House) -> AsyncIterator[Stage]:
    stage = Stage(house)
    stage.insync.start()
    yield stage
    await stage.insync.stop()


async def test_who_has_caught_up_is_taken_in(stage: Stage) -> None:
    stage.fetched(THIRD, 4)
    stage.store.answers.put_nowait(None)
    await stage.until_decided()
    assert stage.record.isr == (NODE_ID, SECOND, THIRD)
    assert stage.leader.in_sync == {NODE_ID, SECOND, THIRD}
    assert stage.leader.wanted is None


async def test_what_is_damaged_while_it_is_led_is_left_to_others(stage: Stage) -> None:
    leader = stage.leader
    leader.log.damage = [Damage(1, 2, 0, 0, 100)]
    stage.store.answers.put_nowait(None)
    await stage.insync._give_up_damaged()
    stage.house.broker.follow_partition(stage.topic_id, 0)
    assert (stage.record.leader, stage.record.isr) == (-1, (SECOND,))
    assert leader.over is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_what_is_damaged_is_led_on_where_no_other_is_in_sync(stage: Stage) -> None:
    stage.write((NODE_ID,))
    stage.leader.log.damage = [Damage(1, 2, 0, 0, 100)]
    stage.store.answers.put_nowait(None)
    await stage.insync._give_up_damaged()
    assert (stage.record.leader, stage.record.isr) == (NODE_ID, (NODE_ID,))


async def test_nobody_is_asked_where_nothing_is_damaged(stage: Stage) -> None:
    await stage.insync._give_up_damaged()
    assert stage.store.asked == []


async def test_who_is_asked_for_counts_although_somebody_else_has_changed_the_record(
    stage: Stage,
) -> None:
    """The change may yet be made: were 3 left out, it could be elected without having all."""
    stage.fetched(THIRD, 2)
    stage.fetched(SECOND, 2)
    stage.fetched(THIRD, 2)
    assert THIRD in stage.leader.caught_up()
    await stage.until_asked(1)
    stage.write((NODE_ID,))
    stage.leader.advance()
    assert stage.leader.high_watermark == 2
    stage.store.answers.put_nowait(None)
    await stage.until_decided()
    assert stage.leader.high_watermark == 2
    assert THIRD in stage.record.isr


async def test_a_change_that_nobody_knows_of_is_asked_for_again_and_written_for_sure(
    stage: Stage,
) -> None:
    stage.fetched(THIRD, 4)
    stage.store.answers.put_nowait(Refused(ErrorCode.REQUEST_TIMED_OUT, "no answer"))
    await stage.until_asked(1)
    stage.write((NODE_ID, SECOND, THIRD))
    epoch = stage.record.partition_epoch
    await stage.until_asked(2)
    assert stage.leader.wanted is not None
    stage.store.answers.put_nowait(None)
    await stage.until_decided()
    assert stage.record.partition_epoch == epoch + 1, "what is still under way comes to nothing"


async def test_who_is_left_behind_is_dropped_and_what_waited_for_it_is_committed(
    stage: Stage,
) -> None:
    stage.fetched(SECOND, 1)
    assert stage.leader.high_watermark == 1
    stage.house.clock.time_ms += stage.leader.log.config.replica_lag_time_max_ms + 1
    stage.store.answers.put_nowait(None)
    await stage.until_asked(1)
    await stage.until_decided()
    assert stage.record.isr == (NODE_ID,)
    assert stage.leader.high_watermark == 4


async def test_a_leader_that_leads_no_more_asks_for_nothing(stage: Stage) -> None:
    stage.fetched(THIRD, 4)
    leader = stage.leader
    leader.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await stage.until_decided()
    assert stage.store.asked == []
