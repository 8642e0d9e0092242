from __future__ import annotations

from typing import Any

import pytest
from tests.api.desk import NODE_ID, Desk
from tests.api.test_fetch_replica import EPOCH, FOLLOWER, Leading
from tests.log.timing import finished

from penstock.api.outcome import Later
from penstock.api.trust import Client
from penstock.errors import ErrorCode
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ReplicaState,
)
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)


def delete(
    desk: Desk, offset: int, index: int = 0, version: int = 2
) -> DeleteRecordsPartitionResult:
    topic = DeleteRecordsTopic("orders", [DeleteRecordsPartition(index, offset)])
    (partition,) = desk.ask(DeleteRecordsRequest([topic], 1000), version).topics[0].partitions
    assert isinstance(partition, DeleteRecordsPartitionResult)
    return partition


@pytest.mark.parametrize("version", range(3))
def test_the_start_moves_to_the_offset(desk: Desk, version: int) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    result = delete(desk, 4, version=version)
    assert (result.error_code, result.low_watermark) == (0, 4)
    assert desk.broker.leader("orders", 0).log.start_offset == 4


def test_minus_one_deletes_up_to_the_high_watermark(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    assert delete(desk, -1).low_watermark == 10


def test_an_offset_before_the_start_changes_nothing(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    delete(desk, 5)
    assert delete(desk, 3).low_watermark == 5


def deleted_to(desk: Desk, *, is_asked: bool = True) -> int:
    """As it is told to who asks where the partition begins."""
    wanted = [ListOffsetsTopic("orders", [ListOffsetsPartition(0, timestamp=-2)])]
    answer = desk.ask(ListOffsetsRequest(-1, topics=wanted, with_deleted=is_asked))
    found: int = answer.topics[0].partitions[0].deleted_to
    return found


def test_that_records_were_deleted_is_known_after_a_restart_and_retention_is_no_such_thing(
    desk: Desk,
) -> None:
    desk.create("orders", retention_ms="1")
    desk.append("orders", count=10)
    assert deleted_to(desk) == 0
    delete(desk, 5)
    delete(desk, 3)
    assert (deleted_to(desk), deleted_to(desk, is_asked=False)) == (5, -1)
    log = desk.broker.leader("orders", 0).log
    finished(log, log.expire(1 << 45, 10))
    again = desk.restart()
    assert again.broker.leader("orders", 0).log.start_offset == 10
    assert deleted_to(again) == 5


def test_segments_below_the_start_are_dropped_to_be_removed_later(desk: Desk) -> None:
    desk.create("orders", segment_bytes="1024", file_delete_delay_ms="7")
    for _ in range(5):
        desk.append("orders", count=50)
    delete(desk, 210)
    (dropped,) = desk.broker.take_dropped()
    assert dropped.delay_ms == 7
    assert dropped.paths
    assert all(desk.disk.exists(path) for path in dropped.paths)
    assert desk.broker.take_dropped() == []


@pytest.mark.parametrize("offset", [11, -2])
def test_an_offset_that_is_not_committed_is_refused(desk: Desk, offset: int) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    result = delete(desk, offset)
    assert (result.error_code, result.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_a_compacted_topic_keeps_its_records(desk: Desk) -> None:
    desk.create("orders", cleanup_policy="compact")
    desk.append("orders")
    assert delete(desk, 1).error_code == ErrorCode.POLICY_VIOLATION


def test_a_partition_that_is_not_there_is_refused(desk: Desk) -> None:
    desk.create("orders")
    assert delete(desk, 0, index=3).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_of_a_partition_that_comes_twice_the_last_offset_counts(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    asked = [DeleteRecordsPartition(0, 7), DeleteRecordsPartition(0, 3)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic("orders", asked)])
    (topic,) = desk.ask(request).topics
    assert [part.low_watermark for part in topic.partitions] == [3]


# Replicas


@pytest.fixture
def leading(desk: Desk) -> Leading:
    """Broker 2 is in sync, with three records that are committed."""
    leading = Leading(desk)
    has(leading, start=0)
    return leading


def has(leading: Leading, start: int) -> None:
    """Where the follower's log begins."""
    leading.leader.fetched(FOLLOWER, 3, 0, leading.registration, start)


def begun(desk: Desk, *names: str) -> Later[DeleteRecordsResponse]:
    topics = [DeleteRecordsTopic(name, [DeleteRecordsPartition(0, 2)]) for name in names]
    call = desk.call(DeleteRecordsRequest(topics, 1000))
    outcome = call.api.handler(desk.broker, call.request, call)
    assert isinstance(outcome, Later)
    assert outcome.wait_ms == 1000
    return outcome


def told(desk: Desk, answer: Any) -> list[tuple[int, int]]:
    topics = desk.decoded(answer, 2).topics
    return [(topic.partitions[0].error_code, topic.partitions[0].low_watermark) for topic in topics]


def test_it_is_answered_once_the_replicas_in_sync_have_let_go(leading: Leading) -> None:
    later = begun(leading.desk, "news")
    woken: list[int] = []
    later.sources[0].watch(lambda: woken.append(1))
    assert later.answer(False) is None
    has(leading, start=2)
    assert woken
    assert told(leading.desk, later.answer(False)) == [(0, 2)]


def test_a_follower_that_takes_too_long_is_told_of(leading: Leading) -> None:
    later = begun(leading.desk, "news")
    assert told(leading.desk, later.answer(True)) == [(ErrorCode.REQUEST_TIMED_OUT, -1)]


def test_who_falls_out_of_sync_is_not_waited_for(leading: Leading) -> None:
    later = begun(leading.desk, "news")
    woken: list[int] = []
    later.sources[0].watch(lambda: woken.append(1))
    leading.lead(isr=(NODE_ID,))
    assert woken
    assert told(leading.desk, later.answer(False)) == [(0, 2)]


def test_a_leader_that_is_over_by_then_cannot_say(leading: Leading) -> None:
    later = begun(leading.desk, "news")
    leading.leader.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    answer = told(leading.desk, later.answer(False))
    assert answer == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]


def test_partitions_are_waited_for_one_after_the_other(leading: Leading) -> None:
    desk = leading.desk
    desk.create("orders")
    desk.append("orders", count=5)
    later = begun(desk, "orders", "news")
    assert list(later.sources) == [leading.leader.trimmed], "the other has no followers"
    has(leading, start=2)
    assert told(desk, later.answer(False)) == [(0, 2), (0, 2)]


def test_a_follower_whose_fetch_waits_is_told_of_the_new_start_at_once(leading: Leading) -> None:
    wanted = FetchPartition(0, EPOCH, 3, -1, 0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        replica_state=ReplicaState(FOLLOWER, leading.registration),
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic_id=leading.topic_id, partitions=[wanted])],
    )
    call = leading.desk.call(request, 17)
    call.client = Client("peer", broker_id=FOLLOWER)
    fetch = call.api.handler(leading.desk.broker, call.request, call)
    assert isinstance(fetch, Later)
    assert fetch.answer(False) is None
    woken: list[int] = []
    fetch.sources[0].watch(lambda: woken.append(1))
    begun(leading.desk, "news")
    assert woken
    answer: Any = fetch.answer(False)
    assert answer.responses[0].partitions[0].log_start_offset == 2
    assert answer.responses[0].partitions[0].deleted_to == 2
