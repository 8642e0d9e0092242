"""Produce: what is appended, what is refused and with which code, and what waits."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import lz4.frame
import pytest
import zstandard
from tests.api.desk import NOW_MS, Desk
from tests.api.slow_logs import PRODUCERS, make_slow_to_open, never_open, reopened
from tests.log.failing import FailingDisk
from tests.raw_client import a_batch, produce_of

from penstock.api.call import Unanswerable
from penstock.api.dispatch import read_call
from penstock.api.handlers import k00_produce
from penstock.api.handlers.k00_produce_single import Pledge, produce_single
from penstock.api.outcome import NO_ANSWER, Later, Resume
from penstock.errors import ErrorCode
from penstock.wire.batch import HEADER_SIZE, check, read_header, seal
from penstock.wire.codec import encode_request
from penstock.wire.compression import Codec
from penstock.wire.messages.k00_produce import PartitionProduceData, ProduceRequest, ProduceResponse
from penstock.world.real_disk import RealDisk

T = TypeVar("T")

HOUR_MS = 3_600_000


@pytest.fixture
def news(desk: Desk) -> Desk:
    desk.create("news")
    return desk


def changed(batch: bytes, **fields: Any) -> bytes:
    """The batch with other fields in its header, and a CRC that is true again."""
    header = read_header(batch)._replace(**fields)
    return bytes(seal(header, batch[HEADER_SIZE:]))


def patched(batch: bytes, position: int, value: bytes) -> bytes:
    """The batch with other bytes, and the CRC as it was."""
    return batch[:position] + value + batch[position + len(value) :]


BATCH = a_batch(b"one", b"two")

WRONG = {
    "null records": (None, ErrorCode.INVALID_RECORD),
    "no bytes": (b"", ErrorCode.INVALID_RECORD),
    "half a header": (BATCH[:40], ErrorCode.INVALID_RECORD),
    "cut short": (BATCH[:-1], ErrorCode.CORRUPT_MESSAGE),
    "two batches": (BATCH + BATCH, ErrorCode.INVALID_RECORD),
    "wrong CRC": (patched(BATCH, 17, b"\0\0\0\0"), ErrorCode.CORRUPT_MESSAGE),
    "a flipped bit": (patched(BATCH, 70, b"\xff"), ErrorCode.CORRUPT_MESSAGE),
    "length too small": (patched(BATCH, 8, struct.pack(">i", 10)), ErrorCode.CORRUPT_MESSAGE),
    "length negative": (patched(BATCH, 8, struct.pack(">i", -1)), ErrorCode.CORRUPT_MESSAGE),
    "length absurd": (patched(BATCH, 8, struct.pack(">i", 2**31 - 1)), ErrorCode.CORRUPT_MESSAGE),
    "magic 0": (patched(BATCH, 16, b"\0"), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    "magic 1": (patched(BATCH, 16, b"\1"), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    "magic 3": (patched(BATCH, 16, b"\3"), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    "no records": (
        changed(BATCH, record_count=0, last_offset_delta=-1),
        ErrorCode.INVALID_RECORD,
    ),
    "a count that is not the offsets'": (changed(BATCH, record_count=3), ErrorCode.INVALID_RECORD),
    "negative count": (changed(BATCH, record_count=-1), ErrorCode.INVALID_RECORD),
    "a negative last offset": (changed(BATCH, last_offset_delta=-2), ErrorCode.INVALID_RECORD),
    "a control batch": (changed(BATCH, attributes=0x20), ErrorCode.INVALID_RECORD),
    "an unknown codec": (changed(BATCH, attributes=5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "the broker's append time": (changed(BATCH, attributes=8), ErrorCode.INVALID_TIMESTAMP),
    "from the future": (
        a_batch(b"v", at_ms=NOW_MS + HOUR_MS + 1),
        ErrorCode.INVALID_TIMESTAMP,
    ),
    "a first record from the future": (
        changed(BATCH, base_timestamp=2**62),
        ErrorCode.INVALID_TIMESTAMP,
    ),
    "a producer without a sequence": (
        changed(BATCH, producer_id=7, producer_epoch=0),
        ErrorCode.INVALID_RECORD,
    ),
    "a producer of another sign": (
        changed(BATCH, producer_id=-7, producer_epoch=0, base_sequence=0),
        ErrorCode.INVALID_RECORD,
    ),
    "a producer without an epoch": (
        changed(BATCH, producer_id=7, base_sequence=0),
        ErrorCode.INVALID_RECORD,
    ),
    "a transaction": (
        changed(BATCH, attributes=0x10, producer_id=7, producer_epoch=0, base_sequence=0),
        ErrorCode.INVALID_TXN_STATE,
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_batch_is_refused_and_nothing_appended(news: Desk, what: str) -> None:
    batch, code = WRONG[what]
    for known in (False, True):  # the long way, and the short one
        if known:
            assert news.broker.leader("news", 0)
        if batch is not None:
            assert short_way(news, batch) is None
        answer = news.ask(produce_of("news", batch, acks=1), 9)
        (part,) = answer.responses[0].partition_responses
        assert (part.error_code, part.base_offset) == (code, -1)
        assert part.error_message
        assert news.broker.leader("news", 0).log.end_offset == 0


def short_way(desk: Desk, batch: bytes, topic: str = "news", acks: int = 1) -> Any:
    return produce_single(desk.broker, frame_with(batch, topic, acks), NOW_MS)


def frame_with(batch: bytes, topic: str = "news", acks: int = 1) -> memoryview:
    parts: list[Any] = encode_request(produce_of(topic, batch, acks=acks), 9, 1, "raw")
    return memoryview(bytearray(b"".join(map(bytes, parts))[4:]))


@pytest.mark.parametrize("version", range(3, 14))
def test_a_wrong_batch_is_refused_in_every_version(news: Desk, version: int) -> None:
    topic = news.image.topics["news"]
    request = produce_of("news", BATCH[:-1], acks=1)
    if version >= 13:
        request = produce_of("", BATCH[:-1], acks=1, topic_id=topic.id)
    (part,) = news.ask(request, version).responses[0].partition_responses
    assert part.error_code == ErrorCode.CORRUPT_MESSAGE
    assert bool(part.error_message) == (version >= 8)


@pytest.mark.parametrize("acks", [1, -1])
def test_without_its_lease_a_leader_takes_nothing_that_it_alone_would_answer_for(
    news: Desk, acks: int
) -> None:
    """With one replica too: the broker may have been given up, and another may lead by now."""
    leader = news.broker.leader("news", 0)
    news.broker.has_lease = lambda: False
    assert short_way(news, BATCH, acks=acks) is None
    answer = news.ask(produce_of("news", BATCH, acks=acks), 9)
    (part,) = answer.responses[0].partition_responses
    assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert leader.log.end_offset == 0
    news.broker.has_lease = lambda: True
    assert short_way(news, BATCH, acks=acks) is not None


def test_without_its_lease_a_leader_takes_what_others_in_sync_have_to_confirm(desk: Desk) -> None:
    desk.register(2)
    desk.create("shared", replication=2)
    leader = desk.broker.leader("shared", 0)
    desk.broker.has_lease = lambda: False
    assert short_way(desk, BATCH, "shared", acks=1) is None
    assert isinstance(short_way(desk, BATCH, "shared", acks=-1), Pledge)
    assert leader.log.end_offset == 2


def test_without_its_lease_a_leader_does_not_say_that_something_is_missing(desk: Desk) -> None:
    """Another one may lead by now, and have it: producers give up for what is out of order."""
    desk.register(2)
    desk.create("shared", replication=2)
    first = a_batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0)
    later = a_batch(b"v", producer_id=7, producer_epoch=1, base_sequence=4)
    desk.ask(produce_of("shared", first, acks=1), 9)

    def code() -> int:
        answer = desk.ask(produce_of("shared", later, acks=-1), 9)
        told: int = answer.responses[0].partition_responses[0].error_code
        return told

    assert code() == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    desk.broker.has_lease = lambda: False
    assert code() == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_batch_larger_than_the_topic_takes(desk: Desk) -> None:
    desk.create("small", max_message_bytes="1000")
    fits, too_large = a_batch(b"v" * 900), a_batch(b"v" * 1000)
    for batch, code in ((fits, 0), (too_large, ErrorCode.MESSAGE_TOO_LARGE)):
        (part,) = desk.ask(produce_of("small", batch, acks=1), 9).responses[0].partition_responses
        assert part.error_code == code
    assert desk.broker.leader("small", 0).log.end_offset == 1


@pytest.mark.parametrize("acks", [5, 2, -2, 2**15 - 1, -(2**15)])
def test_any_other_acks_are_refused(news: Desk, acks: int) -> None:
    (part,) = news.ask(produce_of("news", BATCH, acks=acks), 9).responses[0].partition_responses
    assert part.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert news.broker.leader("news", 0).log.end_offset == 0


NAMES = {
    "../../etc/passwd": "a path",
    "a/b": "a folder",
    ".": "here",
    "..": "above",
    "": "empty",
    "x" * 250: "too long",
    "x" * 32_767: "as long as can be",
    "\0" * 32_767: "longer when quoted",
    "grüße": "other letters",
    "news\0": "with a zero byte",
}


@pytest.mark.parametrize("name", NAMES, ids=list(NAMES.values()))
@pytest.mark.parametrize("version", [3, 8, 12])
def test_a_name_that_is_none_is_an_unknown_topic(news: Desk, name: str, version: int) -> None:
    (part,) = news.ask(produce_of(name, BATCH, acks=1), version).responses[0].partition_responses
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(news.disk.list(news.log_dir.path)) == [".lock", "meta.properties"]


@pytest.mark.parametrize("partition", [1, -1, 2**31 - 1, -(2**31)])
def test_a_partition_that_is_not_there(news: Desk, partition: int) -> None:
    request = produce_of("news", BATCH, acks=1, partition=partition)
    (part,) = news.ask(request, 9).responses[0].partition_responses
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_id_that_is_not_there(news: Desk) -> None:
    request = produce_of("", BATCH, acks=1, topic_id=b"x" * 16)
    (part,) = news.ask(request, 13).responses[0].partition_responses
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_acks_0_is_never_answered(news: Desk) -> None:
    call = news.call(produce_of("news", BATCH, acks=0), 9)
    assert call.run(news.broker) is NO_ANSWER
    for wrong in (
        produce_of("news", BATCH[:-1], acks=0),
        produce_of("nope", BATCH, acks=0),
        produce_of("news", None, acks=0),
    ):
        with pytest.raises(Unanswerable, match="acks=0"):
            news.call(wrong, 9).run(news.broker)


def test_a_full_disk_refuses_with_words(news: Desk) -> None:
    assert news.broker.leader("news", 0)
    news.broker.disk_is_full = True
    assert short_way(news, BATCH) is None
    (part,) = news.ask(produce_of("news", BATCH, acks=1), 9).responses[0].partition_responses
    assert part.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "free some space" in part.error_message


def test_acks_all_waits_for_the_high_watermark_both_ways(news: Desk) -> None:
    leader = news.broker.leader("news", 0)
    pledge = short_way(news, BATCH, acks=-1)
    assert isinstance(pledge, Pledge)
    later = news.call(produce_of("news", BATCH), 9).run(news.broker)
    assert isinstance(later, Later)
    assert (pledge.outcome(False), later.answer(False)) == (None, None)
    leader.high_watermark = 3
    assert pledge.outcome(False) is not None
    assert later.answer(False) is None
    leader.high_watermark = 4
    answer = later.answer(False)
    assert isinstance(answer, ProduceResponse)
    assert answer.responses[0].partition_responses[0].base_offset == 2


def test_only_the_partitions_that_are_wrong_are_refused(news: Desk) -> None:
    request = produce_of("news", BATCH, acks=1)
    request.topic_data[0].partition_data += [
        PartitionProduceData(9, BATCH),
        PartitionProduceData(0, BATCH[:-1]),
        PartitionProduceData(0, BATCH),
    ]
    parts = news.ask(request, 9).responses[0].partition_responses
    assert [part.base_offset for part in parts] == [0, -1, -1, 2]


@pytest.mark.parametrize("timestamp_type", ["CreateTime", "LogAppendTime"])
def test_a_log_that_cannot_be_mended_refuses_with_words_after_the_short_way_as_well(
    tmp_path: Path, timestamp_type: str
) -> None:
    disk = FailingDisk()
    desk = Desk(disk, tmp_path / "data", {})
    desk.create("news", message_timestamp_type=timestamp_type)
    desk.append("news")
    disk.fails = lambda verb, path: verb in ("finish", "truncate") and path.endswith(".log")
    with pytest.raises(OSError, match="cannot finish"):
        desk.append("news")
    frame = frame_with(BATCH)
    assert produce_single(desk.broker, frame, NOW_MS) is None
    answer = read_call(frame, "peer", NOW_MS).run(desk.broker)
    (part,) = answer.responses[0].partition_responses
    assert part.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "cannot be cut off" in part.error_message
    disk.close()


# -- where batches are looked into


@pytest.fixture
def strict(make_desk: Callable[..., Desk]) -> Desk:
    desk: Desk = make_desk()
    desk.create("news", record_validation="full")
    return desk


async def code_of(desk: Desk, batch: bytes) -> int:
    request = produce_of("news", batch, acks=1)
    assert isinstance(desk.call(request, 9).run(desk.broker), Resume)
    answer = await desk.ask_and_wait(request, 9)
    return int(answer.responses[0].partition_responses[0].error_code)


def holding(codec: Codec, section: bytes) -> bytes:
    """A batch of one record, as it says, with this as its records section."""
    header = read_header(a_batch(b"v"))._replace(attributes=int(codec))
    return bytes(seal(header, section))


def test_short_and_long_way_append_the_same(make_desk: Callable[..., Desk]) -> None:
    files = []
    for is_known in (True, False):
        desk = make_desk()
        desk.create("news")
        if is_known:
            assert desk.broker.leader("news", 0)
            assert isinstance(short_way(desk, BATCH), bytes)
        else:
            assert desk.ask(produce_of("news", BATCH, acks=1), 9)
        log = desk.broker.leader("news", 0).log
        log.write_out()
        assert log.active is not None
        files.append(log.active.file.read(0, log.active.size))
    assert files[0] == files[1] != b""


def test_a_batch_without_a_largest_timestamp_gets_what_its_records_say(news: Desk) -> None:
    batch = changed(a_batch(b"a", b"b", at_ms=NOW_MS), max_timestamp=-1)
    leader = news.broker.leader("news", 0)
    assert short_way(news, batch) is None
    (topic,) = news.ask(produce_of("news", batch, acks=1), 9).responses
    assert topic.partition_responses[0].error_code == 0
    assert leader.log.active is not None
    assert leader.log.active.max_timestamp == NOW_MS


@pytest.mark.parametrize(
    ("codec", "make"),
    [
        (Codec.GZIP, lambda zeros: gzip.compress(zeros, 1)),
        (Codec.SNAPPY, lambda _: b"\xff\xff\xff\xff\x07\x00\x00" + b"\xfe\x01\x00" * 20_000),
        (Codec.LZ4, lz4.frame.compress),
        (Codec.ZSTD, zstandard.compress),
    ],
    ids=["gzip", "snappy", "lz4", "zstd"],
)
async def test_a_decompression_bomb_is_refused(
    strict: Desk, codec: Codec, make: Callable[[bytes], bytes]
) -> None:
    bomb = holding(codec, make(bytes(100 << 20)))
    assert await code_of(strict, bomb) == ErrorCode.MESSAGE_TOO_LARGE
    assert strict.broker.leader("news", 0).log.end_offset == 0


class NotedDisk(RealDisk):
    """Remembers what was to be done with much memory."""

    def __init__(self) -> None:
        super().__init__()
        self.large: list[Callable[[], object]] = []

    def offload_large(self, work: Callable[[], T]) -> Awaitable[T]:
        self.large.append(work)
        return super().offload_large(work)


async def test_batches_that_take_much_memory_are_looked_into_one_request_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(k00_produce, "EXPANDED_BYTES_ORDINARY", 10_000)
    disk = NotedDisk()
    desk = Desk(disk, tmp_path, {})
    desk.create("news", record_validation="full", compression_type="gzip")
    small, large = a_batch(b"small"), a_batch(bytes(20_000), codec=Codec.ZSTD)
    for sent, is_large in ((small, False), (large, True)):
        assert await code_of(desk, sent) == 0
        assert bool(disk.large) is is_large
    request = produce_of("news", small, acks=1)
    request.topic_data[0].partition_data += [
        PartitionProduceData(0, batch) for batch in (large, holding(Codec.ZSTD, b"x"), small)
    ]
    answer = await desk.ask_and_wait(request, 9)
    parts = answer.responses[0].partition_responses
    assert [part.base_offset for part in parts] == [2, 3, -1, 4], "in the order that they have"
    desk.log_dir.abandon()
    disk.close()


async def test_what_is_kept_of_one_request_is_bounded_too(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.create("news", compression_type="uncompressed")
    monkeypatch.setattr(k00_produce, "EXPANDED_BYTES_ORDINARY", 10_000)
    monkeypatch.setattr(k00_produce, "expanded_bytes_max", lambda _: 50_000)
    large = a_batch(bytes(20_000), codec=Codec.ZSTD)
    request = produce_of("news", large, acks=1)
    request.topic_data[0].partition_data += [PartitionProduceData(0, large)] * 3
    answer = await desk.ask_and_wait(request, 9)
    codes = [part.error_code for part in answer.responses[0].partition_responses]
    assert codes == [0, 0, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.MESSAGE_TOO_LARGE]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
async def test_data_that_does_not_decompress_is_refused(strict: Desk, codec: Codec) -> None:
    code = await code_of(strict, holding(codec, b"\x01\x02\x03nonsense" * 10))
    assert code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "batch",
    [
        changed(BATCH, record_count=3, last_offset_delta=2),
        changed(BATCH, record_count=1, last_offset_delta=0),
        holding(Codec.NONE, b"\xff" * 40),
    ],
    ids=["more records said", "fewer records said", "nonsense"],
)
async def test_records_that_are_not_what_the_header_says_are_refused(
    strict: Desk, batch: bytes
) -> None:
    assert await code_of(strict, batch) == ErrorCode.INVALID_RECORD
    assert strict.broker.leader("news", 0).log.end_offset == 0


async def test_a_batch_too_small_for_its_records_is_refused_without_a_look(desk: Desk) -> None:
    desk.create("news")
    answer = await desk.ask_and_wait(produce_of("news", holding(Codec.NONE, b""), acks=1), 9)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_RECORD


async def test_a_log_that_takes_long_to_open_is_waited_for_with_a_copy_of_the_records(
    desk: Desk,
) -> None:
    """Were it refused, a producer's later batches might be taken before the first."""
    desk.create("news")
    make_slow_to_open(desk, "news")
    again = reopened(desk)
    call = again.call(produce_of("news", bytes(a_batch(b"v")), acks=1), 9)
    assert isinstance(call.request, ProduceRequest)
    received = call.request.topic_data[0].partition_data[0].records
    waiting = call.run(again.broker)
    assert isinstance(waiting, Resume)
    assert isinstance(received, memoryview)
    received[:] = bytes(len(received))  # the buffer is used again
    answer: Any = waiting.then(await waiting.work())
    assert answer.responses[0].partition_responses[0].base_offset == PRODUCERS


async def test_a_log_that_takes_too_long_to_open_takes_no_longer_than_the_request_allows(
    desk: Desk,
) -> None:
    desk.create("news")
    make_slow_to_open(desk, "news")
    desk.create("others")
    again = desk.restart()
    waits = never_open(again)
    request = produce_of("news", bytes(a_batch(b"v")), acks=1)
    request.topic_data += produce_of("others", bytes(a_batch(b"v")), acks=1).topic_data
    request.timeout_ms = 500
    answer = await again.ask_and_wait(request, 9)
    codes = {each.name: each.partition_responses[0].error_code for each in answer.responses}
    assert codes == {"news": ErrorCode.NOT_LEADER_OR_FOLLOWER, "others": 0}
    assert waits == [500]


async def test_a_compacted_topic_takes_no_record_without_a_key(desk: Desk) -> None:
    desk.create("news", cleanup_policy="compact")
    keyless = holding(Codec.NONE, b"\x10\0\0\0\x01\x04vv\0\0")
    assert await code_of(desk, keyless) == ErrorCode.INVALID_RECORD


async def test_a_topic_deleted_while_a_batch_is_looked_into_takes_nothing(strict: Desk) -> None:
    call = strict.call(produce_of("news", BATCH, acks=1), 9)
    outcome = call.run(strict.broker)
    assert isinstance(outcome, Resume)
    found = await outcome.work()
    leader = strict.broker.leader("news", 0)
    leader.end(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    answer = outcome.then(found)
    assert isinstance(answer, ProduceResponse)
    (part,) = answer.responses[0].partition_responses
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert leader.log.end_offset == 0


def test_many_logs_that_are_new_are_made_before_anything_is_appended(desk: Desk) -> None:
    partitions = k00_produce.NEW_LOGS_AT_ONCE + 1
    desk.create("news", partitions)
    request = produce_of("news", a_batch(b"one"), acks=1)
    data = request.topic_data[0].partition_data
    data += [PartitionProduceData(index, a_batch(b"one")) for index in range(1, partitions)]
    call = desk.call(request, 9)
    assert isinstance(call.run(desk.broker), Resume)
    assert not desk.broker.leader("news", 0).log.has_folder
    desk.ask(request, 9)
    assert [desk.broker.leader("news", index).log.end_offset for index in range(partitions)] == [
        1 for _ in range(partitions)
    ]


def to_many(topic: str, partitions: int, acks: int) -> ProduceRequest:
    request = produce_of(topic, a_batch(b"one"), acks=acks)
    data = request.topic_data[0].partition_data
    data += [PartitionProduceData(index, a_batch(b"one")) for index in range(1, partitions)]
    return request


@pytest.mark.parametrize("beyond", [-1, 0, 1, k00_produce.AT_ONCE])
async def test_no_pause_leaves_a_batch_in_the_buffer_that_others_receive_into(
    desk: Desk, beyond: int
) -> None:
    partitions = k00_produce.AT_ONCE + beyond
    desk.create("news", partitions)
    desk.ask(to_many("news", k00_produce.NEW_LOGS_AT_ONCE, acks=1), 9)
    for _ in range(2):  # the first time logs are made, too
        call = desk.call(to_many("news", partitions, acks=1), 9)
        assert isinstance(call.request, ProduceRequest)
        received = [part.records for part in call.request.topic_data[0].partition_data]
        outcome = call.run(desk.broker)
        while True:
            for index in range(partitions):  # as at the end of every pass
                desk.broker.leader("news", index).log.write_out()
            for each in received:
                assert isinstance(each, memoryview)
                each[:] = bytes(len(each))
            if not isinstance(outcome, Resume):
                break
            outcome = outcome.then(await outcome.work())
        codes = {part.error_code for part in outcome.responses[0].partition_responses}
        assert codes == {0}
    for index in range(partitions):
        log = desk.broker.leader("news", index).log
        found = log.read(log.end_offset - 1, 1 << 20, log.end_offset)
        assert found is not None
        stored = found.range.file.read(found.range.position, found.range.length)
        check(memoryview(stored))  # its checksum, too


async def test_what_is_for_hundreds_of_partitions_is_appended_and_written_in_slices(
    desk: Desk,
) -> None:
    partitions = k00_produce.AT_ONCE + 1
    desk.create("news", partitions)
    call = desk.call(to_many("news", partitions, acks=1), 9)
    assert isinstance(call.request, ProduceRequest)
    received = [part.records for part in call.request.topic_data[0].partition_data]
    outcome = call.run(desk.broker)
    for each in received:
        assert isinstance(each, memoryview)
        each[:] = bytes(len(each))  # the buffer is used again
    while isinstance(outcome, Resume):
        outcome = outcome.then(await outcome.work())
    leaders = [desk.broker.leader("news", index) for index in range(partitions)]
    assert [each.log.end_offset for each in leaders] == [1] * partitions
    assert [each.log.written_end for each in leaders] == [1] * partitions
    told = outcome.responses[0].partition_responses
    assert [(part.index, part.error_code) for part in told] == [(n, 0) for n in range(partitions)]


async def test_acks_all_for_hundreds_of_partitions_waits_for_each_and_looks_at_each_once(
    desk: Desk,
) -> None:
    partitions = k00_produce.AT_ONCE + 1
    desk.create("news", partitions)
    outcome = desk.call(to_many("news", partitions, acks=-1), 9).run(desk.broker)
    while isinstance(outcome, Resume):
        outcome = outcome.then(await outcome.work())
    assert isinstance(outcome, Later)
    leaders = [desk.broker.leader("news", index) for index in range(partitions)]
    woken: list[None] = []
    outcome.sources[0].watch(lambda: woken.append(None))
    for number, leader in enumerate(leaders):
        assert outcome.answer(False) is None, f"{number} are committed"
        assert len(outcome.sources) == 1
        leader.log.end_sync(leader.log.begin_sync())
        assert leader.advance()
        leader.announce()
    assert outcome.answer(False) is not None
    assert woken
