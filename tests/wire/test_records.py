"""The record walker, in both of its forms: what the compiled one does, the source does too."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import Malformed
from penstock.wire import records as installed


@cache
def load_source() -> Any:
    path = Path(str(installed.__file__)).parent / "records.py"
    spec = importlib.util.spec_from_file_location("records_as_source", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=["compiled", "pure"])
def records(request: pytest.FixtureRequest) -> Any:
    if request.param == "pure":
        source = load_source()
        assert not source.COMPILED
        assert source.walk.__class__.__name__ == "function"
        return source
    if not installed.COMPILED:
        pytest.skip("records.py was not compiled here: no C compiler, or PENSTOCK_PURE=1")
    assert installed.walk.__class__.__name__ == "builtin_function_or_method"
    return installed


def zigzag(number: int) -> bytes:
    """Written apart from the code under test."""
    raw = number * 2 if number >= 0 else -number * 2 - 1
    out = []
    while raw > 127:
        out.append(raw % 128 + 128)
        raw //= 128
    return bytes([*out, raw])


def one(*parts: bytes) -> bytes:
    """A record of these parts, attributes and length put before them."""
    body = b"\x00" + b"".join(parts)
    return zigzag(len(body)) + body


NULL = zigzag(-1)
NOTHING = zigzag(0)
PLAIN = (NOTHING, NOTHING, zigzag(1), b"k", zigzag(2), b"vv", NOTHING)

payloads = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.binary(max_size=10), payloads), max_size=4).map(tuple)
moments = st.integers(-(2**61) + 1, 2**61 - 1) | st.integers(-3, 300)
"""Any two of them are closer than what a reader takes for a delta."""
fields = st.lists(st.tuples(moments, payloads, payloads, headers), max_size=20)
gaps = st.lists(st.integers(1, 3000), min_size=20, max_size=20)


def made(records: Any, described: list[Any], steps: list[int], base_offset: int = 0) -> list[Any]:
    offset = base_offset
    found = []
    for (timestamp, key, value, tags), step in zip(described, steps, strict=False):
        found.append(records.Record(offset, timestamp, key, value, tags))
        offset += step
    return found


@settings(deadline=None, max_examples=150)
@given(fields, gaps, st.integers(0, 2**62 - 1 - 60_000), moments)
def test_what_is_written_is_read_back(
    records: Any, described: list[Any], steps: list[int], base_offset: int, base_timestamp: int
) -> None:
    before = made(records, described, steps, base_offset)
    data = records.encode(before, base_offset, base_timestamp)
    assert records.walk(data, len(before), base_offset, base_timestamp) == before
    assert records.pairs(data, len(before)) == [(each.key, each.value) for each in before]


@settings(deadline=None, max_examples=100)
@given(fields, gaps, st.integers(-(2**60), 2**60), st.data())
def test_gathered_spans_read_as_the_records_they_were(
    records: Any, described: list[Any], steps: list[int], shift: int, data: st.DataObject
) -> None:
    before = made(records, described, steps)
    section = records.encode(before, 0, 0)
    kept = sorted(data.draw(st.sets(st.sampled_from(range(len(before))))) if before else [])
    places = records.spans(records.Cursor(section, len(before)))
    chosen = [places[i] for i in kept]
    expected = [before[i] for i in kept]
    assert records.walk(records.gather(section, chosen), len(kept)) == expected
    shifted = records.gather(section, chosen, shift)
    assert records.walk(shifted, len(kept), 0, -shift) == expected


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=60), st.integers(0, 5))
def test_both_forms_judge_any_bytes_alike(data: bytes, count: int) -> None:
    assert verdict(installed, data, count) == verdict(load_source(), data, count)


@settings(deadline=None, max_examples=150)
@given(fields, gaps, st.data())
def test_both_forms_judge_damaged_records_alike(
    described: list[Any], steps: list[int], data: st.DataObject
) -> None:
    before = made(installed, described, steps)
    section = bytearray(installed.encode(before, 0, 0))
    if section:
        section[data.draw(st.integers(0, len(section) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(section)
    assert verdict(installed, damaged, len(before)) == verdict(load_source(), damaged, len(before))


def verdict(records: Any, data: bytes, count: int) -> str:
    try:
        return repr(records.walk(data, count))
    except Malformed as error:
        return str(error)


def test_a_record_is_read_as_the_protocol_lays_it_out(records: Any) -> None:
    tags = (zigzag(2), zigzag(1), b"a", NULL, NOTHING, zigzag(3), b"xyz")
    data = one(zigzag(-300), zigzag(7), NULL, zigzag(5), b"value", *tags)
    found = records.walk(data, 1, 100, 1_000)
    assert found == [records.Record(107, 700, None, b"value", ((b"a", None), (b"", b"xyz")))]


def test_a_null_is_not_an_empty_field(records: Any) -> None:
    data = records.encode([records.Record(0, 0, None, b""), records.Record(1, 0, b"", None)], 0, 0)
    assert [(r.key, r.value) for r in records.walk(data, 2)] == [(None, b""), (b"", None)]


def test_a_span_covers_its_record_and_knows_key_and_tombstone(records: Any) -> None:
    first, second = one(*PLAIN), one(zigzag(9), zigzag(4), zigzag(1), b"q", NULL, NOTHING)
    places = records.spans(records.Cursor(first + second, 2))
    assert [(s.start, s.end) for s in places] == [
        (0, len(first)),
        (len(first), len(first) + len(second)),
    ]
    assert [(s.offset_delta, s.timestamp_delta) for s in places] == [(0, 0), (4, 9)]
    assert [(s.key, s.has_value) for s in places] == [(b"k", True), (b"q", False)]


def test_records_with_equal_fields_are_equal_and_hash_alike(records: Any) -> None:
    one_record = records.Record(1, 2, b"k", None, ((b"h", b"v"),))
    same = records.Record(1, 2, b"k", None, ((b"h", b"v"),))
    assert one_record == same
    assert hash(one_record) == hash(same)
    assert one_record != records.Record(1, 2, b"k", b"")
    assert one_record != "another thing"
    assert repr(one_record) == "Record(1, 2, b'k', None, ((b'h', b'v'),))"


@settings(deadline=None, max_examples=20)
@given(fields.filter(bool), gaps)
def test_a_section_cut_anywhere_is_malformed(
    records: Any, described: list[Any], steps: list[int]
) -> None:
    before = made(records, described[:3], steps)
    section = records.encode(before, 0, 0)
    for end in range(len(section)):
        with pytest.raises(Malformed):
            records.walk(section[:end], len(before))
        with pytest.raises(Malformed):
            records.spans(records.Cursor(section[:end], len(before)))
        with pytest.raises(Malformed):
            records.verify(records.Cursor(section[:end], len(before)))


HUGE = zigzag(2**31 - 1)
ENDS = "the data ends within the record"
LONG = "too long or too large"


def headed(*parts: bytes) -> bytes:
    """A record without key and value, with headers as told."""
    return one(NOTHING, NOTHING, NULL, NULL, *parts)


WRONG = {
    "no length": (b"", 1, ENDS),
    "an empty record": (b"\x00", 1, ENDS),
    "a negative length": (zigzag(-5) + bytes(20), 1, "ends at 7 and said -4"),
    "a length past the data": (zigzag(60) + one(*PLAIN)[1:], 1, "ends at 10 and said 61"),
    "the largest length": (HUGE + one(*PLAIN)[1:], 1, "ends at 14 and said 2147483652"),
    "a length short of its fields": (zigzag(4) + one(*PLAIN)[1:], 1, "ends at 10 and said 5"),
    "bytes left over in a record": (one(*PLAIN, b"x"), 1, "ends at 10 and said 11"),
    "bytes after the last record": (one(*PLAIN) + b"x", 1, "1 bytes after the last record"),
    "fewer records than said": (one(*PLAIN), 2, "within the record at 10"),
    "a negative count": (one(*PLAIN), -1, "a batch of -1 records"),
    "a key of length -2": (one(NOTHING * 2, zigzag(-2), NOTHING * 2), 1, "a key of -2 bytes"),
    "a value of length -2": (one(NOTHING * 3, zigzag(-2), NOTHING), 1, "a value of -2 bytes"),
    "a huge key": (one(NOTHING * 2, HUGE, NOTHING * 2), 1, ENDS),
    "a huge value": (one(NOTHING * 3, HUGE, NOTHING), 1, ENDS),
    "a value past its record": (
        one(NOTHING * 3, zigzag(3), NOTHING) + one(*PLAIN),
        2,
        "the record at 0 ends at 10 and said 7",
    ),
    "a negative count of headers": (headed(zigzag(-1)), 1, "-1 headers"),
    "a huge count of headers": (headed(HUGE), 1, ENDS),
    "a header without a key": (headed(zigzag(1), NULL, NULL), 1, "a header without a key"),
    "a huge header key": (headed(zigzag(1), HUGE, NULL), 1, ENDS),
    "a header of length -2": (headed(zigzag(1), NOTHING, zigzag(-2)), 1, "a header of -2 bytes"),
    "a last header past the data": (
        zigzag(13) + headed(zigzag(1), NOTHING, zigzag(5), b"x")[1:],
        1,
        "ends at 14 and said 14, of 10",
    ),
    "an offset that repeats": (one(*PLAIN) * 2, 2, "offset delta 0 comes after 0"),
    "a negative offset": (one(NOTHING, zigzag(-1), NULL * 2, NOTHING), 1, "offset delta -1"),
    "an offset past 31 bits": (
        one(NOTHING, zigzag(2**31), NULL * 2, NOTHING),
        1,
        "offset delta 2147483648",
    ),
    "a varint of six bytes": (one(NOTHING, b"\x80" * 5 + b"\x00", NULL * 2, NOTHING), 1, LONG),
    "a varlong of eleven bytes": (one(b"\x80" * 10 + b"\x00", NOTHING, NULL * 2, NOTHING), 1, LONG),
    "a varlong of 65 bits": (one(b"\x80" * 9 + b"\x02", NOTHING, NULL * 2, NOTHING), 1, LONG),
    "a varint without an end": (b"\xff" * 50, 1, LONG),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_bytes_are_malformed_and_the_text_says_how(records: Any, what: str) -> None:
    data, count, text = WRONG[what]
    with pytest.raises(Malformed, match=text):
        records.walk(data, count)
    for look in (records.spans, records.verify):
        with pytest.raises(Malformed, match=text):
            look(records.Cursor(data, count))


@pytest.mark.parametrize("delta", [2**62, 2**63 - 1, -(2**62), -(2**63)])
@pytest.mark.parametrize("base", [0, 1, -1, 1 - 2**62, 2**62 - 1])
def test_times_however_far_apart_are_read_and_neither_taken_nor_made_anew(
    records: Any, delta: int, base: int
) -> None:
    data = one(zigzag(delta), NOTHING, NULL * 2, NOTHING)
    expected = max(1 - 2**63, min(2**63 - 1, base + delta))
    assert [each.timestamp for each in records.walk(data, 1, 0, base)] == [expected]
    for look in (records.spans, records.verify):
        with pytest.raises(Malformed, match=r"a timestamp -?[0-9]+ ms away"):
            look(records.Cursor(data, 1))


def test_bases_that_could_overflow_are_malformed(records: Any) -> None:
    data = one(*PLAIN)
    for base in (2**63 - 1, -(2**63)):
        with pytest.raises(Malformed):
            records.walk(data, 1, 0, base)
        with pytest.raises(Malformed):
            records.gather(data, records.spans(records.Cursor(data, 1)), base)
    with pytest.raises(Malformed):
        records.walk(data, 1, 2**63 - 1)


def test_a_shift_out_of_range_is_malformed(records: Any) -> None:
    data = one(zigzag(2**62 - 1), NOTHING, NULL, NULL, NOTHING)
    with pytest.raises(Malformed):
        records.gather(data, records.spans(records.Cursor(data, 1)), 1)


def test_a_timestamp_out_of_range_is_not_written(records: Any) -> None:
    with pytest.raises(ValueError, match="timestamp"):
        records.encode([records.Record(0, 2**63 - 1, None, None)], 0, 0)


def test_producers_number_their_records_without_gaps(records: Any) -> None:
    dense = [records.Record(i, i * 5 % 37, b"k", b"v") for i in range(200)]
    assert records.verify(records.Cursor(records.encode(dense, 0, 0), 200)) == 36
    with pytest.raises(Malformed, match="offset delta"):
        records.verify(records.Cursor(records.encode(dense[::2], 0, 0), 100))
    with pytest.raises(Malformed, match="offset delta"):
        records.verify(records.Cursor(records.encode(dense[1:], 0, 0), 199))


def test_the_largest_timestamp_may_lie_before_the_base(records: Any) -> None:
    data = records.encode([records.Record(0, -70, None, None)], 0, 0)
    assert records.verify(records.Cursor(data, 1)) == -70


def test_a_keyed_topic_asks_for_keys(records: Any) -> None:
    data = records.encode([records.Record(0, 0, b"", b"v"), records.Record(1, 0, None, b"v")], 0, 0)
    records.verify(records.Cursor(data, 2))
    with pytest.raises(Malformed, match="no key"):
        records.verify(records.Cursor(data, 2), True)


def test_no_record_in_no_bytes_is_whole(records: Any) -> None:
    assert records.walk(b"", 0) == []
    assert records.spans(records.Cursor(b"", 0)) == []
    assert records.encode([], 0, 0) == b""
    assert records.gather(b"", []) == b""


@pytest.mark.parametrize("most", [1, 3, 7, 10, 11, 1000])
def test_records_that_are_gone_through_some_at_a_time_are_the_same(records: Any, most: int) -> None:
    numbered = [records.Record(n, 50 - n * 7 % 10, b"k%d" % n, b"v") for n in range(10)]
    data = records.encode(numbered, 0, 0)
    cursor, largest, keys = records.Cursor(data, 10), [], []
    while not cursor.is_done:
        largest.append(records.verify(cursor, True, most))
    assert max(largest) == 50
    cursor = records.Cursor(data, 10)
    while not cursor.is_done:
        found = records.spans(cursor, most)
        assert len(found) <= most
        keys += [span.key for span in found]
    assert keys == [each.key for each in numbered]


def test_what_is_wrong_in_a_later_slice_is_found_too(records: Any) -> None:
    numbered = [records.Record(n, 0, b"k" if n != 8 else None, b"v") for n in range(10)]
    data = records.encode(numbered, 0, 0)
    cursor = records.Cursor(data + b"x", 10)
    records.verify(cursor, False, 10)
    with pytest.raises(Malformed, match="1 bytes after"):
        records.verify(cursor, False, 10)
    cursor = records.Cursor(data, 10)
    records.verify(cursor, True, 8)
    with pytest.raises(Malformed, match="record 8 has no key"):
        records.verify(cursor, True, 8)
