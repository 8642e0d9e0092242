"""Fetch: what is read, what waits, what is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.api.desk import Desk
from tests.log.compacting import roll_and_compact
from tests.raw_client import fetch_of, partition_of

from penstock.api.handlers.k01_fetch import LOOKED_AT_AT_ONCE
from penstock.api.outcome import Later, Resume
from penstock.errors import ErrorCode
from penstock.log.partition_log import PartitionLog
from penstock.log.segment import Segment
from penstock.metadata.changes import delete_topic
from penstock.wire.batch import size_at
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from penstock.world.ports import Cold, FileRange

VERSION = 12


@pytest.fixture
def news(desk: Desk) -> Desk:
    desk.create("news", 3)
    return desk


def outcome_of(desk: Desk, request: FetchRequest, version: int = VERSION) -> Any:
    return desk.call(request, version).run(desk.broker)


def waiting(desk: Desk, request: FetchRequest) -> Later[FetchResponse]:
    outcome = outcome_of(desk, request)
    assert isinstance(outcome, Later)
    return outcome


def fetched(desk: Desk, offset: int = 0, **more: Any) -> PartitionData:
    answer = desk.ask(fetch_of("news", offset, **more), VERSION)
    return partition_of(answer)


def test_an_offset_within_a_batch_gives_the_whole_batch(news: Desk) -> None:
    news.append("news", count=5)
    assert fetched(news, 3).records == fetched(news, 0).records


@pytest.mark.parametrize("offset", [-1, 3, 2**63 - 1, -(2**63)])
def test_an_offset_out_of_range_is_refused(news: Desk, offset: int) -> None:
    news.append("news", count=2)
    assert fetched(news, offset).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_end_is_no_error_and_has_nothing(news: Desk) -> None:
    news.append("news")
    part = fetched(news, 1)
    assert (part.error_code, part.high_watermark, len(part.records or b"")) == (0, 1, 0)


@pytest.mark.parametrize("version", range(4, 13))
def test_an_unknown_topic_or_partition_is_refused_in_every_version(
    news: Desk, version: int
) -> None:
    for topic, partition in (("nope", 0), ("news", 3), ("news", -1), ("../../etc/passwd", 0)):
        answer = news.ask(fetch_of(topic, partition=partition), version)
        assert partition_of(answer).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(13, 18))
def test_an_unknown_topic_id_is_refused_in_every_version(news: Desk, version: int) -> None:
    answer = news.ask(fetch_of(""), version)
    assert partition_of(answer).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_another_leader_epoch_is_fenced_or_unknown(news: Desk) -> None:
    leader = news.broker.leader("news", 0)
    leader.epoch = 5
    codes = [fetched(news, leader_epoch=epoch).error_code for epoch in (4, 5, 6, -1)]
    assert codes == [ErrorCode.FENCED_LEADER_EPOCH, 0, ErrorCode.UNKNOWN_LEADER_EPOCH, 0]


def test_replicas_are_not_served(news: Desk) -> None:
    old, new = fetch_of("news"), fetch_of("")
    old.replica_id = 2
    new.replica_state = ReplicaState(2, 1)
    for request, version in ((old, 11), (new, 17)):
        answer = news.ask(request, version)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_limits_below_one_batch_still_give_that_batch_but_only_of_one_partition(
    news: Desk,
) -> None:
    for index in (0, 1):
        news.append("news", index)
    for limit in (1, 0, -5):
        request = FetchRequest(
            max_wait_ms=0,
            max_bytes=limit,
            session_epoch=-1,
            topics=[
                FetchTopic(
                    "news",
                    partitions=[
                        FetchPartition(index, fetch_offset=0, partition_max_bytes=limit)
                        for index in (2, 0, 1)
                    ],
                )
            ],
        )
        parts = news.ask(request, VERSION).responses[0].partitions
        assert [bool(part.records) for part in parts] == [False, True, False]


def test_it_waits_until_there_are_enough_bytes(news: Desk) -> None:
    news.append("news", 1)
    size = len(partition_of(news.ask(fetch_of("news", partition=1), VERSION)).records or b"")
    later = waiting(news, fetch_of("news", max_wait_ms=1000, min_bytes=2 * size))
    news.append("news")
    assert later.answer(False) is None
    news.append("news")
    answer = later.answer(False)
    assert isinstance(answer, FetchResponse)
    assert len(partition_of(answer).records or b"") == 2 * size


def test_when_its_time_is_up_it_is_answered_with_what_there_is(news: Desk) -> None:
    later = waiting(news, fetch_of("news", max_wait_ms=1000, min_bytes=10**6))
    assert later.wait_ms == 1000
    empty = later.answer(True)
    assert isinstance(empty, FetchResponse)
    assert not partition_of(empty).records
    later = waiting(news, fetch_of("news", max_wait_ms=1000, min_bytes=10**6))
    news.append("news")
    some = later.answer(True)
    assert isinstance(some, FetchResponse)
    assert partition_of(some).records


def test_what_need_not_or_must_not_wait_is_answered_at_once(news: Desk) -> None:
    for request in (
        fetch_of("news", max_wait_ms=0),
        fetch_of("news", max_wait_ms=-1),
        fetch_of("news", max_wait_ms=1000, min_bytes=0),
        fetch_of("nope", max_wait_ms=1000),
        fetch_of("news", 99, max_wait_ms=1000),
        FetchRequest(max_wait_ms=1000, session_epoch=-1),
    ):
        assert isinstance(outcome_of(news, request), FetchResponse)


def test_one_partition_with_an_error_ends_the_wait_of_all(news: Desk) -> None:
    request = fetch_of("news", max_wait_ms=1000)
    request.topics[0].partitions.append(FetchPartition(99, fetch_offset=0))
    assert isinstance(outcome_of(news, request), FetchResponse)


async def test_cold_bytes_are_warmed_and_then_read_a_limited_number_of_times(
    news: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    news.append("news")
    read, refused = PartitionLog.read, list[int]()

    def cold_for_ever(log: PartitionLog, *args: Any, cold_ok: bool, **more: Any) -> Any:
        if not cold_ok:
            refused.append(1)
            assert log.active is not None
            raise Cold(log.active.file, 0, 10)
        return read(log, *args, cold_ok=cold_ok, **more)

    monkeypatch.setattr(PartitionLog, "read", cold_for_ever)
    assert isinstance(outcome_of(news, fetch_of("news")), Resume)
    answer = await news.ask_and_wait(fetch_of("news"), VERSION)
    assert partition_of(answer).records
    assert len(refused) < 30


# What is wrong with one partition is no other's matter


def two_topics(news: Desk) -> tuple[Desk, Path]:
    """With small segments in one of them, after a restart; and that one's folder."""
    news.create("small", segment_bytes="2000", index_interval_bytes="300")
    for _ in range(40):
        news.append("small", count=3)
    news.append("news")
    desk = news.restart()
    return desk, Path(desk.log_dir.path) / "small-0"


def fetch_both(desk: Desk, offset: int) -> tuple[PartitionData, PartitionData]:
    request = fetch_of("news")
    request.topics += fetch_of("small", offset).topics
    first, second = desk.ask(request, VERSION).responses
    return first.partitions[0], second.partitions[0]


def test_an_index_that_is_gone_is_made_again_off_the_handlers_path(news: Desk) -> None:
    desk, folder = two_topics(news)
    index = min(folder.glob("*.index"))
    index.unlink()
    assert isinstance(outcome_of(desk, fetch_of("small", 4)), Resume)
    fine, once_wrong = fetch_both(desk, 4)
    assert (fine.error_code, once_wrong.error_code) == (0, 0)
    assert fine.records
    assert once_wrong.records
    assert index.exists()
    assert isinstance(outcome_of(desk, fetch_of("small", 5)), FetchResponse)


def test_a_damaged_batch_is_refused_and_all_else_is_read(news: Desk) -> None:
    desk, folder = two_topics(news)
    segment = min(folder.glob("*.log"))
    data = bytearray(segment.read_bytes())
    size = size_at(data)
    data[3 * size + 16] = 0x42  # the fourth batch, with records 9 to 11
    segment.write_bytes(data)
    min(folder.glob("*.index")).write_bytes(b"")
    for offset, code in ((12, 0), (9, ErrorCode.CORRUPT_MESSAGE), (8, 0)):
        fine, damaged = fetch_both(desk, offset)
        assert (fine.error_code, damaged.error_code) == (0, code)
        assert fine.records
        assert bool(damaged.records) == (not code)
    assert isinstance(outcome_of(desk, fetch_of("small", 9)), FetchResponse)


async def test_while_somebody_goes_through_a_segment_others_wait(
    news: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk, folder = two_topics(news)
    min(folder.glob("*.index")).unlink()
    asked = [desk.ask_and_wait(fetch_of("small", offset), VERSION) for offset in (4, 5, 6)]
    for answer in await asyncio.gather(*asked):
        (part,) = answer.responses[0].partitions
        assert (part.error_code, bool(part.records)) == (0, True)
    assert caplog.text.count("was gone through") == 1
    assert "ERROR" not in caplog.text


def test_a_segment_that_cannot_be_gone_through_is_refused(
    news: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, folder = two_topics(news)
    min(folder.glob("*.index")).unlink()

    def broken(*_: Any) -> Any:
        raise OSError("the disk is broken")

    monkeypatch.setattr(Segment, "write_indexes", broken)
    fine, wrong = fetch_both(desk, 4)
    assert (fine.error_code, wrong.error_code) == (0, ErrorCode.KAFKA_STORAGE_ERROR)


def test_a_wait_that_is_woken_looks_only_at_what_has_moved(
    news: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = fetch_of("news", max_wait_ms=1000, min_bytes=200)
    request.topics[0].partitions += [
        FetchPartition(index, fetch_offset=0, partition_max_bytes=10**6) for index in (1, 2)
    ]
    later = waiting(news, request)
    read, looked_at = PartitionLog.read, list[str]()

    def noted(log: PartitionLog, *args: Any, **more: Any) -> Any:
        looked_at.append(log.folder[-1])
        return read(log, *args, **more)

    monkeypatch.setattr(PartitionLog, "read", noted)
    news.append("news", 2)
    assert later.answer(False) is None
    news.append("news", 1)
    assert later.answer(False) is None
    news.append("news", 2)
    answer = later.answer(False)
    assert looked_at == ["2", "1", "2"]
    assert isinstance(answer, FetchResponse)
    found = [len(part.records or b"") for part in answer.responses[0].partitions]
    assert found[0] == 0
    assert found[2] == 2 * found[1] > 0


def test_a_wait_that_ends_after_a_compaction_is_answered_from_the_new_file(desk: Desk) -> None:
    desk.create("news", cleanup_policy="compact")
    for _ in range(8):
        desk.append("news", count=2)
    later = waiting(desk, fetch_of("news", max_wait_ms=1000, min_bytes=10**6))
    log = desk.broker.leader("news", 0).log
    done = roll_and_compact(log)
    for path in done.dropped_paths:
        desk.disk.remove(path)
    answer = later.answer(True)
    assert isinstance(answer, FetchResponse)
    range_ = partition_of(answer).records
    assert isinstance(range_, FileRange)
    assert range_.file in [segment.file for segment in log.segments]


def test_a_topic_that_is_made_anew_ends_the_wait_by_name(news: Desk) -> None:
    later = waiting(news, fetch_of("news", max_wait_ms=1000))
    topic = news.image.topics["news"]
    news.change(lambda image: delete_topic(image, "news", nonce=topic.id))
    news.broker.remove_topic(topic)
    news.create("news")
    answer = later.answer(False)
    assert isinstance(answer, FetchResponse)
    assert partition_of(answer).error_code == 0


def test_a_partition_that_is_deleted_ends_the_wait(news: Desk) -> None:
    later = waiting(news, fetch_of("news", max_wait_ms=1000))
    topic = news.image.topics["news"]
    news.change(lambda image: delete_topic(image, "news", nonce=topic.id))
    news.broker.remove_topic(topic)
    answer = later.answer(False)
    assert isinstance(answer, FetchResponse)
    assert partition_of(answer).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_reader_with_another_history_is_told_where_it_diverges(news: Desk) -> None:
    leader = news.broker.leader("news", 0)
    news.append("news")
    leader.epoch = 3
    news.append("news")
    request = fetch_of("news", 2, max_wait_ms=1000)
    request.topics[0].partitions[0].last_fetched_epoch = 2
    part = partition_of(news.ask(request, VERSION))
    assert (part.diverging_epoch.epoch, part.diverging_epoch.end_offset) == (0, 1)
    request.topics[0].partitions[0].last_fetched_epoch = 3
    assert isinstance(outcome_of(news, request), Later)


def test_nothing_above_the_high_watermark_is_shown(news: Desk) -> None:
    news.append("news")
    leader = news.broker.leader("news", 0)
    size = len(fetched(news).records or b"")
    news.append("news")
    leader.high_watermark = 1
    part = fetched(news)
    assert (part.high_watermark, len(part.records or b"")) == (1, size)
    assert not fetched(news, 1).records


# -- many partitions


def fetch_of_many(topic: str, partitions: int, **more: Any) -> FetchRequest:
    request = fetch_of(topic, **more)
    request.topics[0].partitions = [
        FetchPartition(index, fetch_offset=0, partition_max_bytes=10**6)
        for index in range(partitions)
    ]
    return request


def test_many_partitions_are_looked_at_with_pauses_and_answered_all(desk: Desk) -> None:
    many = 2 * LOOKED_AT_AT_ONCE + 1
    desk.create("wide", many)
    for index in (0, LOOKED_AT_AT_ONCE, many - 1):
        desk.append("wide", index)
    request = fetch_of_many("wide", many)
    assert isinstance(outcome_of(desk, request), Resume)
    partitions = desk.ask(request, VERSION).responses[0].partitions
    assert [part.partition_index for part in partitions] == list(range(many))
    with_data = [part.partition_index for part in partitions if len(part.records or b"")]
    assert with_data == [0, LOOKED_AT_AT_ONCE, many - 1]


@pytest.mark.parametrize("unknown", [False, True])
async def test_what_moves_while_others_are_looked_at_is_looked_at_again(
    desk: Desk, unknown: bool
) -> None:
    many = LOOKED_AT_AT_ONCE + 1
    desk.create("wide", many)
    request = fetch_of_many("wide", many, max_wait_ms=10_000, min_bytes=1)
    if unknown:
        request.topics.insert(0, FetchTopic("unknown", partitions=[FetchPartition(0)]))
    resume = outcome_of(desk, request)
    assert isinstance(resume, Resume)
    desk.append("wide", 0)
    answer = resume.then(await resume.work())
    assert isinstance(answer, FetchResponse)
    assert len(answer.responses[-1].partitions[0].records or b"")
