"""What a batch must satisfy before it is appended for a producer.

Header, CRC, counts and timestamps always, at the cost of the CRC. The records themselves only where
the topic asks for it, or the header lacks what they say, which may take long and is done off the
loop.
"""

from __future__ import annotations

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.wire import batch as batches
from penstock.wire.batch import (
    COMPRESSION_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    NO_PRODUCER,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    read_header,
)
from penstock.wire.batch_builder import check_records, recompress
from penstock.wire.compression import Codec
from penstock.world.ports import Buffer

EXPANSION_MAX = 10
EXPANDED_BYTES_MIN = 64 << 20
"""What is sent may take so many times its size, and this, once it is decompressed."""
EXPANDED_BYTES_ORDINARY = 16 << 20
"""What takes more than this is looked into while nothing else of that kind is."""

RECORD_BYTES_MIN = 7
"""Its length, attributes, two deltas, no key, no value and no headers."""
PRODUCERS_ATTRIBUTES = COMPRESSION_MASK | LOG_APPEND_TIME | TRANSACTIONAL

_LAST_CODEC = max(Codec)


def check_batch(batch: memoryview, config: TopicConfig, now_ms: int) -> BatchHeader:
    """The header of a batch that may be appended, or Refused."""
    _check_size(batch, config)
    header = batches.check(batch)
    count = header.record_count
    if count < 1 or header.last_offset_delta != count - 1:
        raise _invalid(f"{count} records and a last offset delta of {header.last_offset_delta}")
    if count * RECORD_BYTES_MIN > len(batch) - HEADER_SIZE:
        _check_count(header)
    if header.attributes:
        _check_attributes(header)
    if header.producer_id != NO_PRODUCER:
        _check_producer(header)
    if config.message_timestamp_type == "CreateTime":
        check_time(header.max_timestamp, config, now_ms)
        if header.base_timestamp != header.max_timestamp:
            check_time(header.base_timestamp, config, now_ms)
    return header


def _check_size(batch: Buffer, config: TopicConfig) -> None:
    if len(batch) > config.max_message_bytes:
        raise Refused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {len(batch)} bytes; the topic takes up to {config.max_message_bytes}",
        )
    if len(batch) > config.segment_bytes:
        raise Refused(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"a batch of {len(batch)} bytes; the topic's segments have {config.segment_bytes}",
        )


def _check_count(header: BatchHeader) -> None:
    """Each record uses up an offset, so there are no more than the bytes can hold; of compressed
    ones no more than anybody would be let look into."""
    if not header.codec or header.record_count * RECORD_BYTES_MIN > expanded_bytes_max(header.size):
        raise _invalid(f"{header.record_count} records in a batch of {header.size} bytes")


def _check_attributes(header: BatchHeader) -> None:
    if header.attributes & ~PRODUCERS_ATTRIBUTES and not header.is_control:
        raise _invalid(f"attributes {header.attributes:#x} are not a producer's to set")
    if header.is_control:
        raise _invalid("control batches are written by brokers only")
    if header.codec > _LAST_CODEC:
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"codec {header.codec} is unknown")
    if header.has_log_append_time:
        raise Refused(ErrorCode.INVALID_TIMESTAMP, "a producer cannot set the broker's append time")
    if header.is_transactional:
        _check_producer(header)


def _check_producer(header: BatchHeader) -> None:
    if header.producer_id < 0 or header.producer_epoch < 0:
        raise _invalid(f"producer {header.producer_id} with epoch {header.producer_epoch}")
    if header.base_sequence <= NO_SEQUENCE:
        raise _invalid(f"producer {header.producer_id} without a sequence number")


def check_time(timestamp: int, config: TopicConfig, now_ms: int) -> None:
    if timestamp == NO_TIMESTAMP:
        return
    ahead = timestamp - now_ms
    if (
        ahead > config.message_timestamp_after_max_ms
        or -ahead > config.message_timestamp_before_max_ms
    ):
        raise Refused(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {timestamp} is {abs(ahead)} ms {'ahead of' if ahead > 0 else 'behind'} "
            "the broker's time, more than the topic takes",
        )


def _invalid(reason: str) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, reason)


def is_heavy(header: BatchHeader, config: TopicConfig) -> bool:
    """Whether the batch must be looked into, off the loop, by `look_inside`."""
    if lacks_time(header, config):
        return True
    if config.keeps_batches:
        return False
    return config.looks_inside or _wanted_codec(config) not in (None, header.codec)


def lacks_time(header: BatchHeader, config: TopicConfig) -> bool:
    """Whether only the records can say how old the batch is: some clients leave its largest
    timestamp unset, and then nobody would know when it expires."""
    return header.max_timestamp < 0 and config.message_timestamp_type == "CreateTime"


def expanded_bytes_max(sent_bytes: int) -> int:
    """How much memory may be taken for looking into so many bytes."""
    return EXPANDED_BYTES_MIN + EXPANSION_MAX * sent_bytes


def look_inside(
    batch: memoryview, header: BatchHeader, config: TopicConfig, now_ms: int, limit: int
) -> bytearray:
    """Check every record, and compress the batch as the topic asks; the batch to append.

    A largest timestamp that is unset, or wrong, is set to what the records say. MESSAGE_TOO_LARGE
    where the records take more than the limit, in bytes.
    """
    largest = check_records(batch, limit, keyed=config.compacts)
    if config.message_timestamp_type == "CreateTime":
        check_time(largest, config, now_ms)
    codec = _wanted_codec(config)
    if codec is not None and codec != header.codec:
        checked = recompress(batch, codec, _level(config, codec), limit)
        _check_size(checked, config)
    else:
        checked = bytearray(batch)
    if read_header(checked).max_timestamp != largest:
        batches.stamp_max_timestamp(checked, largest)
    return checked


def _wanted_codec(config: TopicConfig) -> int | None:
    word = config.compression_type
    if word == "producer":
        return None
    return Codec.NONE if word == "uncompressed" else Codec[word.upper()]


def _level(config: TopicConfig, codec: int) -> int | None:
    if codec == Codec.GZIP:
        return None if config.compression_gzip_level < 0 else config.compression_gzip_level
    if codec == Codec.LZ4:
        return config.compression_lz4_level
    return config.compression_zstd_level if codec == Codec.ZSTD else None
