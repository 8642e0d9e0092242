"""The records of a batch that somebody asks for, by their headers, key and timestamp.

Compiled together with `records.py`, and like it in all else: the same source runs where it was not
compiled, and what may go through many records goes `most` of them ahead and returns.

Values of headers repeat. So a verdict is looked up by the values that are asked for, and nearly
every record costs one lookup and no judgement. Where key or timestamp are asked for too, what is
kept is whether the headers settle it, and only where they do not is the record itself judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

from penstock.wire.records import ALL, Cursor, later, varint

if TYPE_CHECKING:
    from mypy_extensions import i64

COMPILED = not __file__.endswith(".py")

Values = tuple[bytes | None, ...]
Judge = Callable[[bytes | None, int, Values], bool]
"""Whether a record with this key, timestamp and values of headers is asked for."""
Settle = Callable[[Values], bool | None]
"""The same by the headers alone, or None where key and timestamp have a say."""
Verdicts = dict[object, int]
"""By the value of the one header that is asked for, or by those of all as a tuple."""

NO: Final = 0
YES: Final = 1
OPEN: Final = 2
"""Neither, before key and timestamp are looked at."""
UNHEARD: Final = 3

VERDICTS_MOST: Final = 4096
VERDICT_BYTES_MOST: Final = 512
"""Of the values that a verdict is kept by; longer ones hardly repeat."""
SETTLED_MOST: Final = 64
"""In a batch. Where more are unheard of, values do not repeat, and judging alone costs less."""
FEW_NAMES: Final = 4
"""That are compared with a header's one after the other."""
TIMESTAMP_MAX: Final = 0x7FFF_FFFF_FFFF_FFFF


@final
class Names:
    """Of the headers that are asked for; their values are told in this order."""

    __slots__ = ("listed", "places")

    def __init__(self, names: tuple[bytes, ...]) -> None:
        self.listed: list[bytes] = list(names)
        self.places: dict[bytes, int] = {name: place for place, name in enumerate(names)}


@final
class Question:
    """What is asked of records, and the verdicts so far, which who asks keeps for the next batch.

    They are bounded here. Without `settle` neither key nor timestamp have a say.
    """

    __slots__ = ("judge", "names", "settle", "uses_key", "verdicts")

    def __init__(
        self,
        names: Names,
        uses_key: bool,
        judge: Judge,
        settle: Settle | None,
        verdicts: Verdicts,
    ) -> None:
        self.names = names
        self.uses_key = uses_key
        self.judge = judge
        self.settle = settle
        self.verdicts = verdicts


@final
class Choice:
    """What one batch has of it: `count` records, and their bytes in `pieces`, after the walk."""

    __slots__ = (
        "base_timestamp",
        "count",
        "cursor",
        "has_one_time",
        "left_to_settle",
        "pieces",
        "question",
        "run_end",
        "run_start",
    )

    def __init__(
        self, cursor: Cursor, question: Question, base_timestamp: i64, has_one_time: bool = False
    ) -> None:
        """With one time, that of the base is every record's, as it is with LogAppendTime."""
        self.cursor = cursor
        self.question = question
        self.base_timestamp: i64 = base_timestamp
        self.has_one_time = has_one_time
        self.left_to_settle: i64 = SETTLED_MOST
        self.count: i64 = 0
        self.pieces: list[bytes] = []
        self.run_start: i64 = 0
        self.run_end: i64 = 0

    def go_on(self, most: i64 = ALL) -> bool:
        """Through the next records; whether that was all of them. Malformed where one is wrong."""
        cursor = self.cursor
        while most > 0 and cursor.advance():
            most -= 1
            if self.is_chosen():
                if cursor.start != self.run_end:
                    self.end_run()
                    self.run_start = cursor.start
                self.run_end = cursor.end
                self.count += 1
        if cursor.is_done:
            self.end_run()
        return cursor.is_done

    def end_run(self) -> None:
        """Records that follow each other are one piece."""
        if self.run_end > self.run_start:
            self.pieces.append(self.cursor.data[self.run_start : self.run_end])
        self.run_start = self.run_end

    def is_chosen(self) -> bool:
        question = self.question
        names = question.names.listed
        if len(names) == 0:
            return self.judged(())
        if len(names) == 1:
            value = value_of(self.cursor, names[0])
            verdict: i64 = question.verdicts.get(value, UNHEARD)
            if verdict in (YES, NO):
                return verdict == YES
            return self.heard((value,), value, verdict)
        values = values_of(self.cursor, question.names)
        verdict = question.verdicts.get(values, UNHEARD)
        if verdict in (YES, NO):
            return verdict == YES
        return self.heard(values, values, verdict)

    def heard(self, values: Values, known_by: object, verdict: i64) -> bool:
        """Where the lookup did not tell."""
        question = self.question
        if verdict == OPEN:
            return self.judged(values)
        settle = question.settle
        if settle is None:
            chosen = question.judge(None, 0, values)
            remember(question.verdicts, known_by, values, YES if chosen else NO)
            return chosen
        if self.left_to_settle == 0:
            return self.judged(values)
        self.left_to_settle -= 1
        settled = settle(values)
        if settled is None:
            remember(question.verdicts, known_by, values, OPEN)
            return self.judged(values)
        remember(question.verdicts, known_by, values, YES if settled else NO)
        return settled

    def judged(self, values: Values) -> bool:
        cursor = self.cursor
        timestamp = self.base_timestamp
        if not self.has_one_time:
            timestamp = later(timestamp, cursor.timestamp_delta)
        key = cursor.key() if self.question.uses_key else None
        return self.question.judge(key, timestamp, values)


@final
class Digest:
    """What a batch holds, for who wants to know later without opening it.

    `distinct` has a set for each name, with None for records without; or None alone, where there
    were more than `values_most`, or one of more than `value_bytes_most`. Timestamps are deltas.
    """

    __slots__ = (
        "cursor",
        "distinct",
        "greatest_delta",
        "least_delta",
        "names",
        "value_bytes_most",
        "values_most",
    )

    def __init__(
        self, cursor: Cursor, names: Names, values_most: i64, value_bytes_most: i64
    ) -> None:
        self.cursor = cursor
        self.names = names
        self.values_most: i64 = values_most
        self.value_bytes_most: i64 = value_bytes_most
        self.distinct: list[set[bytes | None] | None] = [set() for _ in names.listed]
        self.least_delta: i64 = TIMESTAMP_MAX
        self.greatest_delta: i64 = -TIMESTAMP_MAX

    def go_on(self, most: i64 = ALL) -> bool:
        """Through the next records; whether that was all of them. Malformed where one is wrong."""
        cursor = self.cursor
        listed = self.names.listed
        while most > 0 and cursor.advance():
            most -= 1
            self.least_delta = min(self.least_delta, cursor.timestamp_delta)
            self.greatest_delta = max(self.greatest_delta, cursor.timestamp_delta)
            if len(listed) == 1:
                self.add(0, value_of(cursor, listed[0]))
                continue
            for place, value in enumerate(values_of(cursor, self.names)):
                self.add(place, value)
        return cursor.is_done

    def add(self, place: i64, value: bytes | None) -> None:
        found = self.distinct[place]
        if found is None:
            return
        if value is not None and len(value) > self.value_bytes_most:
            self.distinct[place] = None
            return
        found.add(value)
        if len(found) > self.values_most:
            self.distinct[place] = None


def value_of(cursor: Cursor, name: bytes) -> bytes | None:
    """Of the last header of that name; None where there is none. `advance` has checked them all."""
    data = cursor.data
    at = cursor.headers_at
    left = cursor.header_count
    wanted = len(name)
    found_at: i64 = 0
    found_size: i64 = -1
    while left > 0:
        name_size, name_at = varint(data, at)
        size, at = varint(data, name_at + name_size)
        if name_size == wanted and is_at(data, name_at, name):
            found_at = at
            found_size = size
        if size > 0:
            at += size
        left -= 1
    if found_size < 0:
        return None
    return data[found_at : found_at + found_size]


def values_of(cursor: Cursor, names: Names) -> Values:
    """For each name what `value_of` says, in one walk."""
    values: list[bytes | None] = [None] * len(names.listed)
    data = cursor.data
    at = cursor.headers_at
    left = cursor.header_count
    while left > 0:
        name_size, name_at = varint(data, at)
        size, at = varint(data, name_at + name_size)
        place = place_of(data, name_at, name_size, names)
        if place >= 0:
            values[place] = None if size < 0 else data[at : at + size]
        if size > 0:
            at += size
        left -= 1
    return tuple(values)


def place_of(data: bytes, at: i64, size: i64, names: Names) -> i64:
    """Among the names; -1 for one that nobody asks for."""
    listed = names.listed
    if len(listed) > FEW_NAMES:
        return names.places.get(data[at : at + size], -1)
    for place, name in enumerate(listed):
        if len(name) == size and is_at(data, at, name):
            return place
    return -1


def is_at(data: bytes, at: i64, name: bytes) -> bool:
    """In place: a slice to compare with would cost more than a name of some ten bytes."""
    for i in range(len(name)):  # noqa: SIM110
        if data[at + i] != name[i]:
            return False
    return True


def remember(verdicts: Verdicts, known_by: object, values: Values, verdict: int) -> None:
    """All are forgotten at once where there are too many: those that matter come back soon."""
    size: i64 = 0
    for value in values:
        if value is not None:
            size += len(value)
    if size > VERDICT_BYTES_MOST:
        return
    if len(verdicts) >= VERDICTS_MOST:
        verdicts.clear()
    verdicts[known_by] = verdict
