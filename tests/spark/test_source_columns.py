"""Batches as they arrive become Arrow batches with the same records, whatever is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.client.errors import ClientError
from penstock.client.ranges import Range
from penstock.client.reader import Arrived
from penstock.spark.source import columns
from penstock.spark.source.columns import ARROW, ARROW_WITH_HEADERS, Rows
from penstock.wire.batch import HEADER_SIZE, read_header, seal
from penstock.wire.batch_builder import build_batch, read_records
from penstock.wire.compression import Codec
from penstock.wire.records import Record

END = 1 << 40
TIME_MS_MAX = (2**63 - 1) // 1000
payloads = st.none() | st.binary(max_size=60)
names = st.text(max_size=5).map(str.encode)
tags = st.lists(st.tuples(names, payloads), max_size=2).map(tuple)
times = st.integers(-(2**61) + 1, 2**61 - 1) | st.integers(0, 5) | st.just(0)
fields = st.tuples(times, payloads, payloads, tags, st.sampled_from([1, 1, 1, 40]))
batches = st.tuples(
    st.lists(fields, min_size=1, max_size=12),
    st.sampled_from(Codec),
    st.none() | st.just(12345),
)


def place(start: int = 0, end: int = END) -> Range:
    return Range("orders", b"", 3, start, end)


def built(described: Sequence[Any]) -> list[bytearray]:
    """Batches of records whose offsets go on, here and there with a gap."""
    found, offset = [], 0
    for each, codec, append_time_ms in described:
        held = []
        for time_ms, key, value, headers, step in each:
            held.append(Record(offset, time_ms, key, value, headers))
            offset += step
        found.append(build_batch(held, codec=codec, append_time_ms=append_time_ms))
    return found


def arrived(made: Sequence[bytearray], answers: int = 1, start: int = 0) -> Iterator[Arrived]:
    """As they lie in so many answers."""
    share = max(1, -(-len(made) // answers))
    for first in range(0, len(made), share):
        held = made[first : first + share]
        received = memoryview(b"??" + b"".join(held))
        at = 2
        for each in held:
            data = received[at : at + len(each)]
            yield Arrived(3, read_header(data), data, start)
            at += len(each)


def expected(made: Sequence[bytearray], start: int, end: int) -> list[dict[str, Any]]:
    return [
        {
            "key": each.key,
            "value": each.value,
            "topic": "orders",
            "partition": 3,
            "offset": each.offset,
            "timestamp": 1000 * max(-TIME_MS_MAX, min(TIME_MS_MAX, each.timestamp)),
            "timestampType": int(read_header(batch).has_log_append_time),
            "headers": [{"key": n.decode(), "value": v} for n, v in each.headers] or None,
        }
        for batch in made
        for each in read_records(batch, 1 << 20)
        if start <= each.offset < end
    ]


def told(found: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    """With times as numbers: not all of them are dates to Python."""
    rows = []
    for each in found:
        each.validate(full=True)
        at = each.schema.get_field_index("timestamp")
        rows += each.set_column(at, "timestamp", each.column(at).cast(pa.int64())).to_pylist()
    return rows


@settings(deadline=None, max_examples=150)
@given(
    st.lists(batches, max_size=6),
    st.integers(1, 3),
    st.integers(0, 30),
    st.integers(0, 200) | st.just(END),
    st.sampled_from([1, 300, 1 << 20]),
)
def test_rows_are_the_records_that_lie_between_two_offsets(
    described: list[Any], answers: int, start: int, end: int, enough: int
) -> None:
    made = built(described)
    with patch.object(columns, "ENOUGH_BYTES", enough):
        rows = Rows(place(start, end), with_headers=True)
        found = list(rows.batches(arrived(made, answers, start)))
    assert all(each.schema == ARROW_WITH_HEADERS for each in found)
    assert told(found) == expected(made, start, end)


def test_headers_are_left_out_where_nobody_asks_for_them() -> None:
    made = built([([(0, b"k", b"v", ((b"a", b"b"),), 1)], Codec.NONE, None)])
    (found,) = Rows(place(), with_headers=False).batches(arrived(made))
    assert found.schema == ARROW


def test_an_arrow_batch_is_bounded_by_its_rows_its_bytes_and_what_it_was_gathered_from() -> None:
    made = built([([(0, b"k", bytes(100), (), 1)] * 10, Codec.NONE, None)] * 30)

    def sizes(name: str, most: int) -> list[int]:
        with patch.object(columns, name, most):
            rows = Rows(place(), with_headers=False)
            return [each.num_rows for each in rows.batches(arrived(made, 30))]

    assert sizes("ROWS_MAX", 40) == [40] * 7 + [20]
    assert sizes("ENOUGH_BYTES", 2000) == [20] * 15
    assert sizes("DATA_BYTES_MAX", 3000) == [30] * 10
    rows = Rows(place(), with_headers=False, bytes_max=4000)
    assert [each.num_rows for each in rows.batches(arrived(made, 30))] == [40] * 7 + [20]


def test_answers_in_which_nothing_is_wanted_leave_nothing_behind() -> None:
    made = built([([(0, b"k", b"v", (), 1)] * 10, Codec.NONE, None)] * 5)
    with patch.object(columns, "DATA_BYTES_MAX", 1):
        rows = Rows(place(45, 47), with_headers=True)
        found = list(rows.batches(arrived(made, 5, 45)))
    assert [each["offset"] for each in told(found)] == [45, 46]


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_whose_records_are_damaged_is_an_error_that_names_it(codec: Codec) -> None:
    whole = built([([(0, b"k", b"v", (), 1)] * 3, codec, None)] * 2)
    header = read_header(whole[1])
    cut = seal(header._replace(record_count=4), whole[1][HEADER_SIZE:])
    rows = Rows(place(), with_headers=True)
    with pytest.raises(ClientError, match=r"orders-3 .*offset 3 is damaged"):
        list(rows.batches(arrived([whole[0], cut])))
