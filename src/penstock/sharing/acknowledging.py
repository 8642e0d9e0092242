"""What members say of the records that they were given, and whether it makes sense at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from penstock.config.units import DAY_MS
from penstock.errors import ErrorCode, Refused


class Answer(IntEnum):
    """As the protocol numbers them."""

    GAP = 0
    """There is no such record: it was compacted away, say."""
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4
    """It takes longer: the lock begins anew (KIP-1222)."""


DELAY_MS_MAX = DAY_MS
UNSEEN = -1
"""As a delay of what is released: nobody has looked at it, so it does not count as delivered."""
ANSWERS = {int(answer): answer for answer in Answer}


class Acknowledgement(NamedTuple):
    first: int
    last: int
    types: Sequence[int]
    """Of each record, or one for all of them."""
    delay_ms: int = 0
    """Those that are released are given to nobody for so long; 0 leaves it to the group. Or
    `UNSEEN`."""


class Run(NamedTuple):
    """Records in a row of which the same is said."""

    first: int
    last: int
    answer: Answer
    delay_ms: int = 0


def runs(acknowledgements: Iterable[Acknowledgement]) -> list[Run]:
    """Raises Refused where they are malformed."""
    found: list[Run] = []
    end = 0
    for each in acknowledgements:
        if not end <= each.first <= each.last:
            raise _wrong(
                f"offsets {each.first} to {each.last} are acknowledged behind {end - 1}: give "
                "ranges in order that do not overlap"
            )
        if not UNSEEN <= each.delay_ms <= DELAY_MS_MAX:
            raise _wrong(f"a delay of {each.delay_ms} ms: it is 0 to {DELAY_MS_MAX}")
        end = each.last + 1
        found += _runs(each)
    return found


def _runs(each: Acknowledgement) -> Iterator[Run]:
    types, count, delay_ms = each.types, each.last - each.first + 1, each.delay_ms
    if len(types) not in (1, count):
        raise _wrong(f"{len(types)} types for {count} records: give one of each, or one for all")
    if len(types) == 1 or types.count(types[0]) == count:
        yield Run(each.first, each.last, _answer(types[0]), delay_ms)
        return
    first = each.first
    for at in range(1, count):
        if types[at] != types[at - 1]:
            yield Run(first, each.first + at - 1, _answer(types[at - 1]), delay_ms)
            first = each.first + at
    yield Run(first, each.last, _answer(types[-1]), delay_ms)


def _answer(number: int) -> Answer:
    if number not in ANSWERS:
        raise _wrong(f"{number} is no type of acknowledgement: those are 0 to {max(ANSWERS)}")
    return ANSWERS[number]


def _wrong(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
