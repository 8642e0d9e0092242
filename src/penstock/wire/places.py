"""Where the fields of many records lie, for who makes columns of them without an object for each.

Compiled like `records.py`, and by the same rules. Noted are places in the bytes that were walked:
whoever takes them copies keys and values from there, all at once. Offsets and times mostly go on
evenly, so they are written down only where they do not.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, final

from penstock.errors import Malformed
from penstock.wire.records import Cursor, Headers, is_far, later

if TYPE_CHECKING:
    from mypy_extensions import i64

COMPILED = not __file__.endswith(".py")

BYTES_MAX: Final = 0x7FFF_FFFF
"""Places have 32 bits, and one is left for their sign."""
TIME_MS_MAX: Final = 9_223_372_036_854_775
"""What can be told in microseconds; times that are farther away become this."""
_IS_LITTLE: Final = sys.byteorder == "little"


@final
class Runs:
    """A column in which many rows in turn have the same number."""

    __slots__ = ("last", "numbers", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        """The first row of each run."""
        self.numbers: list[int] = []
        self.last: i64 = 0

    def note(self, row: i64, number: i64) -> None:
        if number != self.last or row == 0:
            self.starts.append(row)
            self.numbers.append(number)
            self.last = number


@final
class Places:
    """Of records that lie one behind the other, maybe with something between them.

    A key's place is one number, and so is a value's: its beginning and its end, 32 bits each, which
    come in this order in memory. So there all places are one row of bounds.
    """

    __slots__ = (
        "count",
        "end",
        "headers",
        "keys",
        "offsets_ahead",
        "rows_of_null_keys",
        "rows_of_null_values",
        "size_bytes",
        "times_us",
        "values",
        "with_headers",
    )

    def __init__(self, end: i64, with_headers: bool) -> None:
        self.end = end
        """The first offset that is not wanted any more."""
        self.with_headers = with_headers
        self.count: i64 = 0
        self.keys: list[int] = []
        self.values: list[int] = []
        self.rows_of_null_keys: list[int] = []
        self.rows_of_null_values: list[int] = []
        self.offsets_ahead = Runs()
        """How far a row's offset is ahead of its number."""
        self.times_us = Runs()
        self.headers: list[Headers] = []
        self.size_bytes: i64 = 0
        """Of keys, values and headers as they were in the batches."""


def bounds(start: i64, end: i64) -> i64:
    """As one number of 64 bits, whose halves lie in memory in this order."""
    if _IS_LITTLE:
        return start | (end << 32)
    return (start << 32) | end


def microseconds(time_ms: i64) -> i64:
    return max(-TIME_MS_MAX, min(TIME_MS_MAX, time_ms)) * 1000


def add_places(
    places: Places,
    cursor: Cursor,
    shift: i64,
    first: i64,
    base_offset: i64,
    time_ms: i64,
    is_same_time: bool,
) -> None:
    """The wanted records of a batch from the offset `first` on. The bytes that the cursor walks lie
    `shift` behind where places are told from. Times are told from `time_ms`, or all are that."""
    if is_far(base_offset):
        raise Malformed(f"base offset {base_offset} out of range")
    if not 0 <= shift <= BYTES_MAX - len(cursor.data):
        raise Malformed(f"{len(cursor.data)} bytes behind {shift} are more than one column takes")
    row = places.count
    while cursor.advance():
        offset: i64 = base_offset + cursor.offset_delta
        if not first <= offset < places.end:
            continue
        places.offsets_ahead.note(row, offset - row)
        delta: i64 = 0 if is_same_time else cursor.timestamp_delta
        places.times_us.note(row, microseconds(later(time_ms, delta)))
        if cursor.key_size < 0:
            places.rows_of_null_keys.append(row)
        at = cursor.key_at + shift
        places.keys.append(bounds(at, at + max(cursor.key_size, 0)))
        if cursor.value_size < 0:
            places.rows_of_null_values.append(row)
        at = cursor.value_at + shift
        places.values.append(bounds(at, at + max(cursor.value_size, 0)))
        if places.with_headers:
            places.headers.append(cursor.headers())
        places.size_bytes += cursor.end - cursor.start
        row += 1
    places.count = row
