"""What is a predicate and what is none, and where it stops being one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.predicate.reference import chances, records, spelled, trees

from penstock.errors import ErrorCode
from penstock.predicate.predicate import parse
from penstock.predicate.refusal import BadPredicate, Problem


def refusal(text: str) -> BadPredicate:
    with pytest.raises(BadPredicate) as caught:
        parse(text)
    return caught.value


@settings(deadline=None, max_examples=150)
@given(trees, chances, chances)
def test_spaces_case_and_needless_parentheses_do_not_change_the_canonical_text(
    tree: Any, one: Random, other: Random
) -> None:
    text = parse(spelled(tree, one)).text
    assert parse(spelled(tree, other)).text == text
    assert parse(text).text == text


@settings(deadline=None, max_examples=150)
@given(trees, st.lists(records, min_size=1, max_size=5), chances)
def test_the_canonical_text_means_the_same(tree: Any, some: list[Any], chance: Random) -> None:
    before = parse(spelled(tree, chance))
    after = parse(before.text)
    assert after.names == before.names
    for key, timestamp, headers in some:
        values = tuple(headers[name.decode()] for name in before.names)
        assert after.judge(key, timestamp, values) is before.judge(key, timestamp, values)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a<>'b'", "a != 'b'"),
        ('"a"=1', "a = 1"),
        ('"a b" IS  Not NULL', '"a b" is not null'),
        ('"NULL" is null', '"NULL" is null'),
        ("KEY='x'", "key = 'x'"),
        ("Key_='x'", "Key_ = 'x'"),
        ("a IN('x','y')", "a in ('x', 'y')"),
        ("((a=1)) and ((b=2) and c=3)", "a = 1 and b = 2 and c = 3"),
        ("(a=1 and b=2) or c=3", "a = 1 and b = 2 or c = 3"),
        ("a=1 and (b=2 or c=3)", "a = 1 and (b = 2 or c = 3)"),
        ("not(a=1)", "not a = 1"),
        ("not(a=1 or b=2)", "not (a = 1 or b = 2)"),
        ("not a=1 or b=2", "not a = 1 or b = 2"),
        ("not not a=1", "not not a = 1"),
        ("a not between 1 and 2 and b=-3", "a not between 1 and 2 and b = -3"),
        ("a like 'it''s%'", "a like 'it''s%'"),
        ("timestamp>='2026-11-16'", "timestamp >= '2026-11-16'"),
    ],
)
def test_the_canonical_text(text: str, canonical: str) -> None:
    assert parse(text).text == canonical


@pytest.mark.parametrize(
    ("text", "problem", "at", "said"),
    [
        ("", Problem.EMPTY, 0, "empty"),
        (" \n ", Problem.EMPTY, 3, "empty"),
        ("a = )", Problem.MISSING_OPERAND, 4, "expected a value after '=', found ')'"),
        ("a =", Problem.MISSING_OPERAND, 3, "expected a value after '=', found the end"),
        ("a = b", Problem.MISSING_OPERAND, 4, "found 'b': text goes in single quotes"),
        ('a = "b"', Problem.MISSING_OPERAND, 4, 'found "b": text goes in single quotes'),
        ("a = null", Problem.MISSING_OPERAND, 4, "write is null or is not null"),
        ("'a' = b", Problem.MISSING_OPERAND, 0, "found 'a': values go on the right"),
        ("5 < a", Problem.MISSING_OPERAND, 0, "values go on the right"),
        ("not", Problem.MISSING_OPERAND, 3, "expected a header's name, key or timestamp"),
        ("a = 1 and", Problem.MISSING_OPERAND, 9, "found the end"),
        ("in = 1", Problem.MISSING_OPERAND, 0, 'a header of that name is written "in"'),
        ("a in 1", Problem.MISSING_OPERAND, 5, "expected '(' after in, found '1'"),
        ("a in ()", Problem.MISSING_OPERAND, 6, "expected a value after '(', found ')'"),
        ("a in (1,)", Problem.MISSING_OPERAND, 8, "expected a value after ',', found ')'"),
        ("a is 1", Problem.MISSING_OPERAND, 5, "expected null after is"),
        ("a between 1 or 2", Problem.MISSING_OPERAND, 12, "expected and after '1', found 'or'"),
        ("a between 1 and", Problem.MISSING_OPERAND, 15, "expected a value after 'and'"),
        ("a", Problem.MISSING_OPERATOR, 1, "expected a comparison, in, like, between or is"),
        ("a not = 1", Problem.MISSING_OPERATOR, 6, "expected in, like or between after not"),
        ("a = 1 b", Problem.TRAILING_TEXT, 6, "expected and, or, or the end, found 'b'"),
        ("a = 1)", Problem.TRAILING_TEXT, 5, "found ')'"),
        ("a = 1 = 2", Problem.TRAILING_TEXT, 6, "found '='"),
        ("(a = 1 b)", Problem.TRAILING_TEXT, 7, "expected and, or, or ')', found 'b'"),
        ("a in (1 2)", Problem.TRAILING_TEXT, 8, "expected ',' or ')', found '2'"),
        ("b = 1 and (a = 1", Problem.UNCLOSED_PARENTHESIS, 10, "never closed"),
        ("a in (1, 2", Problem.UNCLOSED_PARENTHESIS, 5, "never closed"),
        ("a = 'it''s", Problem.UNCLOSED_QUOTE, 4, "the quote ' is never closed"),
        ("a = 'b''", Problem.UNCLOSED_QUOTE, 4, "the quote ' is never closed"),
        ('"a = 1', Problem.UNCLOSED_QUOTE, 0, 'the quote " is never closed'),
        ("a ; b", Problem.UNKNOWN_CHARACTER, 2, "unknown character ';'"),
        ("a == 1", Problem.MISSING_OPERAND, 3, "expected a value after '=', found '='"),
        ("größe = 1", Problem.UNKNOWN_CHARACTER, 2, "go in double quotes"),
        ("a = '\ud800'", Problem.BAD_TEXT, 4, "UTF-8"),
        ("a = 5x", Problem.BAD_NUMBER, 4, "'5x' is no number"),
        ("a = .5", Problem.BAD_NUMBER, 4, "'.5' is no number"),
        ("a = 1.", Problem.BAD_NUMBER, 4, "'1.' is no number"),
        ("a = 1e5", Problem.BAD_NUMBER, 4, "'1e5' is no number"),
        ("a = " + "1" * 41, Problem.BAD_NUMBER, 4, "a number of 41 characters"),
        ("timestamp = 9223372036854775808", Problem.BAD_NUMBER, 12, "out of range"),
        ("timestamp = -9223372036854775809", Problem.BAD_NUMBER, 12, "out of range"),
        ("timestamp > 1.5", Problem.BAD_TIME, 12, "whole milliseconds"),
        ("timestamp > 'today'", Problem.BAD_TIME, 12, "'today' is no time"),
        ("timestamp > '2026-11-16T10:00:00'", Problem.BAD_TIME, 12, "is no time"),
        ("timestamp > '2026-02-29'", Problem.BAD_TIME, 12, "is no time"),
        ("timestamp > '2026-11-16T24:00:00Z'", Problem.BAD_TIME, 12, "is no time"),
        ("timestamp > '2026-11-16T10:00:00+24:00'", Problem.BAD_TIME, 12, "is no time"),
        ("timestamp > '٢٠٢٦-11-16'", Problem.BAD_TIME, 12, "is no time"),
        ("timestamp in (1, 'x')", Problem.BAD_TIME, 17, "'x' is no time"),
        ("timestamp like '2026%'", Problem.BAD_PATTERN, 15, "not with patterns"),
        ("a like 5", Problem.BAD_PATTERN, 7, "like takes a pattern in single quotes, found '5'"),
        (r"a like 'x\y'", Problem.BAD_PATTERN, 7, "stands before '%', '_' or another"),
        ("a like 'x\\'", Problem.BAD_PATTERN, 7, "stands before '%', '_' or another"),
        ("a like '%" + "b_" * 17 + "%'", Problem.BAD_PATTERN, 7, "between two '%'"),
    ],
)
def test_what_is_no_predicate_is_refused_at_its_place(
    text: str, problem: Problem, at: int, said: str
) -> None:
    error = refusal(text)
    assert (error.problem, error.at, error.text) == (problem, at, text)
    assert said in error.message
    assert error.code is ErrorCode.INVALID_REQUEST


def test_the_place_is_shown_below_the_text() -> None:
    assert str(refusal("a = 1 and (b = )")) == (
        "expected a value after '=', found ')'\n  a = 1 and (b = )\n                 ^"
    )


def test_of_many_lines_the_one_with_the_place_is_shown() -> None:
    shown = str(refusal("a = 1\nand b\t? 2\nand c = 3")).splitlines()
    assert shown == ["unknown character '?'", "  and b ? 2", "        ^"]


@given(st.integers(0, 400), st.integers(0, 400))
def test_of_a_long_line_the_part_around_the_place_is_shown(before: int, after: int) -> None:
    text = "a" * before + "?" + "b" * after
    _, line, caret = str(refusal(text)).splitlines()
    assert len(line) <= 70
    assert line[len(caret) - 1] == "?"


def outcome(text: str) -> str | BadPredicate:
    try:
        return parse(text).text
    except BadPredicate as error:
        return error


@settings(deadline=None)
@given(st.text(max_size=60) | st.text("ab'\"()=<>,.% -_\\0123\n", max_size=60))
def test_any_text_is_a_predicate_or_refused_within_itself(text: str) -> None:
    found = outcome(text)
    if isinstance(found, BadPredicate):
        assert 0 <= found.at <= len(text)
        assert str(found).startswith(found.message)
    else:
        assert parse(found).text == found


def test_a_text_may_be_as_long_as_the_limit() -> None:
    head = "a = '"
    assert parse(head + "x" * (4096 - len(head) - 1) + "'")
    assert refusal(head + "x" * (4096 - len(head)) + "'").problem is Problem.TOO_LONG


def test_a_text_whose_canonical_form_would_be_too_long_is_too_long() -> None:
    crowded = "a in(" + ",".join(["1"] * 2000) + ")"
    assert len(crowded) < 4096
    assert refusal(crowded).problem is Problem.TOO_LONG


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("not ", ""), ("not(", ")")])
def test_depth_is_bounded(opening: str, closing: str) -> None:
    each = 2 if opening == "not(" else 1
    assert parse(opening * (50 // each) + "a = 1" + closing * (50 // each))
    error = refusal(opening * (50 // each + 1) + "a = 1" + closing * (50 // each + 1))
    assert error.problem is Problem.TOO_DEEP


def test_parentheses_side_by_side_are_not_deep() -> None:
    assert parse(" and ".join(["(not (a = 1))"] * 200))


def test_the_number_of_terms_is_bounded() -> None:
    assert parse(" or ".join(["a = 1"] * 256))
    error = refusal(" or ".join(["a = 1"] * 257))
    assert (error.problem, error.at) == (Problem.TOO_MANY_TERMS, 256 * 9)


def test_long_pieces_are_not_repeated_whole() -> None:
    assert len(refusal("a = 1 '" + "x" * 3000 + "'").message) < 150
    assert len(refusal("a = 1" + "x" * 3000).message) < 150
