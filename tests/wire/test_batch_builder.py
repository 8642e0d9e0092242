"""Whole batches: made, opened, checked, compacted, recompressed; and the ends of transactions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ErrorCode, Malformed, Refused
from penstock.wire import batch_builder
from penstock.wire.batch import (
    HEADER_SIZE,
    BatchHeader,
    check,
    read_header,
    seal,
    stamp_max_timestamp,
)
from penstock.wire.batch_builder import (
    Marker,
    build_batch,
    check_records,
    end_marker,
    read_marker,
    read_records,
    rebuild,
    recompress,
    records_of,
    sliced_spans,
)
from penstock.wire.compression import Codec
from penstock.wire.records import Cursor, Record, Span, encode, spans, verify

LIMIT = 1 << 20
NOW_MS = 1_760_000_000_000
TAGS = ((b"region", b"eu"), (b"empty", None))


def some(count: int, first: int = 0) -> list[Record]:
    """Every third is a tombstone, and timestamps go forth and back."""
    return [
        Record(
            first + i, NOW_MS + (i * 37) % 11, b"k%d" % (i % 5), b"v" * i if i % 3 else None, TAGS
        )
        for i in range(count)
    ]


def opened(batch: bytearray) -> tuple[BatchHeader, bytes, list[Span]]:
    header = check(batch)
    data = records_of(batch, LIMIT)
    return header, data, spans(Cursor(data, header.record_count))


@pytest.mark.parametrize("base_ms", [2**62, 2**63 - 11, -(2**62), -(2**63)])
def test_times_that_are_far_away_are_read_as_they_are(base_ms: int) -> None:
    before = some(20)
    batch = build_batch(before)
    far = seal(check(batch)._replace(base_timestamp=base_ms), batch[HEADER_SIZE:])
    expected = [max(1 - 2**63, base_ms + each.timestamp - NOW_MS) for each in before]
    assert [each.timestamp for each in read_records(far, LIMIT)] == expected


def test_times_beyond_what_there_is_room_for_are_the_last_that_there_is() -> None:
    batch = build_batch(some(20))
    far = seal(check(batch)._replace(base_timestamp=2**63 - 6), batch[HEADER_SIZE:])
    assert max(each.timestamp for each in read_records(far, LIMIT)) == 2**63 - 1


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_is_read_as_it_was_built(codec: Codec) -> None:
    before = some(50, first=1_000)
    batch = build_batch(
        before,
        codec=codec,
        producer_id=9,
        producer_epoch=2,
        base_sequence=70,
        transactional=True,
        leader_epoch=4,
    )
    header = check(batch)
    assert read_records(batch, LIMIT) == before
    assert header == BatchHeader(
        base_offset=1_000,
        length=len(batch) - 12,
        leader_epoch=4,
        magic=2,
        crc=header.crc,
        attributes=codec | 0x10,
        last_offset_delta=49,
        base_timestamp=NOW_MS,
        max_timestamp=NOW_MS + 10,
        producer_id=9,
        producer_epoch=2,
        base_sequence=70,
        record_count=50,
    )


def test_a_plain_batch_has_no_producer() -> None:
    header = check(build_batch(some(1)))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert (header.attributes, header.leader_epoch) == (0, -1)


def test_append_time_counts_for_every_record() -> None:
    batch = build_batch(some(3), append_time_ms=NOW_MS + 99)
    assert check(batch).has_log_append_time
    assert {each.timestamp for each in read_records(batch, LIMIT)} == {NOW_MS + 99}


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_larger_than_the_limit_is_not_opened(codec: Codec) -> None:
    batch = build_batch(some(50), codec=codec)
    size = len(records_of(batch, LIMIT))
    assert len(records_of(batch, size)) == size
    with pytest.raises(Refused) as refused:
        records_of(batch, size - 1)
    assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("old", Codec)
@pytest.mark.parametrize("new", Codec)
def test_another_codec_changes_nothing_else(old: Codec, new: Codec) -> None:
    batch = build_batch(some(20), codec=old, producer_id=3, base_sequence=0, append_time_ms=NOW_MS)
    again = recompress(batch, new, None, LIMIT)
    before, after = read_header(batch), check(again)
    assert after.codec == new
    assert after.has_log_append_time
    same = {"length": 0, "crc": 0, "attributes": 0}
    assert after._replace(**same) == before._replace(**same)
    assert records_of(again, LIMIT) == records_of(batch, LIMIT)


def invalid(batch: bytes | bytearray, *, keyed: bool = False) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        check_records(batch, LIMIT, keyed=keyed)
    return refused.value.code


@pytest.mark.parametrize("codec", Codec)
def test_a_producers_batch_passes_with_its_largest_timestamp(codec: Codec) -> None:
    assert check_records(build_batch(some(50), codec=codec), LIMIT, keyed=True) == NOW_MS + 10


def test_a_max_timestamp_that_was_left_out_is_found() -> None:
    batch = build_batch(some(50))
    whole = bytes(batch)
    stamp_max_timestamp(batch, -1)
    stamp_max_timestamp(batch, check_records(batch, LIMIT, keyed=True))
    assert batch == whole


def test_a_timestamp_at_the_end_of_time_is_invalid() -> None:
    batch = build_batch(some(2))
    header = read_header(batch)._replace(base_timestamp=2**63 - 1)
    assert invalid(seal(header, batch[61:])) == ErrorCode.INVALID_TIMESTAMP
    with pytest.raises(Malformed):
        rebuild(header, bytes(batch[61:]), [])


def test_gaps_are_not_a_producers() -> None:
    assert invalid(build_batch(some(9)[::2])) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    "lie",
    [{"record_count": 8}, {"record_count": 0}, {"record_count": -1}, {"last_offset_delta": 0}],
)
def test_a_count_that_does_not_fit_is_invalid(lie: dict[str, int]) -> None:
    batch = build_batch(some(9))
    told = seal(read_header(batch)._replace(**lie), batch[61:])
    assert invalid(told) == ErrorCode.INVALID_RECORD


def test_numbers_that_skip_are_invalid_where_the_count_fits() -> None:
    data = encode(
        [Record(0, 0, b"k", b"v"), Record(2, 0, b"k", b"v"), Record(3, 0, b"k", b"v")], 0, 0
    )
    header = read_header(build_batch(some(3)))
    assert invalid(seal(header, data)) == ErrorCode.INVALID_RECORD


def test_a_compacted_topic_takes_no_record_without_a_key() -> None:
    batch = build_batch([Record(0, NOW_MS, None, b"v")])
    check_records(batch, LIMIT, keyed=False)
    assert invalid(batch, keyed=True) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", Codec)
def test_records_cut_off_are_refused(codec: Codec) -> None:
    batch = build_batch(some(20), codec=codec)
    header = read_header(batch)
    for end in range(61, len(batch)):
        code = invalid(seal(header, batch[61:end]))
        assert code in {ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE}


def test_an_unknown_codec_is_unsupported() -> None:
    header = read_header(build_batch(some(3)))._replace(attributes=6)
    assert invalid(seal(header, b"abc")) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("codec", Codec)
@settings(deadline=None, max_examples=25)
@given(st.sets(st.integers(0, 39), min_size=1), st.none() | st.integers(0, 2 * NOW_MS))
def test_compaction_keeps_offsets_times_and_producer(
    codec: Codec, kept: set[int], horizon: int | None
) -> None:
    before = some(40, first=500)
    batch = build_batch(before, codec=codec, producer_id=9, producer_epoch=2, base_sequence=70)
    header, data, places = opened(batch)
    rebuilt = rebuild(header, data, [places[i] for i in sorted(kept)], delete_horizon_ms=horizon)
    after = check(rebuilt)
    remaining = [before[i] for i in sorted(kept)]
    assert read_records(rebuilt, LIMIT) == remaining
    assert after == header._replace(
        length=after.length,
        crc=after.crc,
        attributes=header.attributes | (0 if horizon is None else 0x40),
        base_timestamp=NOW_MS if horizon is None else horizon,
        max_timestamp=max(each.timestamp for each in remaining),
        record_count=len(kept),
    )
    assert after.delete_horizon_ms == horizon


def test_compaction_that_keeps_all_changes_no_byte() -> None:
    batch = build_batch(some(40))
    assert rebuild(*opened(batch)) == batch


def test_a_delete_horizon_once_set_stays() -> None:
    before = some(10)
    once = rebuild(*opened(build_batch(before)), delete_horizon_ms=NOW_MS + 5_000)
    header, data, places = opened(once)
    twice = rebuild(header, data, places[5:], delete_horizon_ms=NOW_MS + 9_000)
    assert check(twice).delete_horizon_ms == NOW_MS + 5_000
    assert read_records(twice, LIMIT) == before[5:]


def test_compaction_may_change_the_codec() -> None:
    before = some(30)
    rebuilt = rebuild(*opened(build_batch(before, codec=Codec.GZIP)), codec=Codec.ZSTD, level=5)
    assert check(rebuilt).codec == Codec.ZSTD
    assert read_records(rebuilt, LIMIT) == before


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_without_records_still_tells_its_offsets_and_producer(codec: Codec) -> None:
    batch = build_batch(some(5, first=40), codec=codec, producer_id=9, base_sequence=70)
    header, data, _ = opened(batch)
    empty = rebuild(header, data, [])
    after = check(empty)
    assert len(empty) == 61
    assert (after.base_offset, after.last_offset, after.record_count) == (40, 44, 0)
    assert (after.producer_id, after.last_sequence) == (9, 74)
    assert (after.codec, after.max_timestamp) == (Codec.NONE, header.max_timestamp)
    assert read_records(empty, LIMIT) == []


def test_an_empty_batch_that_names_a_codec_is_opened_too() -> None:
    header = check(build_batch(some(5), codec=Codec.ZSTD))._replace(record_count=0)
    assert read_records(seal(header, b""), LIMIT) == []


def test_append_time_survives_compaction() -> None:
    header, data, places = opened(build_batch(some(10), append_time_ms=NOW_MS + 99))
    rebuilt = rebuild(header, data, places[2:3], delete_horizon_ms=NOW_MS + 1_000)
    assert [each.timestamp for each in read_records(rebuilt, LIMIT)] == [NOW_MS + 99]


@pytest.mark.parametrize("commit", [True, False])
def test_the_end_of_a_transaction_is_read_back(commit: bool) -> None:
    batch = end_marker(77, 5, commit=commit, coordinator_epoch=12, timestamp_ms=NOW_MS)
    header = check(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.record_count, header.base_sequence, header.max_timestamp) == (1, -1, NOW_MS)
    assert read_marker(batch) == Marker(77, 5, commit, 12)


def test_a_marker_is_laid_out_as_kafka_does() -> None:
    batch = end_marker(77, 5, commit=True, coordinator_epoch=12, timestamp_ms=NOW_MS)
    [marker] = read_records(batch, LIMIT)
    assert (marker.key, marker.value) == (b"\0\0\0\1", b"\0\0\0\0\0\x0c")


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"\0\0\0", bytes(6)), (b"\0\0\0\2", bytes(6)), (b"\0\0\0\1", bytes(5)), (None, None)],
)
def test_another_control_record_is_no_marker(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(Malformed):
        read_marker(build_batch([Record(0, NOW_MS, key, value)], control=True))


def test_an_ordinary_batch_is_no_marker() -> None:
    with pytest.raises(Malformed):
        read_marker(build_batch([Record(0, NOW_MS, b"\0\0\0\1", bytes(6))]))


def test_a_marker_of_a_later_version_may_say_more() -> None:
    record = Record(0, NOW_MS, b"\0\1\0\0more", b"\0\1\0\0\0\x0cmore")
    batch = build_batch([record], control=True, producer_id=1, producer_epoch=0)
    assert read_marker(batch) == Marker(1, 0, False, 12)


@pytest.mark.parametrize("slice_", [1, 2, 3, 10, 4096])
def test_records_are_gone_through_some_at_a_time(
    monkeypatch: pytest.MonkeyPatch, slice_: int
) -> None:
    """Compiled code does not let go of the interpreter, so it must come back now and then."""
    asked: list[int] = []

    def noted(cursor: Cursor, keyed: bool, most: int) -> int:
        asked.append(most)
        return verify(cursor, keyed, most)

    monkeypatch.setattr(batch_builder, "RECORDS_A_SLICE", slice_)
    monkeypatch.setattr(batch_builder, "verify", noted)
    records = [Record(n, 1000 + n * 7 % 10, b"k%d" % n, b"v") for n in range(10)]
    batch = build_batch(records)
    assert check_records(batch, 10_000, keyed=True) == 1009
    assert set(asked) == {slice_}
    header, data = read_header(batch), records_of(batch, 10_000)
    kept = [span for found in sliced_spans(data, 10) for span in found]
    assert [span.key for span in kept] == [each.key for each in records]
    assert read_records(rebuild(header, data, kept[::2]), 10_000) == records[::2]
