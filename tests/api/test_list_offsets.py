from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.api.desk import NOW_MS, Desk

from penstock.api.outcome import Resume
from penstock.errors import ErrorCode
from penstock.log.partition_log import PartitionLog
from penstock.metadata.changes import delete_topic
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import build_batch
from penstock.wire.compression import Codec
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.wire.records import Record

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5


def ask(
    desk: Desk, timestamp: int, version: int = 9, index: int = 0, epoch: int = -1
) -> ListOffsetsPartitionResponse:
    wanted = ListOffsetsPartition(index, epoch if version >= 4 else -1, timestamp)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", [wanted])])
    (partition,) = desk.ask(request, version).topics[0].partitions
    assert isinstance(partition, ListOffsetsPartitionResponse)
    return partition


@pytest.fixture
def orders(desk: Desk) -> Desk:
    """Records 0 to 9 a millisecond apart, then 10 to 14 a second later."""
    desk.create("orders")
    desk.append("orders", count=10)
    desk.append("orders", count=5, first_ms=NOW_MS + 1000)
    return desk


@pytest.mark.parametrize(
    ("offset", "lag", "lag_ms"), [(3, 12, 60_000), (10, 5, 59_000), (15, 0, 0)]
)
def test_who_gives_an_offset_is_told_how_far_that_is_behind(
    desk: Desk, offset: int, lag: int, lag_ms: int
) -> None:
    desk.create("orders")
    desk.append("orders", count=10, first_ms=NOW_MS - 60_000)
    desk.append("orders", count=5, first_ms=NOW_MS - 59_000)
    wanted = ListOffsetsPartition(0, -1, LATEST, offset)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", [wanted])])
    (told,) = desk.ask(request, 9).topics[0].partitions
    assert (told.offset, told.lag, told.lag_ms) == (15, lag, lag_ms)
    assert ask(desk, LATEST).lag == ask(desk, LATEST, 5).lag == -1


def test_of_a_partition_that_is_not_led_here_no_lag_is_known(orders: Desk) -> None:
    wanted = ListOffsetsPartition(7, -1, LATEST, 3)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", [wanted])])
    (told,) = orders.ask(request, 9).topics[0].partitions
    assert (told.error_code, told.lag, told.lag_ms) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        -1,
        -1,
    )


@pytest.fixture
def led_anew(desk: Desk) -> Desk:
    """A leader in a new term, with 15 records, of which it knows that 10 are committed."""
    desk.register(2)
    desk.create("orders", replication=2)
    desk.append("orders", count=10)
    leader = desk.broker.leader("orders", 0)
    leader.fetched(2, 10, 0)
    desk.append("orders", count=5, first_ms=NOW_MS + 1000)
    desk.new_term("orders")
    desk.broker.follow_partition(leader.topic_id, 0)
    assert (leader.high_watermark, leader.epoch_start) == (10, 15)
    return desk


@pytest.mark.parametrize("question", [LATEST, MAX_TIMESTAMP, NOW_MS + 11])
def test_a_new_leader_tells_no_end_below_what_was_told_before(
    led_anew: Desk, question: int
) -> None:
    """KIP-207. The leader before may have told of all 15, and consumers may have read them."""
    assert ask(led_anew, question).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    leader = led_anew.broker.leader("orders", 0)
    leader.log.end_sync(leader.log.begin_sync())  # the new term is on disk
    leader.fetched(2, 15, 0)
    found = ask(led_anew, question)
    assert (found.error_code, found.offset >= 10) == (ErrorCode.NONE, True)


@pytest.mark.parametrize("version", range(1, 10))
def test_what_is_below_a_new_leaders_high_watermark_is_told(led_anew: Desk, version: int) -> None:
    assert ask(led_anew, EARLIEST, version).offset == 0
    assert ask(led_anew, NOW_MS + 5, version).offset == 5
    known = ErrorCode.OFFSET_NOT_AVAILABLE if version >= 5 else ErrorCode.LEADER_NOT_AVAILABLE
    assert ask(led_anew, LATEST, version).error_code == known


def test_who_debugs_a_new_leader_is_told_the_end_of_its_log(led_anew: Desk) -> None:
    wanted = ListOffsetsPartition(0, -1, LATEST)
    request = ListOffsetsRequest(-2, 0, [ListOffsetsTopic("orders", [wanted])])
    (told,) = led_anew.ask(request, 9).topics[0].partitions
    assert (told.error_code, told.offset) == (ErrorCode.NONE, 15)


def test_who_has_nothing_above_its_high_watermark_tells_its_end_though_too_few_are_in_sync(
    desk: Desk,
) -> None:
    desk.register(2)
    desk.create("orders", replication=2, min_insync_replicas="2")
    desk.append("orders", count=10)
    leader = desk.broker.leader("orders", 0)
    leader.fetched(2, 10, 0)
    desk.new_term("orders")
    desk.broker.follow_partition(leader.topic_id, 0)
    leader.in_sync = frozenset({1})
    desk.append("orders", count=5)
    assert leader.has_too_few_in_sync
    assert ask(desk, LATEST).offset == 10


@pytest.mark.parametrize("version", range(1, 10))
def test_the_start_and_the_end_are_told(orders: Desk, version: int) -> None:
    assert ask(orders, EARLIEST, version).offset == 0
    assert ask(orders, LATEST, version).offset == 15


def test_the_start_moves_when_records_are_deleted(orders: Desk) -> None:
    orders.broker.advance_start(orders.broker.leader("orders", 0), 4)
    assert ask(orders, EARLIEST).offset == ask(orders, EARLIEST_LOCAL).offset == 4


@pytest.mark.parametrize(
    ("after_ms", "offset", "found_after_ms"),
    [(-5, 0, 0), (0, 0, 0), (3, 3, 3), (10, 10, 1000), (1004, 14, 1004)],
)
def test_a_time_has_the_first_record_that_is_not_older(
    orders: Desk, after_ms: int, offset: int, found_after_ms: int
) -> None:
    found = ask(orders, NOW_MS + after_ms)
    assert (found.offset, found.timestamp) == (offset, NOW_MS + found_after_ms)
    assert found.leader_epoch == 0


def test_a_time_after_all_records_has_no_offset(orders: Desk) -> None:
    found = ask(orders, NOW_MS + 2000)
    assert (found.error_code, found.offset, found.timestamp) == (0, -1, -1)


def test_the_record_with_the_largest_timestamp_is_found(orders: Desk) -> None:
    orders.append("orders", first_ms=NOW_MS - 1000)
    found = ask(orders, MAX_TIMESTAMP)
    assert (found.offset, found.timestamp) == (14, NOW_MS + 1004)


def test_what_is_not_committed_is_not_found_by_its_time(orders: Desk) -> None:
    orders.append("orders", first_ms=NOW_MS + 5000)
    orders.broker.leader("orders", 0).high_watermark = 15
    found = ask(orders, MAX_TIMESTAMP)
    assert (found.offset, found.timestamp) == (14, NOW_MS + 1004)
    assert ask(orders, NOW_MS + 2000).offset == -1


def test_a_partition_that_cannot_be_searched_keeps_no_other_from_it(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders.create("more")
    orders.append("more")
    search = PartitionLog.offset_for_timestamp

    def broken(log: PartitionLog, timestamp: int, before: int) -> Any:
        if "more" in log.folder:
            raise OSError("the disk is broken")
        return search(log, timestamp, before)

    monkeypatch.setattr(PartitionLog, "offset_for_timestamp", broken)
    request = wanting(NOW_MS)
    request.topics.append(ListOffsetsTopic("more", request.topics[0].partitions))
    good, bad = (topic.partitions[0] for topic in orders.ask(request).topics)
    assert (good.error_code, good.offset) == (0, 0)
    assert (bad.error_code, bad.offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)


def test_nothing_is_tiered(orders: Desk) -> None:
    assert ask(orders, LATEST_TIERED).offset == -1


def test_an_empty_partition_begins_and_ends_at_zero(desk: Desk) -> None:
    desk.create("orders")
    assert ask(desk, EARLIEST).offset == ask(desk, LATEST).offset == 0
    assert ask(desk, MAX_TIMESTAMP).offset == ask(desk, NOW_MS).offset == -1


def test_the_end_and_its_epoch_are_known_after_a_restart(orders: Desk) -> None:
    found = ask(orders.restart(), LATEST)
    assert (found.offset, found.leader_epoch) == (15, 0)


def test_what_is_not_there_is_refused_by_partition(orders: Desk) -> None:
    assert ask(orders, LATEST, index=1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(orders, LATEST, epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


@pytest.mark.parametrize(("question", "since"), [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (-5, 9)])
def test_a_question_is_understood_from_its_version_on(
    orders: Desk, question: int, since: int
) -> None:
    refused = ask(orders, question, since - 1)
    assert (refused.error_code, refused.offset) == (ErrorCode.UNSUPPORTED_VERSION, -1)
    assert ask(orders, question, since).error_code == 0


@pytest.mark.parametrize("question", [-6, -9, -(1 << 63)])
def test_a_question_that_nobody_knows_is_one_of_another_version(
    orders: Desk, question: int
) -> None:
    assert ask(orders, question, 10).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert ask(orders, question, index=7).error_code == ErrorCode.UNSUPPORTED_VERSION


# Searches wait, and let others run


def wanting(*timestamps: int) -> ListOffsetsRequest:
    partitions = [ListOffsetsPartition(0, -1, timestamp) for timestamp in timestamps]
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", partitions)])


def begun(desk: Desk, request: ListOffsetsRequest) -> Any:
    call = desk.call(request)
    return call.api.handler(desk.broker, call.request, call)


def test_only_searches_wait(orders: Desk) -> None:
    immediate = begun(orders, wanting(LATEST, EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, -9))
    assert isinstance(immediate, ListOffsetsResponse)
    assert isinstance(begun(orders, wanting(LATEST, 0)), Resume)
    assert isinstance(begun(orders, wanting(MAX_TIMESTAMP)), Resume)


def test_what_is_asked_twice_is_searched_for_once(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []
    search = PartitionLog.offset_for_timestamp

    def noted(log: PartitionLog, timestamp: int, before: int) -> Any:
        searched.append(timestamp)
        return search(log, timestamp, before)

    monkeypatch.setattr(PartitionLog, "offset_for_timestamp", noted)
    answer = orders.ask(wanting(NOW_MS + 3, LATEST, NOW_MS + 3, NOW_MS + 4, NOW_MS + 3))
    assert [each.offset for each in answer.topics[0].partitions] == [3, 15, 3, 4, 3]
    assert searched == [NOW_MS + 3, NOW_MS + 4]


async def test_others_have_their_turn_while_large_batches_are_searched(desk: Desk) -> None:
    desk.create("orders")
    leader = desk.broker.leader("orders", 0)
    records = [Record(0, NOW_MS, None, b""), Record(1, NOW_MS + 50, None, bytes(200_000_000))]
    built = build_batch(records, codec=Codec.ZSTD)
    leader.log.append(built, read_header(built), NOW_MS, 0)
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()
    turns = 0

    async def watch() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    answer = await desk.ask_and_wait(wanting(*range(NOW_MS, NOW_MS + 5)))
    watching.cancel()
    found = {(each.offset, each.timestamp) for each in answer.topics[0].partitions}
    assert found == {(0, NOW_MS + 50)}
    assert turns >= 5, "at least one for each batch that was opened"


async def test_a_topic_that_is_deleted_meanwhile_is_refused(orders: Desk) -> None:
    outcome = begun(orders, wanting(NOW_MS))
    topic = orders.image.topics["orders"]
    orders.change(lambda image: delete_topic(image, "orders", nonce=topic.id))
    orders.broker.remove_topic(topic)
    orders.create("orders")
    (partition,) = outcome.then(await outcome.work()).topics[0].partitions
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_refusal_that_ends_meanwhile_is_not_taken_for_nothing_found(orders: Desk) -> None:
    """The first topic is there only when the second one is searched."""
    wanted = [ListOffsetsPartition(0, -1, NOW_MS)]
    topics = [ListOffsetsTopic("late", wanted), ListOffsetsTopic("orders", wanted)]
    outcome = begun(orders, ListOffsetsRequest(-1, 0, topics))
    orders.create("late")
    orders.append("late")
    answered = outcome.then(await outcome.work())
    codes = [topic.partitions[0].error_code for topic in answered.topics]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
