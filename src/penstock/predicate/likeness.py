r"""`like`: a text with `%` for any characters, `_` for exactly one, and `\` before what is meant.

A pattern falls into stretches between its `%`. Each is looked for behind the one before, at the
first place where it fits; nothing is ever tried again, so what a pattern costs is bounded.
Characters are those of UTF-8; a byte that belongs to none is a character of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

STRETCH_MAX = 32
"""Characters between two `%` where `_` is among them: each may be tried at every place."""

ESCAPES = "\\%_"


class BadPattern(Exception):
    """The reason is its text."""


Stretch = tuple[re.Pattern[str], int]
"""And the characters that it always takes."""


def like(pattern: str) -> Callable[[bytes], bool]:
    first, *others = _stretches(pattern)
    if not others:
        return lambda value: _fits_all(first, _characters(value))
    *middle, last = others
    return lambda value: _fits(first, middle, last, _characters(value))


def _characters(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _fits_all(stretch: Stretch, text: str) -> bool:
    expression, size = stretch
    return len(text) == size and expression.match(text) is not None


def _fits(first: Stretch, middle: list[Stretch], last: Stretch, text: str) -> bool:
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


def _stretches(pattern: str) -> list[Stretch]:
    """As many as there are `%`, and one more; those within are bounded."""
    parts: list[list[str]] = [[]]
    characters = iter(pattern)
    for each in characters:
        if each == "%":
            parts.append([])
        elif each == "_":
            parts[-1].append(".")
        else:
            parts[-1].append(re.escape(_escaped(next(characters, "")) if each == "\\" else each))
    for part in parts[1:-1]:
        if "." in part and len(part) > STRETCH_MAX:
            raise BadPattern(f"more than {STRETCH_MAX} characters with '_' between two '%'")
    return [(re.compile("".join(part), re.DOTALL), len(part)) for part in parts]


def _escaped(character: str) -> str:
    if not character or character not in ESCAPES:
        raise BadPattern(r"'\' in a pattern stands before '%', '_' or another '\'")
    return character
