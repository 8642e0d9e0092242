"""Batches with some of their records left out, read by us and by other clients' own readers."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from aiokafka.record import default_records as aiokafka_c
from aiokafka.record.default_records import _DefaultRecordBatchPy
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ErrorCode, Malformed, Refused
from penstock.predicate.predicate import parse
from penstock.wire.batch import CONTROL, HEADER_SIZE, check, read_header, seal
from penstock.wire.batch_builder import build_batch, end_marker, read_marker, read_records, rebuild
from penstock.wire.choosing import Verdicts
from penstock.wire.compression import Codec
from penstock.wire.narrowing import Narrowing, narrowed, opened, spanning
from penstock.wire.records import Record

with warnings.catch_warnings():  # it reads its schemas by a call that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record import default_records as kafka_python

LIMIT = 1 << 20
NOW_MS = 1_794_830_400_000
REGIONS = (b"eu", b"us", b"cn")
EUROPE = parse("region = 'eu'")
READERS: dict[str, Any] = {
    "kafka-python": kafka_python.DefaultRecordBatch,
    "aiokafka": aiokafka_c.DefaultRecordBatch,
    "aiokafka in Python": _DefaultRecordBatchPy,
}


def some(count: int, first: int = 1_000) -> list[Record]:
    """Every third is of Europe; the newest time is of one that is not."""
    return [
        Record(
            first + i,
            NOW_MS + (i * 37) % 11,
            b"k%d" % i,
            b"v" * i if i % 5 else None,
            ((b"n", b"%d" % i), (b"region", REGIONS[i % 3])),
        )
        for i in range(count)
    ]


def built(codec: int = Codec.NONE, **more: Any) -> bytes:
    return bytes(
        build_batch(
            some(50),
            codec=codec,
            producer_id=9,
            producer_epoch=2,
            base_sequence=70,
            transactional=True,
            leader_epoch=4,
            **more,
        )
    )


def narrowed_to(batch: bytes, text: str) -> Any:
    return narrowed(batch, parse(text), {}, LIMIT)


@pytest.mark.parametrize("codec", Codec)
def test_what_is_left_are_the_records_that_match_in_a_batch_that_is_otherwise_the_same(
    codec: Codec,
) -> None:
    batch = built(codec)
    left = narrowed(batch, EUROPE, {}, LIMIT)
    assert left is not None
    before, after = check(batch), check(left)
    expected = [each for each in some(50) if (b"region", b"eu") in each.headers]
    assert read_records(left, LIMIT) == expected
    assert after.codec == Codec.NONE
    same = before._replace(
        length=after.length, crc=after.crc, attributes=after.attributes, record_count=len(expected)
    )
    assert after == same
    assert after.attributes == before.attributes & ~0x07
    assert (after.last_offset_delta, after.last_sequence) == (49, 119)


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_of_nothing_but_matches_is_given_back_itself(codec: Codec) -> None:
    batch = built(codec)
    assert narrowed_to(batch, "region in ('eu', 'us', 'cn')") is batch


@pytest.mark.parametrize("codec", Codec)
def test_of_a_batch_without_a_match_nothing_is_left(codec: Codec) -> None:
    assert narrowed_to(built(codec), "region = 'mars'") is None


def test_of_a_batch_that_compaction_has_emptied_nothing_is_left() -> None:
    batch = built()
    assert narrowed_to(bytes(rebuild(read_header(batch), b"", ())), "region is null") is None


def test_a_batch_with_gaps_is_narrowed_further() -> None:
    first = narrowed_to(built(), "region = 'eu' or region = 'us'")
    again = narrowed_to(bytes(first), "region = 'us' and n > 30")
    assert [each.offset for each in read_records(again, LIMIT)] == list(range(1_031, 1_050, 3))
    assert check(again).next_offset == 1_050


def test_control_batches_are_given_back_whatever_is_asked() -> None:
    marker = end_marker(9, 2, commit=True, coordinator_epoch=0, timestamp_ms=NOW_MS)
    assert narrowed(marker, EUROPE, {}, LIMIT) is marker


def test_key_and_time_are_those_that_a_consumer_sees() -> None:
    batch = built()
    for text in ("key = 'k7'", f"timestamp = {NOW_MS + 7 * 37 % 11} and n = 7"):
        assert [each.offset for each in read_records(narrowed_to(batch, text), LIMIT)] == [1_007]
    stamped = built(append_time_ms=NOW_MS + 500)
    assert narrowed_to(stamped, f"timestamp = {NOW_MS + 500}") is stamped
    assert narrowed_to(stamped, f"timestamp < {NOW_MS + 500}") is None


@pytest.mark.parametrize("base_ms", [2**63 - 6, -(2**63)])
def test_times_that_are_far_away_match_as_they_are_read(base_ms: int) -> None:
    batch = built()
    far = bytes(seal(read_header(batch)._replace(base_timestamp=base_ms), batch[HEADER_SIZE:]))
    for wanted in {each.timestamp for each in read_records(far, LIMIT)}:
        left = narrowed_to(far, f"timestamp = {wanted}")
        expected = [each for each in read_records(far, LIMIT) if each.timestamp == wanted]
        assert read_records(left, LIMIT) == expected


def test_bytes_that_have_changed_get_no_new_checksum() -> None:
    batch = bytearray(built())
    batch[-1] ^= 1
    with pytest.raises(Refused) as caught:
        narrowed(batch, EUROPE, {}, LIMIT)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", Codec)
def test_what_would_take_too_much_memory_is_refused(codec: Codec) -> None:
    with pytest.raises(Refused) as caught:
        narrowed(built(codec), EUROPE, {}, 100)
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_records_that_are_none_are_malformed() -> None:
    batch = built()
    wrong = seal(read_header(batch)._replace(record_count=51), batch[HEADER_SIZE:])
    with pytest.raises(Malformed):
        narrowed(wrong, EUROPE, {}, LIMIT)


def test_a_long_batch_can_be_gone_through_in_steps() -> None:
    batch = built()
    narrowing = Narrowing(opened(batch, LIMIT), EUROPE, {})
    steps = 1
    while not narrowing.go_on(7):
        steps += 1
    assert steps == 50 // 7 + 1
    assert narrowing.result() == narrowed(batch, EUROPE, {}, LIMIT)


def test_verdicts_serve_one_batch_after_the_other() -> None:
    verdicts: Verdicts = {}
    first = narrowed(built(), EUROPE, verdicts, LIMIT)
    assert set(verdicts) == set(REGIONS)
    assert narrowed(built(), EUROPE, verdicts, LIMIT) == first
    assert len(verdicts) == 3


QUESTIONS = [
    "region = 'eu' and n between 5 and 40",
    "region = 'eu' or key like 'k1%'",
    f"timestamp > {NOW_MS + 5} and not region = 'us'",
    "n in (1, 2, 3) and timestamp is not null",
    "key is null",
]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(QUESTIONS), st.integers(1, 120), st.sampled_from(Codec))
def test_what_is_left_is_what_judging_each_record_leaves(
    text: str, count: int, codec: Codec
) -> None:
    predicate = parse(text)
    batch = bytes(build_batch(some(count), codec=codec))
    expected = [
        each
        for each in some(count)
        if predicate.judge(
            each.key, each.timestamp, tuple(dict(each.headers)[name] for name in predicate.names)
        )
    ]
    left = narrowed(batch, predicate, {}, LIMIT)
    assert (read_records(left, LIMIT) if left is not None else []) == expected


@pytest.mark.parametrize("reader", READERS)
def test_other_clients_read_what_is_left(reader: str) -> None:
    left = narrowed(built(Codec.GZIP), EUROPE, {}, LIMIT)
    assert left is not None
    theirs = READERS[reader](bytes(left))
    assert theirs.validate_crc()
    assert theirs.next_offset == 1_050
    expected = [(each.offset, each.timestamp, each.key, each.value) for each in some(50)[::3]]
    assert [(each.offset, each.timestamp, each.key, each.value) for each in theirs] == expected


def test_a_spanning_batch_covers_its_offsets_and_has_nothing_for_readers() -> None:
    batch = spanning(1_000, 1_999, 4, NOW_MS)
    header = check(batch)
    assert (header.base_offset, header.last_offset, header.next_offset) == (1_000, 1_999, 2_000)
    assert (header.leader_epoch, header.attributes, header.record_count) == (4, CONTROL, 1)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert (header.base_timestamp, header.max_timestamp) == (NOW_MS, NOW_MS)
    (record,) = read_records(batch, LIMIT)
    assert (record.offset, record.timestamp) == (1_999, NOW_MS)
    assert read_marker(batch).is_commit


@pytest.mark.parametrize("reader", READERS)
def test_other_clients_go_on_behind_a_spanning_batch(reader: str) -> None:
    theirs = READERS[reader](bytes(spanning(1_000, 1_999, 4, NOW_MS)))
    assert theirs.validate_crc()
    assert theirs.next_offset == 2_000
    assert theirs.is_control_batch
    assert [each.offset for each in theirs] == [1_999]


@pytest.mark.parametrize(("first", "last"), [(5, 4), (0, 2**31)])
def test_what_no_batch_can_span_is_a_mistake(first: int, last: int) -> None:
    with pytest.raises(ValueError, match=f"from {first} to {last}"):
        spanning(first, last, 0, NOW_MS)
