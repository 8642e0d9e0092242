"""A batch's header: what is refused, what a stamp changes, and what it leaves alone."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ErrorCode, Refused
from penstock.wire.batch import (
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    NO_SEQUENCE,
    BatchHeader,
    Offset,
    check,
    read_header,
    seal,
    size_at,
    stamp,
    stamp_append_time,
    stamp_max_timestamp,
)

HEADER = BatchHeader(
    base_offset=7,
    length=0,
    leader_epoch=3,
    magic=2,
    crc=0,
    attributes=0x10,
    last_offset_delta=4,
    base_timestamp=1_000,
    max_timestamp=1_900,
    producer_id=55,
    producer_epoch=6,
    base_sequence=12,
    record_count=5,
)


def refusal(batch: bytes | bytearray) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        check(batch)
    return refused.value.code


def test_a_sealed_batch_passes_and_says_what_its_header_said() -> None:
    batch = seal(HEADER, b"records")
    header = check(batch)
    assert header == HEADER._replace(length=header.length, crc=header.crc)
    assert header.size == size_at(batch) == len(batch) == HEADER_SIZE + 7
    assert (header.last_offset, header.next_offset) == (11, 12)
    assert header.is_transactional
    assert not header.is_control
    assert not header.has_log_append_time
    assert header.delete_horizon_ms is None


def test_the_layout_is_kafkas() -> None:
    batch = seal(HEADER, b"")
    assert struct.unpack_from(">qiib", batch) == (7, 49, 3, 2)
    assert struct.unpack_from(">hiqqqhii", batch, 21) == (0x10, 4, 1_000, 1_900, 55, 6, 12, 5)


def test_a_header_is_read_at_any_position() -> None:
    batch = bytes(seal(HEADER, b"records"))
    assert read_header(b"before" + batch, 6) == read_header(batch)
    assert size_at(b"before" + batch, 6) == len(batch)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_is_checked(kind: type) -> None:
    assert check(kind(seal(HEADER, b"records"))).record_count == 5


def test_a_batch_cut_anywhere_is_corrupt() -> None:
    batch = seal(HEADER, b"records")
    for end in range(HEADER_SIZE, len(batch)):
        assert refusal(batch[:end]) == ErrorCode.CORRUPT_MESSAGE


def test_bytes_without_a_whole_header_are_no_batch() -> None:
    batch = seal(HEADER, b"records")
    for end in range(HEADER_SIZE):
        assert refusal(batch[:end]) == ErrorCode.INVALID_RECORD


def test_more_bytes_than_one_batch_are_invalid() -> None:
    batch = seal(HEADER, b"records")
    for more in (b"x", batch):
        assert refusal(batch + more) == ErrorCode.INVALID_RECORD


def test_a_length_that_is_too_small_is_corrupt() -> None:
    batch = seal(HEADER, b"records")
    for length in range(len(batch) - LENGTH_OVERHEAD):
        struct.pack_into(">i", batch, 8, length)
        assert refusal(batch) == ErrorCode.CORRUPT_MESSAGE


def test_a_negative_length_is_corrupt() -> None:
    batch = seal(HEADER, b"records")
    struct.pack_into(">i", batch, 8, -1)
    assert refusal(batch) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("magic", [0, 1, 3, -1])
def test_another_message_format_is_unsupported(magic: int) -> None:
    batch = seal(HEADER, b"records")
    struct.pack_into(">b", batch, 16, magic)
    assert refusal(batch) == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


@settings(deadline=None)
@given(st.integers(17, HEADER_SIZE + 6), st.integers(1, 255))
def test_any_changed_byte_from_the_crc_on_is_corrupt(place: int, change: int) -> None:
    batch = seal(HEADER, b"records")
    batch[place] ^= change
    assert refusal(batch) == ErrorCode.CORRUPT_MESSAGE


def test_a_stamp_keeps_the_crc_true() -> None:
    batch = seal(HEADER, b"records")
    before = read_header(batch)
    stamp(batch, Offset(2**40), 9)
    assert check(batch) == before._replace(base_offset=2**40, leader_epoch=9)


def test_a_stamp_goes_through_a_view_into_a_larger_buffer() -> None:
    batch = seal(HEADER, b"records")
    buffer = bytearray(b"before") + batch
    stamp(memoryview(buffer)[6:], Offset(99), 1)
    assert check(memoryview(buffer)[6:]).base_offset == 99


def test_append_time_becomes_the_time_of_the_batch_and_changes_the_crc() -> None:
    batch = seal(HEADER, b"records")
    before = read_header(batch)
    stamp_append_time(batch, 5_000)
    after = check(batch)
    assert after.has_log_append_time
    assert after.crc != before.crc
    assert after == before._replace(
        crc=after.crc, attributes=before.attributes | 0x08, max_timestamp=5_000
    )


def test_a_max_timestamp_can_be_put_right() -> None:
    batch = seal(HEADER._replace(max_timestamp=-1), b"records")
    stamp_max_timestamp(batch, 1_900)
    assert batch == seal(HEADER, b"records")


def test_sequences_wrap_to_zero() -> None:
    near_the_end = HEADER._replace(base_sequence=2**31 - 3)
    assert near_the_end.last_sequence == 1
    assert HEADER.last_sequence == 16
    assert HEADER._replace(base_sequence=NO_SEQUENCE).last_sequence == NO_SEQUENCE


def test_a_delete_horizon_lies_in_the_base_timestamp() -> None:
    assert HEADER._replace(attributes=0x40).delete_horizon_ms == 1_000
