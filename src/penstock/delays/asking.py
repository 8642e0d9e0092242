"""What a client's batch asks for by its headers: records to be held, or to be cancelled.

Looked at before the batch is appended, so that whatever is wrong with it is refused, with the
record and the header named, and the log only ever has what can be kept.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.delays.cron import BadCron, parse
from penstock.errors import ErrorCode, Refused
from penstock.wire.batch import NO_TIMESTAMP, read_header, stamp_holds
from penstock.wire.batch_builder import RECORDS_A_SLICE, records_of
from penstock.wire.holding import (
    AFTER,
    AT,
    CANCEL,
    CANCELS,
    CRON,
    DELAY,
    DELIVER_AT,
    EVERY,
    MALFORMED,
    TWICE,
    Marked,
)
from penstock.wire.records import Cursor, later

DELAY_MS_MAX = 366 * 24 * 3600 * 1000
"""A year, and the day that some have more."""
_NAMES = {
    AT: DELIVER_AT.decode(),
    AFTER: DELAY.decode(),
    EVERY: CRON.decode(),
    CANCELS: CANCEL.decode(),
}
_EXPECTED = {
    AT: "milliseconds since 1970",
    AFTER: "a number of milliseconds",
    CANCELS: "the offset of the record that is not to be delivered",
}


class BadRecord(Refused):
    """One record for which a whole batch is refused."""

    def __init__(self, index: int, problem: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, f"record {index}: {problem}")
        self.index = index


class Cancel(NamedTuple):
    number: int
    """Of the record that says so, in its batch."""
    id: int


class Asked(NamedTuple):
    held: int
    """How many records are to be held."""
    cancels: list[Cancel]


NOTHING = Asked(0, [])


def ask(batch: bytearray, now_ms: int, limit: int, *, append_time: bool) -> Asked:
    """BadRecord where one asks for what cannot be. A batch that asks for something is marked.

    Its records have been checked. With `append_time` they are written as of now.
    """
    header = read_header(batch)
    marked = Marked(Cursor(records_of(batch, limit), header.record_count))
    while not marked.go_on(RECORDS_A_SLICE):
        pass
    if not marked.deltas:
        return NOTHING
    held, cancels = 0, []
    for delta, kind, number, time_delta in zip(
        marked.deltas, marked.kinds, marked.numbers, marked.times, strict=True
    ):
        _check_form(delta, kind, number)
        if kind == CANCELS:
            if header.is_transactional:
                raise BadRecord(delta, f"{_NAMES[CANCELS]} cannot be part of a transaction")
            cancels.append(Cancel(delta, number))
            continue
        time_ms = now_ms if append_time else later(header.base_timestamp, time_delta)
        if kind == EVERY:
            _check_cron(delta, marked.crons[delta], time_ms, now_ms)
        else:
            _check_due(delta, kind, number, time_ms, now_ms)
        held += 1
    stamp_holds(batch)
    return Asked(held, cancels)


def refuse_any(batch: bytearray, limit: int) -> None:
    """For a compacted topic, which could never keep such a promise: who sends there what is to come
    later is told, and not given it at once."""
    marked = Marked(Cursor(records_of(batch, limit), read_header(batch).record_count))
    while not marked.go_on(RECORDS_A_SLICE):
        pass
    for delta, kind in zip(marked.deltas, marked.kinds, strict=True):
        names = [name for bit, name in _NAMES.items() if kind & bit]
        raise BadRecord(
            delta,
            f"header {names[0]}: a compacted topic holds nothing back; send it to one with "
            "delayed.delivery=true, which is not compacted",
        )


def _check_form(index: int, kind: int, number: int) -> None:
    names = [name for bit, name in _NAMES.items() if kind & bit]
    if len(names) > 1:
        raise BadRecord(index, f"it has both headers {' and '.join(names)}: give one of them")
    if kind & TWICE:
        raise BadRecord(index, f"header {names[0]} is given more than once")
    if number == MALFORMED and kind != EVERY:
        raise BadRecord(
            index,
            f"header {names[0]} is not {_EXPECTED[kind]}, in up to 18 decimal digits",
        )


def _check_due(index: int, kind: int, number: int, time_ms: int, now_ms: int) -> None:
    due_ms = number
    if kind == AFTER:
        _check_time(index, kind, time_ms)
        due_ms = later(time_ms, number)
    if due_ms - now_ms > DELAY_MS_MAX:
        raise BadRecord(
            index,
            f"header {_NAMES[kind]} says {number}, which is more than a year from now; give it "
            "as ms, and no later than that",
        )


def _check_cron(index: int, text: bytes, time_ms: int, now_ms: int) -> None:
    _check_time(index, EVERY, time_ms)
    try:
        due_ms = parse(text).next_after(time_ms)
    except BadCron as problem:
        raise BadRecord(index, f"{_NAMES[EVERY]}: {problem}") from None
    if due_ms is None or due_ms - now_ms > DELAY_MS_MAX:
        said = text.decode(errors="backslashreplace")
        raise BadRecord(
            index,
            f"{_NAMES[EVERY]}: {said} has no time within a year of the record's timestamp, and of "
            "now: give one that comes sooner",
        )


def _check_time(index: int, kind: int, time_ms: int) -> None:
    if time_ms <= NO_TIMESTAMP:
        raise BadRecord(
            index,
            f"header {_NAMES[kind]} counts from the record's timestamp, and it has none: give "
            f"one, or {_NAMES[AT]}",
        )
