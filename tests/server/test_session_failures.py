"""What fails on the way: the disk, the client, ourselves. No answer may claim what is not so."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import time
from collections.abc import Sequence
from typing import Any

import pytest
from tests.api.desk import refuse_second_change
from tests.raw_client import a_batch, fetch_of, frame_of, framed, partition_of, produce_of
from tests.server.house import House, MemoryConnection

from penstock.api import dispatch
from penstock.api.change_each import COMMIT_ITEMS_MAX
from penstock.api.outcome import Later, Resume
from penstock.errors import ErrorCode
from penstock.replication.signals import Signal
from penstock.server import decoding
from penstock.wire.batch_builder import read_records
from penstock.wire.codec import decode_response
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.wire.messages.k01_fetch import FetchResponse
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest
from penstock.wire.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from penstock.world.ports import Buffer

PING = frame_of(ApiVersionsRequest("raw", "1"), 3)


def produced(*requests: Any) -> bytes:
    return b"".join(frame_of(request, 9) for request in requests)


def values_in(house: House, topic: str) -> list[bytes | None]:
    log = house.broker.leader(topic, 0).log
    slice_ = log.read(log.start_offset, 1 << 30, log.end_offset)
    if slice_ is None:
        return []
    data = slice_.range.file.read(slice_.range.position, slice_.range.length)
    found, position = [], 0
    while position < len(data):
        size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
        found += [
            record.value for record in read_records(data[position : position + size], 1 << 20)
        ]
        position += size
    return found


# -- the metadata store falls silent


async def test_topics_that_were_created_before_it_did_are_answered_so(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_second_change(house.desk, monkeypatch)
    topics = [CreatableTopic(f"t{number}", 1, 1) for number in range(COMMIT_ITEMS_MAX + 2)]
    answer = await house.ask(house.connect(), CreateTopicsRequest(topics))
    failed = [result.name for result in answer.topics if result.error_code]
    assert failed == [topic.name for topic in topics[COMMIT_ITEMS_MAX:]]
    assert len(house.desk.image.topics) == COMMIT_ITEMS_MAX


# -- the disk is full


async def test_an_append_that_finds_no_space_is_not_answered_and_leaves_no_trace(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.desk.create("news")
    house.desk.append("news")
    house.disk.full_folder = "news-0"
    connection = house.connect()
    with caplog.at_level(logging.WARNING):
        connection.give(PING + produced(produce_of("news", a_batch(b"lost"), acks=1)) + PING)
    assert connection.is_closed
    assert connection.taken == b""
    assert "no space left" in caplog.text
    assert values_in(house, "news") == [b"value"]
    assert house.broker.disk_is_full


async def test_a_log_with_half_a_write_that_cannot_be_cut_off_comes_back_with_the_disk(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.desk.create("news")
    house.desk.append("news")
    write = os.pwritev

    def half(descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        write(descriptor, [bytes(parts[0])[:20]], position)
        raise OSError(errno.EIO, "Input/output error")

    def refuse(descriptor: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "pwritev", half)
        broken.setattr(os, "ftruncate", refuse)
        connection = house.connect()
        connection.give(produced(produce_of("news", a_batch(b"lost"), acks=1)))
        assert (connection.is_closed, bytes(connection.taken)) == (True, b"")
        answer = await house.ask(house.connect(), produce_of("news", a_batch(b"no"), acks=1), 9)
        (part,) = answer.responses[0].partition_responses
        assert part.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert values_in(house, "news") == [b"value"]
    answer = await house.ask(house.connect(), produce_of("news", a_batch(b"new")), 9)
    (part,) = answer.responses[0].partition_responses
    assert (part.error_code, part.base_offset) == (0, 1)
    assert values_in(house, "news") == [b"value", b"new"]
    log = house.broker.leader("news", 0).log
    assert log.active is not None
    assert os.stat(log.active.file.path).st_size == log.active.size


async def test_others_are_served_while_one_log_has_no_space(house: House) -> None:
    for topic in ("news", "other"):
        house.desk.create(topic)
        house.desk.append(topic)
    house.disk.full_folder = "news-0"
    house.connect().give(produced(produce_of("news", a_batch(b"lost"))))
    assert house.broker.disk_is_full
    reader = await house.ask(house.connect(), fetch_of("other"), 11)
    assert partition_of(reader).records
    answer = await house.ask(house.connect(), produce_of("other", a_batch(b"no")), 9)
    (part,) = answer.responses[0].partition_responses
    assert part.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "disk.free.min.bytes" in part.error_message


async def test_what_the_same_pass_wrote_elsewhere_is_there_and_wakes_its_readers(
    house: House,
) -> None:
    house.desk.create("full")
    house.desk.create("good", flush_on_acks_all="false")
    house.desk.append("full")
    reader, writer = house.connect(), house.connect()
    reader.give(frame_of(fetch_of("good", max_wait_ms=60_000), 11))
    house.disk.full_folder = "full-0"
    writer.give(
        produced(produce_of("good", a_batch(b"kept"), acks=1), produce_of("full", a_batch(b"lost")))
    )
    assert writer.is_closed
    assert values_in(house, "good") == [b"kept"]
    (answer,) = await house.receive(reader, 1)
    assert partition_of(decode_response(FetchResponse, answer, 11)[1]).records


async def test_a_write_that_fails_during_a_sync_does_not_leave_the_others_waiting(
    house: House,
) -> None:
    house.desk.create("news")
    house.desk.append("news")
    first, second = house.connect(), house.connect()
    house.disk.syncs.clear()
    first.give(produced(produce_of("news", a_batch(b"kept"), timeout_ms=10**9)))
    await asyncio.sleep(0)  # the round has begun
    house.disk.full_folder = "news-0"
    second.give(produced(produce_of("news", a_batch(b"lost"))))
    assert second.is_closed
    house.disk.syncs.set()
    (answer,) = await house.receive(first, 1)
    found = decode_response(ProduceResponse, answer, 9)[1]
    assert found.responses[0].partition_responses[0].error_code == 0
    assert values_in(house, "news") == [b"value", b"kept"]


async def test_an_append_that_cannot_begin_a_segment_is_not_answered(house: House) -> None:
    house.desk.create("news", segment_bytes="1024")
    house.desk.append("news")
    connection = house.connect()
    connection.give(produced(produce_of("news", a_batch(b"x" * 900), acks=1)))
    await house.receive(connection, 1)
    house.disk.full_folder = "news-0"
    connection.give(produced(produce_of("news", a_batch(b"y" * 900), acks=1)))
    assert connection.is_closed
    house.disk.full_folder = ""
    assert values_in(house, "news")[0] == b"value"
    house.broker.disk_is_full = False
    answer = await house.ask(house.connect(), produce_of("news", a_batch(b"z" * 900)), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


# -- the disk does not sync


async def test_a_failed_sync_is_fatal_and_acknowledges_nothing(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.desk.create("news")
    house.disk.sync_fails = True
    connection = house.connect()
    connection.give(produced(produce_of("news", a_batch(b"v"))))
    await house.settle(lambda: bool(house.failures))
    assert "Input/output error" in str(house.failures[0])
    assert "syncing to disk failed" in caplog.text
    house.disk.sync_fails = False
    connection.give(produced(produce_of("news", a_batch(b"w"))))
    with pytest.raises(OSError, match="Input/output error"):  # however well later ones go
        await house.syncer.drain()
    assert connection.taken == b""
    leader = house.broker.leader("news", 0)
    assert (leader.log.end_offset, leader.high_watermark, len(house.failures)) == (2, 0, 1)


async def test_a_reader_sees_what_acks_1_wrote_only_once_it_is_synced(house: House) -> None:
    house.desk.create("news")
    house.disk.syncs.clear()
    writer, reader = house.connect(), house.connect()
    reader.give(frame_of(fetch_of("news", max_wait_ms=60_000), 11))
    writer.give(produced(produce_of("news", a_batch(b"v"), acks=1)))
    await house.receive(writer, 1)
    assert reader.taken == b""
    house.disk.syncs.set()
    (answer,) = await house.receive(reader, 1)
    part = partition_of(decode_response(FetchResponse, answer, 11)[1])
    assert (part.high_watermark, bool(part.records)) == (1, True)


async def test_acks_all_is_answered_by_its_timeout_where_the_disk_does_not_sync(
    house: House,
) -> None:
    house.desk.create("news")
    house.broker.leader("news", 0)
    house.disk.syncs.clear()
    for request in (
        produce_of("news", a_batch(b"v"), timeout_ms=1),
        two_partitions("news", a_batch(b"v"), a_batch(b"w"), timeout_ms=1),
    ):
        answer = await house.ask(house.connect(), request, 9)
        codes = [part.error_code for part in answer.responses[0].partition_responses]
        assert codes[0] == ErrorCode.REQUEST_TIMED_OUT


async def test_a_topic_deleted_meanwhile_is_unknown_to_who_waits_for_an_append(
    house: House,
) -> None:
    house.desk.create("news")
    house.broker.leader("news", 0)
    house.disk.syncs.clear()
    short, long, reader = (house.connect() for _ in range(3))
    short.give(produced(produce_of("news", a_batch(b"v"))))
    long.give(produced(two_partitions("news", a_batch(b"v"), a_batch(b"w"))))
    reader.give(frame_of(fetch_of("news", max_wait_ms=60_000), 11))
    house.delete_topic("news")
    for connection in (short, long):
        (answer,) = await house.receive(connection, 1)
        found = decode_response(ProduceResponse, answer, 9)[1]
        part = found.responses[0].partition_responses[0]
        assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (answer,) = await house.receive(reader, 1)
    read = partition_of(decode_response(FetchResponse, answer, 11)[1])
    assert read.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- the connection ends in the middle of a pass


def two_partitions(topic: str, first: bytes, second: bytes, **more: Any) -> ProduceRequest:
    """The second batch is for a partition that is not there."""
    request = produce_of(topic, first, **more)
    request.topic_data[0].partition_data.append(PartitionProduceData(99, second))
    return request


@pytest.mark.parametrize(
    "rubbish",
    [
        framed(b"\x7f\xff\0\0\0\0\0\0\0\0"),
        framed(b"x"),
        framed(frame_of(fetch_of("a"), 11)[4:-1]),
    ],
    ids=["unknown API", "no header", "cut short"],
)
async def test_what_was_appended_before_the_end_is_written_before_the_buffer_is_used_again(
    house: House, rubbish: bytes
) -> None:
    house.desk.create("news")
    house.broker.leader("news", 0)
    first, second = house.connect(), house.connect()
    kept = b"k" * 3000
    first.give(produced(produce_of("news", a_batch(kept), acks=1)) + rubbish)
    assert first.is_closed
    second.give(PING * 500)
    assert values_in(house, "news") == [kept]


async def test_acks_0_with_something_wrong_closes_and_keeps_what_was_right(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.desk.create("news")
    connection = house.connect()
    connection.give(produced(two_partitions("news", a_batch(b"right"), b"", acks=0)))
    assert connection.is_closed
    assert connection.taken == b""
    assert values_in(house, "news") == [b"right"]
    assert "acks=0" in caplog.text


async def test_the_same_where_batches_are_looked_into_first(house: House) -> None:
    house.desk.create("news", record_validation="full", flush_on_acks_all="false")
    reader, connection = house.connect(), house.connect()
    reader.give(frame_of(fetch_of("news", max_wait_ms=60_000), 11))
    connection.give(produced(two_partitions("news", a_batch(b"right"), b"", acks=0)))
    await house.settle(lambda: connection.is_closed)
    await house.receive(reader, 1)
    assert values_in(house, "news") == [b"right"]


async def test_a_client_that_leaves_while_its_batch_is_looked_into_appends_nothing(
    house: House,
) -> None:
    house.desk.create("news", record_validation="full")
    connection = house.connect()
    connection.give(produced(produce_of("news", a_batch(b"v" * 1000))))
    house.session_of(connection).close()
    answer = await house.ask(house.connect(), produce_of("news", a_batch(b"w")), 9)
    assert answer.responses[0].partition_responses[0].base_offset == 0


async def test_a_name_with_a_line_break_makes_no_line_of_its_own_in_the_log(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    connection = house.connect()
    connection.give(produced(produce_of("a\nCRITICAL on fire", a_batch(b"v"), acks=0)))
    assert connection.is_closed
    assert "\n" not in caplog.records[-1].getMessage()


# -- bugs of our own


class BrokenCall:
    """Its answer cannot be encoded; or the handler does not get as far."""

    answers = object

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def run(self, broker: object) -> Any:
        return self.outcome

    def is_long(self, answer: object) -> bool:
        return False

    def encode(self, answer: object) -> list[bytes]:
        raise ValueError("no such field")


async def give_broken(house: House, outcome: Any) -> MemoryConnection:
    connection = house.connect()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "read_call", lambda *_: BrokenCall(outcome))
        connection.give(PING)
    return connection


async def test_a_late_answer_that_cannot_be_encoded_does_not_hit_who_woke_it(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.desk.create("news")
    leader = house.broker.leader("news", 0)
    later: Later[Any] = Later([leader.moved], lambda _: object(), 60_000)
    broken = await give_broken(house, later)
    writer = house.connect()
    for _ in range(2):
        answer = await house.ask(writer, produce_of("news", a_batch(b"v")), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0
    assert broken.is_closed
    assert "could not be handled" in caplog.text


async def test_an_answer_that_cannot_be_encoded_ends_its_connection(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    work: Resume[Any] = Resume(lambda: asyncio.sleep(0), lambda _: object())
    late: Later[Any] = Later([], lambda _: work, 0)
    for outcome in (object(), work, late):
        connection = await give_broken(house, outcome)
        await house.settle(lambda connection=connection: connection.is_closed)  # type: ignore[misc]
    assert caplog.text.count("could not be handled") == 3
    assert house.door.connections == 0


async def test_nobody_waits_for_a_client_that_left_during_a_cold_read(house: House) -> None:
    gate, signal = asyncio.Event(), Signal()
    waits_again: Later[Any] = Later([signal], lambda _: None, 60_000)
    cold: Resume[Any] = Resume(gate.wait, lambda _: waits_again)
    connection = await give_broken(house, Later([], lambda _: cold, 0))
    await house.settle(lambda: bool(house.door._tasks))
    house.session_of(connection).close()
    gate.set()
    await house.settle(lambda: not house.door._tasks)
    assert len(signal) == 0


async def test_a_cold_read_does_not_make_a_long_poll_longer(house: House) -> None:
    signal, expired = Signal(), list[bool]()

    def ends(time_is_up: bool) -> object:
        expired.append(time_is_up)
        return object()

    waits_again: Later[Any] = Later([], ends, 60_000)
    cold: Resume[Any] = Resume(lambda: asyncio.sleep(0.02), lambda _: waits_again)
    began = time.monotonic()
    connection = await give_broken(house, Later([signal], lambda _: cold, 100))
    signal.fire()
    await house.settle(lambda: connection.is_closed)
    assert expired == [True]
    assert 0.1 <= time.monotonic() - began < 30


async def test_only_produce_may_be_a_large_request(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.desk.create("news", max_message_bytes="4000000")
    names = [MetadataRequestTopic(name="n" * 200) for _ in range(dispatch.LISTS_BYTES_MAX // 200)]
    connection = house.connect()
    connection.give(frame_of(MetadataRequest(names[:-500]), 9))
    await house.receive(connection, 1)
    connection.give(frame_of(MetadataRequest(names), 9))
    assert connection.is_closed
    assert "that is not Produce" in caplog.text
    large = produce_of("news", a_batch(b"v" * (dispatch.LISTS_BYTES_MAX + 1)))
    answer = await house.ask(house.connect(), large, 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


@pytest.mark.parametrize("version", [8, 9, 13])
async def test_a_request_of_more_partitions_than_anyone_has_is_not_decoded(
    version: int, house: House, caplog: pytest.LogCaptureFixture
) -> None:
    topic_id = house.desk.create("news")
    parts = [PartitionProduceData(0, None) for _ in range(dispatch.LISTS_BYTES_MAX // 6)]
    topic = TopicProduceData("", topic_id) if version > 12 else TopicProduceData("news")
    topic.partition_data = parts
    connection = house.connect()
    connection.give(frame_of(ProduceRequest(acks=1, topic_data=[topic]), version))
    await house.settle(lambda: connection.is_closed)
    assert "too many partitions" in caplog.text


async def test_a_request_of_two_topics_is_one_answer_even_if_one_is_unknown(house: House) -> None:
    house.desk.create("news")
    request = produce_of("news", a_batch(b"v"))
    request.topic_data.append(
        TopicProduceData("unknown", partition_data=[PartitionProduceData(0, a_batch(b"w"))])
    )
    answer = await house.ask(house.connect(), request, 9)
    codes = [topic.partition_responses[0].error_code for topic in answer.responses]
    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
