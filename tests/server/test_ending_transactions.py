"""Partitions are told how transactions end, whatever happens to who leads them meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sized
from typing import Any

import msgspec
import pytest
from tests.api.transacting import NAME, add, add_offsets, end, init
from tests.coordination.stepping import lines_run
from tests.server.house import House

from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import Identity, State, Transactions
from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.records import encode, partition_key
from penstock.server import held_up, lines, syncer
from penstock.server.transaction_upkeep import TransactionUpkeep
from penstock.wire.codec import Message
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k26_end_txn import EndTxnRequest
from penstock.wire.messages.k27_write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from penstock.world.ports import World
from penstock.world.real import RealChance, RealNetwork

MANY = 20


class Others:
    """The brokers that are asked, in place of the network: what each says of every partition."""

    def __init__(self) -> None:
        self.codes: dict[int, int | Exception] = {}
        self.places: dict[tuple[str, int], int] = {}
        self.asked: list[tuple[int, WriteTxnMarkersRequest]] = []
        self.let = asyncio.Event()
        self.let.set()

    async def ask(
        self, node_id: int, request: Any, version: int, kind: type[Message], take: Any
    ) -> Any:
        self.asked.append((node_id, request))
        await self.let.wait()
        code = self.codes.get(node_id, ErrorCode.NONE)
        if isinstance(code, Exception):
            raise code
        places = self.places
        results = [
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            WritableTxnMarkerPartitionResult(at, places.get((topic.name, at), code))
                            for at in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
        return take(WriteTxnMarkersResponse(results))

    def close(self) -> None:
        self.let.set()

    def told(self, node_id: int) -> int:
        return sum(1 for each, _ in self.asked if each == node_id)


class Stand:
    def __init__(self, house: House) -> None:
        self.house = house
        self.broker = house.broker
        self.broker.transactions.clock = house.clock
        world = World(house.clock, house.disk, RealNetwork(), RealChance())
        self.upkeep = TransactionUpkeep(world, house.door)
        self.others = Others()
        self.upkeep._ending._asking = self.others  # type: ignore[assignment]
        self.connection = house.connect()

    def lead(self, topic: str, index: int, node_id: int) -> None:
        """Another broker leads the partition from now on; -1 for none."""
        known = self.house.desk.image.topics[topic]
        record = known.partition(index)
        assert record is not None
        epoch = record.leader_epoch + 1
        changed = msgspec.structs.replace(record, leader=node_id, leader_epoch=epoch)
        put = partition_key(known.id, index), encode(changed)
        self.house.desk.change(lambda image: Commit(None, puts=[put]))

    async def start(self) -> None:
        self.upkeep.start()
        for kind in (0, 1):
            await self.ask(FindCoordinatorRequest(key=NAME, key_type=kind), 1)
        self.upkeep.follow()
        for node_id in (2, 3):
            self.house.desk.register(node_id)
        self.house.desk.create("orders", partitions=3)
        for index, node_id in enumerate((1, 2, 3)):
            self.lead("orders", index, node_id)

    async def ask(self, request: Message, version: int | None = None) -> Any:
        return await self.house.ask(self.connection, request, version)

    @property
    def state(self) -> State:
        transaction = self.broker.transactions.shard(NAME).kept.get(NAME)
        assert transaction is not None
        assert transaction.state is not None
        return transaction.state

    async def ending(
        self, *partitions: int, commit: bool = True, name: str = NAME, topic: str = "orders"
    ) -> Identity:
        """A transaction whose end has been decided, and is safe."""
        answer = await self.ask(init(transactional_id=name))
        assert answer.error_code == ErrorCode.NONE
        writer = Identity(answer.producer_id, answer.producer_epoch)
        await self.ask(add(writer, *partitions, name=name, topic=topic), 3)
        ended = await self.ask(EndTxnRequest(name, *writer, commit), 3)
        assert ended.error_code == ErrorCode.NONE
        return writer

    async def many_ending(self, partition: int, *, begun: int = 0, count: int = MANY) -> None:
        for number in range(begun, count):
            await self.ending(partition, name=f"number {number}")

    @property
    def prepared(self) -> Sized:
        kept = self.broker.transactions.shard(NAME).kept
        assert isinstance(kept, Transactions)
        return kept.prepared

    async def until(self, is_so: Callable[[], bool]) -> None:
        await self.house.settle(is_so)

    async def until_complete(self) -> None:
        await self.until(lambda: self.state.phase is Phase.COMPLETE_COMMIT)


@pytest.fixture
async def stand(
    make_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stand]:
    monkeypatch.setattr(held_up, "RETRY_MS", 1)
    monkeypatch.setattr(held_up, "RETRY_MS_MAX", 2)
    stand = Stand(make_house(transaction_state_log_num_partitions="1"))
    await stand.start()
    yield stand
    await stand.upkeep.stop()


async def test_all_leaders_are_told_once_and_then_it_is_over(stand: Stand) -> None:
    writer = await stand.ending(0, 1, 2)
    await stand.until_complete()
    assert sorted(node_id for node_id, _ in stand.others.asked) == [1, 2, 3]
    for node_id, request in stand.others.asked:
        (marker,) = request.markers
        assert (marker.producer_id, marker.producer_epoch) == writer
        assert marker.transaction_result
        assert [topic.partition_indexes for topic in marker.topics] == [[node_id - 1]]
    assert not stand.upkeep._ending._endings


async def test_an_abort_is_told_as_such(stand: Stand) -> None:
    await stand.ending(0, commit=False)
    await stand.until(lambda: stand.state.phase is Phase.COMPLETE_ABORT)
    assert not stand.others.asked[0][1].markers[0].transaction_result


async def test_nobody_is_told_before_the_decision_is_safe(stand: Stand) -> None:
    answer = await stand.ask(init())
    writer = Identity(answer.producer_id, answer.producer_epoch)
    await stand.ask(add(writer, 0), 3)
    stand.house.disk.syncs.clear()
    task = asyncio.create_task(stand.ask(end(writer), 3))
    await stand.until(lambda: stand.state.phase is Phase.PREPARE_COMMIT)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not stand.others.asked
    stand.house.disk.syncs.set()
    await task
    await stand.until_complete()


@pytest.mark.parametrize(
    "problem", [ConnectionError("away"), TimeoutError(), ErrorCode.NOT_LEADER_OR_FOLLOWER]
)
async def test_who_could_not_be_told_is_told_again(stand: Stand, problem: int | Exception) -> None:
    stand.others.codes[2] = problem
    await stand.ending(0, 1)
    await stand.until(lambda: stand.others.told(2) >= 3)
    assert stand.state.phase is Phase.PREPARE_COMMIT
    assert stand.others.told(1) == 1, "others are not told again for that"
    stand.others.codes.clear()
    await stand.until_complete()


async def test_two_brokers_that_are_away_do_not_make_ever_more_work(stand: Stand) -> None:
    stand.others.codes = {2: ConnectionError("away"), 3: ConnectionError("away")}
    await stand.ending(1, 2)
    await stand.until(lambda: stand.others.told(2) >= 12)
    assert max(len(request.markers) for _, request in stand.others.asked) == 1
    assert stand.others.told(3) <= stand.others.told(2) + 2
    stand.others.codes.clear()
    await stand.until_complete()


async def test_a_partition_whose_leader_moves_is_told_by_the_next_one(stand: Stand) -> None:
    stand.others.codes[2] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    await stand.ending(1)
    await stand.until(lambda: stand.others.told(2) >= 1)
    stand.lead("orders", 1, 3)
    await stand.until_complete()
    assert stand.others.told(3) == 1


async def test_a_partition_without_a_leader_is_waited_for(stand: Stand) -> None:
    stand.lead("orders", 1, -1)
    await stand.ending(0, 1)
    await stand.until(lambda: stand.others.told(1) == 1)
    for _ in range(20):
        await asyncio.sleep(0)
    assert stand.state.phase is Phase.PREPARE_COMMIT
    stand.lead("orders", 1, 3)
    await stand.until_complete()


async def test_those_who_wait_for_one_broker_ask_for_it_by_one(stand: Stand) -> None:
    stand.others.codes[2] = ConnectionError("away")
    await stand.many_ending(1)
    tried = stand.others.told(2)
    await stand.until(lambda: stand.others.told(2) >= tried + 5)
    assert all(len(request.markers) == 1 for _, request in stand.others.asked[tried:])
    assert len(stand.prepared) == MANY
    stand.others.codes.clear()
    await stand.until(lambda: not stand.prepared)
    assert stand.others.told(2) <= tried + 10, "they go on together"


async def test_those_who_wait_for_one_partition_ask_for_it_by_one(stand: Stand) -> None:
    stand.others.codes[2] = ErrorCode.REQUEST_TIMED_OUT
    await stand.many_ending(1)
    tried = stand.others.told(2)
    await stand.until(lambda: stand.others.told(2) >= tried + 5)
    assert all(len(request.markers) == 1 for _, request in stand.others.asked[tried:])
    stand.others.codes.clear()
    await stand.until(lambda: not stand.prepared)


async def test_one_partition_that_is_held_up_holds_up_no_other_of_its_broker(stand: Stand) -> None:
    stand.lead("orders", 2, 2)
    stand.others.places["orders", 1] = ErrorCode.REQUEST_TIMED_OUT
    await stand.many_ending(1)
    await stand.ending(2)
    await stand.until_complete()
    assert len(stand.prepared) == MANY
    stand.others.places.clear()
    await stand.until(lambda: not stand.prepared)


async def test_those_who_are_held_up_make_no_work_for_the_next(stand: Stand) -> None:
    stand.lead("orders", 1, -1)
    ending = stand.upkeep._ending
    shard = stand.broker.transactions.shard(NAME)
    await stand.many_ending(1, count=2)
    few = lines_run(lambda: ending.look(shard))
    await stand.many_ending(1, begun=2)
    assert len(stand.prepared) == MANY
    assert lines_run(lambda: ending.look(shard)) <= few
    assert len(ending._held_up._queues) == 1
    assert not stand.others.asked
    stand.lead("orders", 1, 3)
    await stand.until(lambda: not stand.prepared)


async def test_partitions_of_one_transaction_are_told_in_as_many_requests_as_it_takes(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand.house.desk.create("wide", partitions=100)
    monkeypatch.setattr(lines, "WEIGHT_AT_ONCE", 2000)
    await stand.ending(*range(100), topic="wide")
    await stand.until_complete()
    asked = [request for _, request in stand.others.asked]
    assert len(asked) >= 5
    told = [marker.topics[0].partition_indexes for each in asked for marker in each.markers]
    assert sorted(index for indexes in told for index in indexes) == list(range(100))
    assert max(map(len, told)) <= 20


async def test_an_end_that_cannot_be_written_is_written_later(stand: Stand) -> None:
    stand.others.let.clear()
    await stand.ending(1)
    await stand.until(lambda: stand.others.told(2) == 1)
    leader = stand.broker.transactions.shards[0].leader
    enough, leader.min_isr = leader.min_isr, 2
    leader.replicas = (1, 2)
    stand.others.let.set()
    await stand.until(lambda: len(stand.upkeep._ending._held_up) == 1)
    assert stand.state.phase is Phase.PREPARE_COMMIT
    leader.min_isr = enough
    await stand.until_complete()


async def test_a_topic_that_is_deleted_meanwhile_has_nothing_to_be_told(stand: Stand) -> None:
    stand.others.codes[2] = ConnectionError("away")
    await stand.ending(1)
    await stand.until(lambda: stand.others.told(2) >= 1)
    stand.house.delete_topic("orders")
    await stand.until_complete()


async def test_a_partition_that_knows_a_later_epoch_needs_nothing_more(stand: Stand) -> None:
    stand.others.codes[2] = ErrorCode.INVALID_PRODUCER_EPOCH
    await stand.ending(1)
    await stand.until_complete()


async def test_what_was_given_up_in_between_is_gone_on_with_once_it_is_loaded(
    stand: Stand,
) -> None:
    """Reliability corner 6: the coordinator fails over between prepare and complete."""
    stand.others.let.clear()
    await stand.ending(1)
    await stand.until(lambda: stand.others.told(2) == 1)
    shard = stand.broker.transactions.shards[0]
    stand.broker.transactions.load_again(shard)
    stand.others.let.set()
    await stand.until(lambda: stand.broker.transactions.shards[0].is_loaded)
    await stand.until_complete()
    assert stand.others.told(2) == 2, "what the first was told does not count for the second"
    await stand.until(lambda: not stand.upkeep._ending._endings)


async def test_while_it_ends_the_next_one_does_not_begin(stand: Stand) -> None:
    stand.others.let.clear()
    writer = await stand.ending(1)
    answer = await stand.ask(add(writer, 0), 3)
    code = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
    assert code == ErrorCode.CONCURRENT_TRANSACTIONS
    stand.others.let.set()
    await stand.until_complete()
    assert (await stand.ask(add_offsets(writer), 3)).error_code == ErrorCode.NONE


async def test_that_it_is_over_is_synced_together_with_the_next_beginning(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncer, "SOON_MS", 60_000)
    writer = await stand.ending(1)
    await stand.until_complete()
    log = stand.broker.transactions.shards[0].leader.log
    for _ in range(20):
        await asyncio.sleep(0)
    assert log.synced_end == log.written_end - 1
    assert (await stand.ask(add_offsets(writer), 3)).error_code == ErrorCode.NONE
    assert log.synced_end == log.written_end


async def test_where_nothing_is_synced_the_next_one_begins_as_soon_as_the_last_is_over(
    make_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"transaction_state_log_num_partitions": "1", "log_flush_on_acks_all": "false"}
    stand = Stand(make_house(**settings))
    await stand.start()
    monkeypatch.setattr(stand.house.door.deadlines, "begin", lambda wait, wait_ms: None)
    stand.others.let.clear()
    writer = await stand.ending(1)
    task = asyncio.create_task(stand.ask(add_offsets(writer), 3))
    await stand.until(lambda: stand.others.told(2) == 1 and bool(stand.broker.endings._awaited))
    stand.others.let.set()
    assert (await task).error_code == ErrorCode.NONE
    await stand.upkeep.stop()


async def test_what_is_left_open_is_aborted_by_time_without_anyone_asking(stand: Stand) -> None:
    answer = await stand.ask(init(transaction_timeout_ms=20))
    writer = Identity(answer.producer_id, answer.producer_epoch)
    await stand.ask(add(writer, 1), 3)
    stand.house.clock.time_ms += 60_000
    await stand.until(lambda: stand.state.phase is Phase.COMPLETE_ABORT)
    (marker,) = stand.others.asked[0][1].markers
    assert (marker.producer_id, marker.producer_epoch) == writer.next
