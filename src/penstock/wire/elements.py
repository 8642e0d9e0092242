"""How many elements the lists of a request have, counted before any of them is decoded.

What a request costs is the number of its elements, at about a microsecond each for decoding alone,
and not its bytes: of the smallest elements a mebibyte has half a million. Counting stops at the
limit, so that it costs no more than a request that is just allowed. Tagged fields count as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct, error
from typing import Any

from penstock.errors import Malformed
from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import read_compact_size, read_size, read_tag, read_tag_count

_INT16 = Struct(">h")

Step = Callable[[memoryview, int, int], tuple[int, int]]
"""Passes over something at a position, with so many elements left to count: both as they are
behind it."""


class TooMany(Exception):
    """More elements than were left."""


def check_elements(
    kind: type[Message], frame: memoryview, at: int, version: int, limit: int
) -> None:
    """`at` is where the request begins behind its header. Raises Malformed."""
    if has_more(kind, frame, at, version, limit):
        raise Malformed(
            f"a {kind.__name__} has too many partitions, names or other elements in its lists: "
            f"{limit} are the limit, split it into several"
        )


def has_more(kind: type[Message], frame: memoryview, at: int, version: int, limit: int) -> bool:
    """Whether it has more elements than that. Raises Malformed."""
    try:
        _walk(kind, version)(frame, at, limit)
    except TooMany:
        return True
    except (IndexError, error):
        pass  # it ends too early, as decoding it will tell
    return False


@cache
def _walk(kind: type[Message], version: int) -> Step:
    return _struct(kind.SHAPE, version, version >= kind.FLEXIBLE_SINCE)


def _struct(shape: Shape, version: int, flexible: bool) -> Step:
    steps: list[tuple[int, Step]] = []
    skipped = 0
    for first, last, what in shape:
        if not first <= version <= last:
            continue
        if isinstance(what, int):
            skipped += what
        else:
            steps.append((skipped, _step(what, version, flexible)))
            skipped = 0

    def walk(buf: memoryview, at: int, left: int) -> tuple[int, int]:
        for skip, step in steps:
            at, left = step(buf, at + skip, left)
        if not flexible:
            return at + skipped, left
        return (
            (at + skipped + 1, left) if buf[at + skipped] == 0 else _tags(buf, at + skipped, left)
        )

    return walk


def _step(what: Any, version: int, flexible: bool) -> Step:
    match what:
        case "string" | "bytes":
            return _compact if flexible else _string if what == "string" else _bytes
        case ("list", int(size)):
            return _numbers(size, flexible)
        case ("list", element):
            return _list(_step(element, version, flexible), flexible)
        case ("maybe", struct):
            return _maybe(_struct(struct, version, flexible))
        case _:
            return _struct(what, version, flexible)


def _list(element: Step, flexible: bool) -> Step:
    read = read_compact_size if flexible else read_size

    def walk(buf: memoryview, at: int, left: int) -> tuple[int, int]:
        count, at = read(buf, at)
        left = _less(left, count)
        for _ in range(count):
            at, left = element(buf, at, left)
        return at, left

    return walk


def _numbers(size: int, flexible: bool) -> Step:
    read = read_compact_size if flexible else read_size

    def walk(buf: memoryview, at: int, left: int) -> tuple[int, int]:
        count, at = read(buf, at)
        return at + max(count, 0) * size, _less(left, count)

    return walk


def _maybe(struct: Step) -> Step:
    def walk(buf: memoryview, at: int, left: int) -> tuple[int, int]:
        return struct(buf, at + 1, left) if buf[at] < 0x80 else (at + 1, left)

    return walk


def _compact(buf: memoryview, at: int, left: int) -> tuple[int, int]:
    size = buf[at]
    if size < 0x80:
        return at + (size or 1), left
    size, at = read_compact_size(buf, at)
    return at + size, left


def _string(buf: memoryview, at: int, left: int) -> tuple[int, int]:
    (size,) = _INT16.unpack_from(buf, at)
    return at + 2 + max(size, 0), left


def _bytes(buf: memoryview, at: int, left: int) -> tuple[int, int]:
    size, at = read_size(buf, at)
    return at + max(size, 0), left


def _tags(buf: memoryview, at: int, left: int) -> tuple[int, int]:
    count, at = read_tag_count(buf, at)
    left = _less(left, count)
    for _ in range(count):
        _, _, at = read_tag(buf, at)
    return at, left


def _less(left: int, count: int) -> int:
    if count > left:
        raise TooMany
    return left - max(count, 0)
