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
CRON = b"penstock-cron"
CANCEL = b"penstock-cancel"
SCHEDULED_ID = b"penstock-scheduled-id"
NEXT_AT = b"penstock-next-at"

AT: Final = 1
AFTER: Final = 2
CANCELS: Final = 4
EVERY: Final = 8
TWICE: Final = 16
"""One of the four headers is there more than once."""

DIGITS_MOST: Final = 18
"""What they can say leaves room in 64 bits to be added to."""
MALFORMED: Final = -1


@final
class Marked:
    """The records of a batch that have one of the headers: a list for each of their fields.

    `numbers` has what the header says, the last one if there are several, or MALFORMED; `crons` the
    texts of records that repeat, by their deltas. `ids` and `nexts` are what the headers of copies
    say, of all records where those are asked for.
    """

    __slots__ = (
        "crons",
        "cursor",
        "deltas",
        "has_ids",
        "ids",
        "kinds",
        "nexts",
        "numbers",
        "times",
    )

    def __init__(self, cursor: Cursor, has_ids: bool = False) -> None:
        self.cursor = cursor
        self.has_ids = has_ids
        self.deltas: list[int] = []
        self.times: list[int] = []
        self.kinds: list[int] = []
        self.numbers: list[int] = []
        self.crons: dict[int, bytes] = {}
        self.ids: list[int] = []
        self.nexts: list[int] = []

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
        next_at: i64 = MALFORMED
        while left > 0:
            name_size, name_at = varint(data, at)
            size, at = varint(data, name_at + name_size)
            found = kind_at(data, name_at, name_size)
            if found != 0:
                kind |= TWICE if kind & found else found
            if found == EVERY:
                self.crons[cursor_delta(cursor)] = text_at(data, at, size)
            elif found != 0:
                number = decimal(data, at, size)
            elif self.has_ids and is_named(data, name_at, name_size, SCHEDULED_ID):
                copy_of = decimal(data, at, size)
            elif self.has_ids and is_named(data, name_at, name_size, NEXT_AT):
                next_at = decimal(data, at, size)
            if size > 0:
                at += size
            left -= 1
        if kind != 0 or self.has_ids:
            self.deltas.append(cursor.offset_delta)
            self.times.append(cursor.timestamp_delta)
            self.kinds.append(kind)
            self.numbers.append(number)
            self.ids.append(copy_of)
            self.nexts.append(next_at)


def kind_at(data: bytes, at: i64, size: i64) -> i64:
    """Of the header whose name stands there; 0 for any other."""
    if is_named(data, at, size, DELIVER_AT):
        return AT
    if is_named(data, at, size, DELAY):
        return AFTER
    if is_named(data, at, size, CANCEL):
        return CANCELS
    if is_named(data, at, size, CRON):
        return EVERY
    return 0


def is_named(data: bytes, at: i64, size: i64, name: bytes) -> bool:
    return size == len(name) and is_at(data, at, name)


def is_of_copy(data: bytes, at: i64, size: i64) -> bool:
    """Whether a header is one that only a leader says, whoever has sent it."""
    return is_named(data, at, size, SCHEDULED_ID) or is_named(data, at, size, NEXT_AT)


def text_at(data: bytes, at: i64, size: i64) -> bytes:
    return data[at : at + size] if size > 0 else b""


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

    Those with the deltas that are wanted, with the times at which they are due: those that repeat
    are told them by a header. Without any, those that have none of the headers.
    """

    __slots__ = ("count", "cursor", "pieces", "run_end", "run_start", "wanted")

    def __init__(self, cursor: Cursor, wanted: dict[int, int] | None) -> None:
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
                self.take()
                self.count += 1
        if cursor.is_done:
            self.end_run()
        return cursor.is_done

    def is_picked(self) -> bool:
        wanted = self.wanted
        if wanted is not None:
            return cursor_delta(self.cursor) in wanted
        return kind_of(self.cursor) == 0

    def take(self) -> None:
        cursor = self.cursor
        wanted = self.wanted
        if wanted is not None and kind_of(cursor) & EVERY:
            self.end_run()
            self.pieces.append(with_due(cursor, wanted[cursor_delta(cursor)]))
            return
        if cursor.start != self.run_end:
            self.end_run()
            self.run_start = cursor.start
        self.run_end = cursor.end

    def end_run(self) -> None:
        """Records that follow each other are one piece."""
        if self.run_end > self.run_start:
            self.pieces.append(self.cursor.data[self.run_start : self.run_end])
        self.run_start = self.run_end


def cursor_delta(cursor: Cursor) -> int:
    return cursor.offset_delta


def kind_of(cursor: Cursor) -> i64:
    """Of all headers of a record."""
    data = cursor.data
    at = cursor.headers_at
    left = cursor.header_count
    kind: i64 = 0
    while left > 0:
        name_size, name_at = varint(data, at)
        size, at = varint(data, name_at + name_size)
        kind |= kind_at(data, name_at, name_size)
        if size > 0:
            at += size
        left -= 1
    return kind


def with_due(cursor: Cursor, due: i64) -> bytes:
    """A record as it is, and when it comes next."""
    tail = bytearray()
    put_field(tail, cursor.key())
    put_field(tail, cursor.value())
    put_varint(tail, cursor.header_count)
    tail += cursor.data[cursor.headers_at : cursor.end]
    out = bytearray()
    put_record(out, cursor.timestamp_delta, cursor.offset_delta, with_next(bytes(tail), due))
    return bytes(out)


@final
class Tails:
    """What copies of some records have behind their offset: key, value and headers.

    `wanted` are offset deltas, ascending; `ids` say of which record each is a copy. With `dues`
    the copies are held, too, until then. `times` are what the records had as timestamp deltas, and
    `crons` the texts of those that repeat, by ids.
    """

    __slots__ = ("crons", "cursor", "dues", "found", "ids", "place", "times", "wanted")

    def __init__(
        self, cursor: Cursor, wanted: list[int], ids: list[int], dues: list[int] | None
    ) -> None:
        self.cursor = cursor
        self.wanted = wanted
        self.ids = ids
        self.dues = dues
        self.found: list[bytes] = []
        self.times: list[int] = []
        self.crons: dict[int, bytes] = {}
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
                self.found.append(tail_of(cursor, copied, due, self.crons))
                self.times.append(cursor.timestamp_delta)
                self.place += 1
        return cursor.is_done or self.place == count


def tail_of(cursor: Cursor, copied: i64, due: i64, crons: dict[int, bytes]) -> bytes:
    """What is held on keeps the header by which it repeats."""
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
        kind = kind_at(data, name_at, name_size)
        if kind == EVERY:
            crons[copied] = text_at(data, at, size)
        if size > 0:
            at += size
        is_kept = kind == EVERY and due != MALFORMED
        if is_kept or (kind == 0 and not is_of_copy(data, name_at, name_size)):
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


def with_next(tail: bytes, next_ms: i64) -> bytes:
    """The same, and when it comes again."""
    at: i64 = 0
    for _ in range(2):  # key and value
        size, at = varint(tail, at)
        if size > 0:
            at += size
    count, headers_at = varint(tail, at)
    out = bytearray(tail[:at])
    put_varint(out, count + 1)
    out += tail[headers_at:]
    put_field(out, NEXT_AT)
    put_field(out, b"%d" % next_ms)
    return bytes(out)


def with_tails(tails: list[bytes], times: list[int]) -> bytes:
    """A records section of these, numbered from 0 on; times are deltas."""
    out = bytearray()
    for i in range(len(tails)):
        put_record(out, times[i], i, tails[i])
    return bytes(out)


def put_record(out: bytearray, time_delta: i64, offset_delta: i64, tail: bytes) -> None:
    body = bytearray(1)
    put_varint(body, time_delta)
    put_varint(body, offset_delta)
    put_varint(out, len(body) + len(tail))
    out += body
    out += tail
