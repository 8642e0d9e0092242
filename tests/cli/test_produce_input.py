"""Lines and JSON objects as records."""

from __future__ import annotations

import os

import pytest

from penstock.cli.produce_input import Form, Input, lines_of
from penstock.errors import Unusable

JSON = Form(True, None, None, [], None)


@pytest.mark.parametrize(
    ("line", "record"),
    [
        (b'{"value": "v"}', Input(b"v")),
        (b'{"value": null, "key": "k"}', Input(None, b"k")),
        (b'{"value_base64": "//4=", "key_base64": "AA=="}', Input(b"\xff\xfe", b"\0")),
        (b'{"value": [1, 2]}', Input(b"[1,2]")),
        (b'{"value": "v", "partition": 3, "timestamp": 5}', Input(b"v", None, (), 3, 5)),
        (b'{"value": "v", "headers": {"a": "1"}}', Input(b"v", None, ((b"a", b"1"),))),
        (
            b'{"value": "v", "headers": [{"key": "a", "value": "1"}, {"key": "a", "value": null}]}',
            Input(b"v", None, ((b"a", b"1"), (b"a", None))),
        ),
        (b'{"value": "v", "offset": 7, "topic": "x", "crc": 1}', Input(b"v")),
        (b'{"value": "v", "offset": 7, "partition": 3}', Input(b"v")),
    ],
)
def test_a_json_object_says_what_the_record_is(line: bytes, record: Input) -> None:
    assert JSON.read(line, 1) == record


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "line 7 is not a record in JSON"),
        (b"[]", "line 7 is not a record in JSON"),
        (b"{}", "no value; null is one"),
        (b'{"value": "v", "vlaue": "v"}', "no such field: vlaue"),
        (b'{"value": "v", "partition": "1"}', "partition must be a whole number"),
        (b'{"value": "v", "timestamp": 9223372036854775807}', "timestamp must not be more"),
        (b'{"value": "v", "headers": ["a"]}', "headers must be an object"),
        (b'{"value_base64": "?"}', "line 7 is not a record in JSON"),
    ],
)
def test_what_is_no_record_is_told_by_line_and_reason(line: bytes, said: str) -> None:
    with pytest.raises(Unusable, match=said):
        JSON.read(line, 7)


def test_the_partition_of_a_consumed_record_is_kept_if_asked() -> None:
    line = b'{"value": "v", "offset": 7, "partition": 3}'
    assert Form(True, None, None, [], 5).read(line, 1) == Input(b"v", None, (), 5)
    assert Form(True, None, None, [], None, keep_partitions=True).read(line, 1) == Input(
        b"v", None, (), 3
    )


def test_empty_lines_between_json_objects_are_passed_over() -> None:
    assert JSON.read(b"  ", 1) is None


def test_a_fixed_key_and_headers_go_with_every_line() -> None:
    form = Form(False, "k", None, [("h", "1"), ("h", "2")], 2)
    assert form.read(b"v", 1) == Input(b"v", b"k", ((b"h", b"1"), (b"h", b"2")), 2)


def test_a_pipe_without_input_for_the_moment_says_so() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        lines = lines_of(stream)
        assert next(lines) is None
        os.write(writing, b"one\ntw")
        assert next(lines) == b"one"
        assert next(lines) is None
        os.write(writing, b"o\r\nthree")
        os.close(writing)
        assert list(lines) == [b"two", b"three"]
