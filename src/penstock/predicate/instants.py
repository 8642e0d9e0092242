"""Sets of timestamps, as spans of milliseconds: every term about `timestamp` is one.

Spans are closed, in order, and never touch. So asking for one timestamp, and asking what a batch
between two of them may hold, read the same few pairs.
"""

from __future__ import annotations

from collections.abc import Iterable

FIRST = -(2**63)
LAST = 2**63 - 1
"""What a timestamp has room for."""

Spans = tuple[tuple[int, int], ...]

NEVER: Spans = ()
ALWAYS: Spans = ((FIRST, LAST),)


def united(spans: Iterable[tuple[int, int]]) -> Spans:
    """In order and as few as possible. One that ends before it begins is none."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(each for each in spans if each[0] <= each[1]):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def others(spans: Spans) -> Spans:
    """All timestamps that are not in these."""
    starts = [FIRST, *(last + 1 for _, last in spans)]
    ends = [*(first - 1 for first, _ in spans), LAST]
    return united(zip(starts, ends, strict=True))


def compared(sign: str, moment: int) -> Spans:
    """The timestamps for which `timestamp SIGN moment` is true."""
    if sign == "=":
        return ((moment, moment),)
    if sign == "!=":
        return others(((moment, moment),))
    if sign in ("<", "<="):
        return united([(FIRST, moment - (sign == "<"))])
    return united([(moment + (sign == ">"), LAST)])


def holds(spans: Spans, timestamp: int) -> bool:
    for first, last in spans:  # noqa: SIM110  asked of every record
        if first <= timestamp <= last:
            return True
    return False


def meets(spans: Spans, least: int, greatest: int) -> bool:
    """Whether any timestamp between these two is in the set; none is, where they are crossed."""
    return any(max(first, least) <= min(last, greatest) for first, last in spans)
