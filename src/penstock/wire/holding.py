"""Records that are held back until their time has come, told by their headers; and copies of them.

Compiled together with `records.py`, and like it in all else: the same source runs where it was not
compiled, and what may go through many records goes `most` of them ahead and returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from penstock.wire.choosing import is_at
from penstock.wire.records import ALL, Cursor, put_field, put_varint, varint

if TYPE_CHECKING:
    from mypy_extensions import i64

COMPILED = not __file__.endswith(".py")

DELIVER_AT = b"penstock-deliver-at"
DELAY = b"penstock-delay-ms"
CANCEL = b"penstock-cancel"
SCHEDULED_ID = b"penstock-scheduled-id"

AT: Final = 1
AFTER: Final = 2
CANCELS: Final = 4
TWICE: Final = 8
"""One of the three headers is there more than once."""

DIGITS_MOST: Final = 18
"""What they can say leaves room in 64 bits to be added to."""
MALFORMED: Final = -1


@final
class Marked:
    """The records of a batch that have one of the headers: a list for each of their fields.

    `numbers` has what the header says, the last one if there are several, or MALFORMED; `ids` what
    the header for copies says, of all records where those are asked for.
    """

    __slots__ = ("cursor", "deltas", "has_ids", "ids", "kinds", "numbers", "times")

    def __init__(self, cursor: Cursor, has_ids: bool = False) -> None:
        self.cursor = cursor
        self.has_ids = has_ids
        self.deltas: list[int] = []
        self.times: list[int] = []
        self.kinds: list[int] = []
        self.numbers: list[int] = []
        self.ids: list[int] = []

    def go_on(self, most: i64 = ALL) -> bool:
        """Through the next records; whether that was all of them. Malformed where one is wrong."""
        cursor = self.cursor
        while most > 0 and cursor.advance():
            most -= 1
            if cursor.header_count == 0 and not self.has_ids:
                continue
            self.look()
        return cursor.is_done

    def look(self) -> None:
        cursor = self.cursor
        data = cursor.data
        at = cursor.headers_at
        left = cursor.header_count
        kind: i64 = 0
        number: i64 = MALFORMED
        copy_of: i64 = MALFORMED
        while left > 0:
            name_size, name_at = varint(data, at)
            size, at = varint(data, name_at + name_size)
            found = kind_at(data, name_at, name_size)
            if found != 0:
                kind |= TWICE if kind & found else found
                number = decimal(data, at, size)
            elif self.has_ids and is_id(data, name_at, name_size):
                copy_of = decimal(data, at, size)
            if size > 0:
                at += size
            left -= 1
        if kind != 0 or self.has_ids:
            self.deltas.append(cursor.offset_delta)
            self.times.append(cursor.timestamp_delta)
            self.kinds.append(kind)
            self.numbers.append(number)
            self.ids.append(copy_of)


def kind_at(data: bytes, at: i64, size: i64) -> i64:
    """Of the header whose name stands there; 0 for any other."""
    if size == len(DELIVER_AT) and is_at(data, at, DELIVER_AT):
        return AT
    if size == len(DELAY) and is_at(data, at, DELAY):
        return AFTER
    if size == len(CANCEL) and is_at(data, at, CANCEL):
        return CANCELS
    return 0


def is_id(data: bytes, at: i64, size: i64) -> bool:
    return size == len(SCHEDULED_ID) and is_at(data, at, SCHEDULED_ID)


def decimal(data: bytes, at: i64, size: i64) -> i64:
    """ASCII decimals without a sign, or MALFORMED."""
    if not 0 < size <= DIGITS_MOST:
        return MALFORMED
    number: i64 = 0
    for i in range(size):
        digit: i64 = data[at + i] - 48
        if not 0 <= digit <= 9:
            return MALFORMED
        number = number * 10 + digit
    return number


@final
class Picked:
    """Some records of a batch: `count` of them, and their bytes in `pieces`, after the walk.

    Those with the deltas that are wanted; without any, those that have none of the headers.
    """

    __slots__ = ("count", "cursor", "pieces", "run_end", "run_start", "wanted")

    def __init__(self, cursor: Cursor, wanted: set[int] | None) -> None:
        self.cursor = cursor
        self.wanted = wanted
        self.count: i64 = 0
        self.pieces: list[bytes] = []
        self.run_start: i64 = 0
        self.run_end: i64 = 0

    def go_on(self, most: i64 = ALL) -> bool:
        """Through the next records; whether that was all of them. Malformed where one is wrong."""
        cursor = self.cursor
        while most > 0 and cursor.advance():
            most -= 1
            if self.is_picked():
                if cursor.start != self.run_end:
                    self.end_run()
                    self.run_start = cursor.start
                self.run_end = cursor.end
                self.count += 1
        if cursor.is_done:
            self.end_run()
        return cursor.is_done

    def is_picked(self) -> bool:
        wanted = self.wanted
        if wanted is not None:
            return cursor_delta(self.cursor) in wanted
        return not is_marked(self.cursor)

    def end_run(self) -> None:
        """Records that follow each other are one piece."""
        if self.run_end > self.run_start:
            self.pieces.append(self.cursor.data[self.run_start : self.run_end])
        self.run_start = self.run_end


def cursor_delta(cursor: Cursor) -> int:
    return cursor.offset_delta


def is_marked(cursor: Cursor) -> bool:
    data = cursor.data
    at = cursor.headers_at
    left = cursor.header_count
    while left > 0:
        name_size, name_at = varint(data, at)
        size, at = varint(data, name_at + name_size)
        if kind_at(data, name_at, name_size) != 0:
            return True
        if size > 0:
            at += size
        left -= 1
    return False


@final
class Tails:
    """What copies of some records have behind their offset: key, value and headers.

    `wanted` are offset deltas, ascending; `ids` say of which record each is a copy. With `dues`
    the copies are held, too, until then. `times` are what the records had as timestamp deltas.
    """

    __slots__ = ("cursor", "dues", "found", "ids", "place", "times", "wanted")

    def __init__(
        self, cursor: Cursor, wanted: list[int], ids: list[int], dues: list[int] | None
    ) -> None:
        self.cursor = cursor
        self.wanted = wanted
        self.ids = ids
        self.dues = dues
        self.found: list[bytes] = []
        self.times: list[int] = []
        self.place: i64 = 0

    def go_on(self, most: i64 = ALL) -> bool:
        """Through the next records; whether all that are wanted were met, or could have been."""
        cursor = self.cursor
        count: i64 = len(self.wanted)
        while most > 0 and self.place < count and cursor.advance():
            most -= 1
            wanted: i64 = self.wanted[self.place]
            if cursor.offset_delta == wanted:
                dues = self.dues
                due: i64 = MALFORMED if dues is None else dues[self.place]
                copied: i64 = self.ids[self.place]
                self.found.append(tail_of(cursor, copied, due))
                self.times.append(cursor.timestamp_delta)
                self.place += 1
        return cursor.is_done or self.place == count


def tail_of(cursor: Cursor, copied: i64, due: i64) -> bytes:
    data = cursor.data
    out = bytearray()
    put_field(out, cursor.key())
    put_field(out, cursor.value())
    kept = bytearray()
    count: i64 = 1
    at = cursor.headers_at
    left = cursor.header_count
    while left > 0:
        start = at
        name_size, name_at = varint(data, at)
        size, at = varint(data, name_at + name_size)
        if size > 0:
            at += size
        if kind_at(data, name_at, name_size) == 0 and not is_id(data, name_at, name_size):
            kept += data[start:at]
            count += 1
        left -= 1
    if due != MALFORMED:
        count += 1
        put_field(kept, DELIVER_AT)
        put_field(kept, b"%d" % due)
    put_field(kept, SCHEDULED_ID)
    put_field(kept, b"%d" % copied)
    put_varint(out, count)
    out += kept
    return bytes(out)


def with_tails(tails: list[bytes], times: list[int]) -> bytes:
    """A records section of these, numbered from 0 on; times are deltas."""
    out = bytearray()
    for i in range(len(tails)):
        body = bytearray(1)
        put_varint(body, times[i])
        put_varint(body, i)
        tail = tails[i]
        put_varint(out, len(body) + len(tail))
        out += body
        out += tail
    return bytes(out)
