"""What a producer may send."""

from __future__ import annotations

from typing import Any

import pytest
from tests.log.making import NOW_MS, a_batch

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.validation import check_batch, is_heavy, look_inside
from penstock.wire import batch as batches
from penstock.wire.batch import BatchHeader
from penstock.wire.batch_builder import build_batch, end_marker, read_records
from penstock.wire.compression import Codec
from penstock.wire.records import Record

DEFAULTS = TopicConfig()
ENOUGH = 1 << 20


def refusal(batch: bytearray, config: TopicConfig = DEFAULTS) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        check_batch(memoryview(batch), config, NOW_MS)
    return refused.value.code


def changed(batch: bytearray, **fields: Any) -> bytearray:
    """The batch with other header fields, and a CRC to match."""
    return batches.seal(batches.read_header(batch)._replace(**fields), batch[61:])


def test_a_sound_batch_passes() -> None:
    batch = a_batch(b"a", b"b", producer_id=1, producer_epoch=0, base_sequence=0)
    assert check_batch(memoryview(batch), DEFAULTS, NOW_MS) == batches.read_header(batch)
    check_batch(memoryview(a_batch(b"a", at_ms=-1)), DEFAULTS, NOW_MS)


def test_any_flipped_bit_past_the_offset_and_epoch_is_refused() -> None:
    batch = a_batch(b"a")
    for position in (*range(8, 12), *range(16, len(batch))):
        broken = bytearray(batch)
        broken[position] ^= 0x10
        refusal(broken)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"record_count": 3}, ErrorCode.INVALID_RECORD),
        ({"record_count": 0, "last_offset_delta": -1}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": 5}, ErrorCode.INVALID_RECORD),
        ({"attributes": batches.CONTROL}, ErrorCode.INVALID_RECORD),
        ({"attributes": batches.LOG_APPEND_TIME}, ErrorCode.INVALID_TIMESTAMP),
        ({"attributes": 7}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"producer_id": 5, "producer_epoch": -1, "base_sequence": 0}, ErrorCode.INVALID_RECORD),
        ({"producer_id": 5, "producer_epoch": 0, "base_sequence": -1}, ErrorCode.INVALID_RECORD),
        ({"attributes": batches.TRANSACTIONAL}, ErrorCode.INVALID_RECORD),
        ({"max_timestamp": NOW_MS + 3_600_001}, ErrorCode.INVALID_TIMESTAMP),
    ],
)
def test_wrong_headers_are_refused(fields: dict[str, int], code: ErrorCode) -> None:
    assert refusal(changed(a_batch(b"a", b"b"), **fields)) == code


def test_batches_that_are_too_large_are_refused() -> None:
    batch = a_batch(b"x" * 100)
    config = TopicConfig(max_message_bytes=len(batch) - 1)
    assert refusal(batch, config) == ErrorCode.MESSAGE_TOO_LARGE
    check_batch(memoryview(batch), TopicConfig(max_message_bytes=len(batch)), NOW_MS)


def test_a_batch_that_no_segment_can_hold_is_refused() -> None:
    batch = a_batch(b"x" * 100)
    config = TopicConfig(segment_bytes=len(batch) - 1)
    assert refusal(batch, config) == ErrorCode.RECORD_LIST_TOO_LARGE
    check_batch(memoryview(batch), TopicConfig(segment_bytes=len(batch)), NOW_MS)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_no_batch_says_that_it_has_more_records_than_it_can_hold(codec: Codec) -> None:
    most = 1 << 31
    batch = changed(a_batch(b"a", codec=codec), record_count=most - 1, last_offset_delta=most - 2)
    assert refusal(batch) == ErrorCode.INVALID_RECORD


def test_records_may_be_as_small_as_they_can_be() -> None:
    smallest = [Record(number, NOW_MS, None, None) for number in range(60)]
    batch = build_batch(smallest)
    assert (len(batch) - 61) == 60 * 7
    check_batch(memoryview(batch), DEFAULTS, NOW_MS)
    one_more = changed(batch, record_count=61, last_offset_delta=60)
    assert refusal(one_more) == ErrorCode.INVALID_RECORD
    smallest = [Record(number, NOW_MS, None, None) for number in range(60_000)]
    many = build_batch(smallest, codec=Codec.ZSTD)
    assert len(many) < len(smallest) * 7
    check_batch(memoryview(many), DEFAULTS, NOW_MS)


def test_records_from_too_long_ago_are_refused_unless_the_brokers_time_counts() -> None:
    old = a_batch(b"a", b"b", at_ms=[NOW_MS - 5001, NOW_MS])
    config = TopicConfig(message_timestamp_before_max_ms=5000)
    assert refusal(old, config) == ErrorCode.INVALID_TIMESTAMP
    stamped = TopicConfig(
        message_timestamp_before_max_ms=5000, message_timestamp_type="LogAppendTime"
    )
    check_batch(memoryview(old), stamped, NOW_MS)


def test_control_batches_are_for_brokers_only() -> None:
    marker = end_marker(1, 0, commit=True, coordinator_epoch=0, timestamp_ms=NOW_MS)
    assert refusal(marker) == ErrorCode.INVALID_RECORD


def header_of(batch: bytearray) -> BatchHeader:
    return batches.read_header(batch)


def test_only_topics_that_ask_for_it_are_looked_into() -> None:
    plain = header_of(a_batch(b"a"))
    assert not is_heavy(plain, DEFAULTS)
    assert not is_heavy(plain, TopicConfig(compression_type="uncompressed"))
    assert is_heavy(plain, TopicConfig(compression_type="zstd"))
    assert is_heavy(plain, TopicConfig(record_validation="full"))
    assert is_heavy(plain, TopicConfig(cleanup_policy=("compact",)))


def test_a_compacted_topic_refuses_records_without_a_key() -> None:
    config = TopicConfig(cleanup_policy=("compact",))
    batch = build_batch([Record(0, NOW_MS, None, b"v")])
    with pytest.raises(Refused) as refused:
        look_inside(memoryview(batch), header_of(batch), config, NOW_MS, ENOUGH)
    assert refused.value.code == ErrorCode.INVALID_RECORD
    keyed = a_batch(b"v")
    assert look_inside(memoryview(keyed), header_of(keyed), config, NOW_MS, ENOUGH) == keyed


def test_records_that_do_not_add_up_are_refused() -> None:
    batch = a_batch(b"a", b"b")
    broken = batches.seal(header_of(batch), bytes(batch[61:-1]) + b"\xff")
    with pytest.raises(Refused):
        look_inside(
            memoryview(broken),
            header_of(broken),
            TopicConfig(record_validation="full"),
            NOW_MS,
            ENOUGH,
        )


@pytest.mark.parametrize("word", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_a_topic_may_ask_for_its_own_compression(word: str) -> None:
    sent = a_batch(b"a" * 200, b"b" * 200, codec=Codec.LZ4 if word != "lz4" else Codec.GZIP)
    config = TopicConfig(compression_type=word)
    assert is_heavy(header_of(sent), config)
    stored = look_inside(memoryview(sent), header_of(sent), config, NOW_MS, ENOUGH)
    check_batch(memoryview(stored), DEFAULTS, NOW_MS)
    assert not is_heavy(header_of(stored), config)
    assert read_records(stored, 10_000) == read_records(sent, 10_000)


def test_a_missing_largest_timestamp_is_set_to_what_the_records_say() -> None:
    batch = changed(a_batch(b"a", b"b", at_ms=[NOW_MS, NOW_MS + 5]), max_timestamp=-1)
    checked = look_inside(
        memoryview(batch), header_of(batch), TopicConfig(record_validation="full"), NOW_MS, ENOUGH
    )
    assert header_of(checked).max_timestamp == NOW_MS + 5
    batches.check(checked)


def test_a_batch_that_does_not_say_how_old_it_is_is_looked_into() -> None:
    for at_ms in (NOW_MS, -1):
        header = header_of(changed(a_batch(b"a", at_ms=at_ms), max_timestamp=-1))
        assert is_heavy(header, DEFAULTS)
        assert not is_heavy(header, TopicConfig(message_timestamp_type="LogAppendTime"))


def test_records_that_have_no_time_pass_when_they_are_looked_into() -> None:
    batch = a_batch(b"a", b"b", at_ms=-1)
    assert look_inside(memoryview(batch), header_of(batch), DEFAULTS, NOW_MS, ENOUGH) == batch


def test_a_batch_that_is_too_large_once_it_is_compressed_as_the_topic_asks_is_refused() -> None:
    batch = a_batch(bytes(20_000), codec=Codec.ZSTD)
    config = TopicConfig(compression_type="uncompressed", max_message_bytes=10_000)
    header = check_batch(memoryview(batch), config, NOW_MS)
    with pytest.raises(Refused) as refused:
        look_inside(memoryview(batch), header, config, NOW_MS, ENOUGH)
    assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_whose_records_take_more_than_the_limit_is_too_large(codec: Codec) -> None:
    config = TopicConfig(record_validation="full")
    batch = a_batch(bytes(20_000), codec=codec)
    assert look_inside(memoryview(batch), header_of(batch), config, NOW_MS, 21_000) == batch
    for limit in (0, 19_000):
        with pytest.raises(Refused) as refused:
            look_inside(memoryview(batch), header_of(batch), config, NOW_MS, limit)
        assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
