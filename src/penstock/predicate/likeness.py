r"""`like`: a text with `%` for any characters, `_` for exactly one, and `\` before what is meant.

A pattern falls into stretches between its `%`. Each is looked for behind the one before, at the
first place where it fits; nothing is ever tried again, so what a pattern costs is bounded.
Characters are those of UTF-8; a byte that belongs to none is a character of its own. Where no `_`
counts them, bytes are compared as they are, which comes to the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

STRETCH_MAX = 32
"""Characters between two `%` where `_` is among them: each may be tried at every place."""

ONE, ANY = "_", "%"
ESCAPE = "\\"


class BadPattern(Exception):
    """The reason is its text."""


Piece = tuple[str, bool]
"""A character, and whether it is a wildcard."""


def like(pattern: str) -> Callable[[bytes], bool]:
    stretches: list[list[Piece]] = [[]]
    for piece in _pieces(pattern):
        if piece == (ANY, True):
            stretches.append([])
        else:
            stretches[-1].append(piece)
    if any((ONE, True) in each for each in stretches):
        return _by_characters(stretches)
    return _by_bytes(["".join(each for each, _ in stretch).encode() for stretch in stretches])


def _pieces(pattern: str) -> Iterator[Piece]:
    characters = iter(pattern)
    for each in characters:
        if each != ESCAPE:
            yield each, each in (ONE, ANY)
            continue
        meant = next(characters, None)
        if meant not in (ONE, ANY, ESCAPE):
            raise BadPattern(r"'\' in a pattern stands before '%', '_' or another '\'")
        yield meant, False


def _by_bytes(stretches: list[bytes]) -> Callable[[bytes], bool]:
    first, *middle = stretches
    if not middle:
        return lambda value: value == first
    last = middle.pop()

    def fits(value: bytes) -> bool:
        at = len(first)
        end = len(value) - len(last)
        if end < at or not value.startswith(first) or not value.endswith(last):
            return False
        for each in middle:
            at = value.find(each, at, end)
            if at < 0:
                return False
            at += len(each)
        return True

    return fits


def _by_characters(stretches: list[list[Piece]]) -> Callable[[bytes], bool]:
    if any(len(each) > STRETCH_MAX and (ONE, True) in each for each in stretches[1:-1]):
        raise BadPattern(f"more than {STRETCH_MAX} characters with '_' between two '%'")
    first, *middle = [(re.compile(_expression(each), re.DOTALL), len(each)) for each in stretches]
    if not middle:
        return lambda value: first[0].fullmatch(_characters(value)) is not None
    last = middle.pop()

    def fits(value: bytes) -> bool:
        text = _characters(value)
        at = first[1]
        end = len(text) - last[1]
        if end < at or not first[0].match(text) or not last[0].match(text, end):
            return False
        for expression, size in middle:
            found = expression.search(text, at, end)
            if found is None:
                return False
            at = found.start() + size
        return True

    return fits


def _characters(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _expression(stretch: list[Piece]) -> str:
    return "".join("." if is_wild else re.escape(each) for each, is_wild in stretch)
