"""Predicates asked of records, against what they mean when told the slow way."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.predicate.reference import chances, meant, records, spelled, trees

from penstock.predicate.predicate import Predicate, parse

NOON_MS = 1_794_830_400_000


def asked(
    predicate: Predicate, key: bytes | None = None, timestamp: int = 0, **headers: bytes | None
) -> bool:
    values = tuple(headers.get(name.decode()) for name in predicate.names)
    return predicate.judge(key, timestamp, values)


@settings(deadline=None, max_examples=200)
@given(trees, st.lists(records, min_size=1, max_size=8), chances)
def test_a_record_matches_where_the_whole_is_true(
    tree: Any, some: list[Any], chance: Random
) -> None:
    predicate = parse(spelled(tree, chance))
    for key, timestamp, headers in some:
        values = tuple(headers[name.decode()] for name in predicate.names)
        expected = meant(tree, key, timestamp, headers) is True
        assert predicate.judge(key, timestamp, values) is expected
        assert predicate.settle(values) in (expected, None)


@settings(deadline=None, max_examples=100)
@given(trees, records, chances)
def test_what_headers_alone_decide_is_settled_by_them(
    tree: Any, record: Any, chance: Random
) -> None:
    predicate = parse(spelled(tree, chance))
    key, timestamp, headers = record
    values = tuple(headers[name.decode()] for name in predicate.names)
    if not predicate.uses_key and not predicate.uses_timestamp:
        assert predicate.settle(values) is (meant(tree, key, timestamp, headers) is True)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("n = 0.1", b"0.10", True),
        ("n = 9007199254740993", b"9007199254740992", False),
        ("n != 9007199254740993", b"9007199254740992", True),
        ("n > 0.1", b"0.1000000000000000000000000000000000001", True),
        ("n < 1", b"0." + b"9" * 38, True),
        ("n < 1", b"0." + b"9" * 39, False),  # more than 40 bytes are no number
        ("n != 1", b"one", False),
        ("n != 1", b"1e3", False),
        ("n != 1", b" 2", False),
        ("n != 1", b"2\n", False),
        ("n != 1", "٢".encode(), False),
        ("not n = 1", b"one", False),
        ("n = 1 or n = 'one'", b"one", True),
        ("n in (1, 'one')", b"one", True),
        ("n not in (1, 'two')", b"one", False),
        ("n in (1, 2.5)", b"+2.50", True),
        ("n = -0", b"0", True),
        ("n < 'b'", b"a\xff", True),
        ("n > 'é'", b"\xff", True),
        ("n between 1 and 3", b"3.0", True),
        ("n not between 1 and 3", b"3.01", True),
        ("n between 3 and 1", b"2", False),
        ("n between '1' and 5", b"x", False),
        ("n not between 'y' and 5", b"x", True),  # it is below 'y', whatever it is to 5
        ("n is null", None, True),
        ("n is not null", b"", True),
        ("n = ''", None, False),
        ("n != ''", None, False),
        ("not n != ''", None, False),
    ],
)
def test_values_compare_as_text_or_as_exact_numbers(
    text: str, value: bytes | None, expected: bool
) -> None:
    assert asked(parse(text), n=value) is expected


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("abc", b"abc", True),
        ("abc", b"abcd", False),
        ("", b"", True),
        ("%", b"", True),
        ("_", "ü".encode(), True),
        ("_", "🜁".encode(), True),
        ("__", "🜁".encode(), False),
        ("%__", "🜁".encode(), False),
        ("_", b"\xff", True),
        ("_", b"\n", True),
        ("a%c", b"a\nbc", True),
        ("ab%bc", b"abc", False),
        ("%ab%ab%", b"ab-ab", True),
        ("%ab%ab%", b"aab", False),
        (r"50\%", b"50%", True),
        (r"50\%", b"500", False),
        (r"a\_b", b"a_b", True),
        (r"a\_b", b"axb", False),
        (r"a\\%", b"a\\b", True),
        ("a.c", b"abc", False),
        ("_.c", b"abc", False),
        ("_b%_b%b_", b"abxabxba", True),
        ("_b%_b%b_", b"abxabxb", False),
        ("%\xe9%", b"\xc3\xa9", True),
        ("%\xe9_%", b"\xc3\xa9", False),
    ],
)
def test_like(pattern: str, value: bytes, expected: bool) -> None:
    assert asked(parse(f"key like '{pattern}'"), value) is expected
    assert asked(parse(f"key not like '{pattern}'"), value) is not expected
    assert asked(parse(f"key not like '{pattern}'"), None) is False


def test_a_pattern_of_many_wildcards_is_not_tried_over_and_over() -> None:
    for pattern in ("%a" * 1000 + "%b", "%a_" * 1000 + "%b"):
        predicate = parse(f"key like '{pattern}'")
        assert not asked(predicate, b"a" * 100_000)  # would outlast the test's time limit by far
        assert asked(predicate, b"a" * 100_000 + b"b")


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("1794830400000", NOON_MS),
        ("'2026-11-16T12:00:00Z'", NOON_MS),
        ("'2026-11-16 12:00Z'", NOON_MS),
        ("'2026-11-16T13:30:00+01:30'", NOON_MS),
        ("'2026-11-16T07:00:00.5-0500'", NOON_MS + 500),
        ("'2026-11-16'", NOON_MS - 12 * 3_600_000),
        ("'1969-12-31T23:59:59.999Z'", -1),
        ("-1", -1),
    ],
)
def test_times_are_milliseconds_or_text_with_a_zone(text: str, expected_ms: int) -> None:
    equal = parse(f"timestamp = {text}")
    assert [asked(equal, None, expected_ms + step) for step in (-1, 0, 1)] == [False, True, False]
    before = parse(f"timestamp < {text}")
    assert [asked(before, None, expected_ms + step) for step in (-1, 0, 1)] == [True, False, False]


@pytest.mark.parametrize("timestamp", [-(2**63), 2**63 - 1])
def test_the_farthest_times_compare_like_others(timestamp: int) -> None:
    assert asked(parse(f"timestamp = {timestamp}"), None, timestamp)
    assert not asked(parse(f"timestamp < {timestamp} or timestamp > {timestamp}"), None, timestamp)
    assert asked(parse("timestamp is not null"), None, timestamp)
    assert not asked(parse("timestamp is null"), None, timestamp)


def test_a_quoted_name_is_a_header_also_where_the_word_is_reserved() -> None:
    predicate = parse("\"key\" = 'a' and \"timestamp\" = 'b' and key = 'c'")
    assert predicate.names == (b"key", b"timestamp")
    assert (predicate.uses_key, predicate.uses_timestamp) == (True, False)
    assert predicate.judge(b"c", 0, (b"a", b"b"))
    assert not predicate.judge(b"a", 0, (b"c", b"b"))


def test_header_names_are_told_once_and_in_their_order() -> None:
    predicate = parse("b = '1' or (a = '2' and b = '3') or not \"größe\" is null")
    assert predicate.names == (b"b", b"a", "größe".encode())
    assert not predicate.uses_key
    assert not predicate.uses_timestamp
