"""Regular expressions of RE2, whose time is in proportion to the text, whoever wrote them.

Names are matched together, a line each, which is three times as fast as one by one, wherever that
comes to the same. Compiling one takes as long as matching hundreds of characters, so those that
were used last are kept.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import re2

from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import INTERNAL

CHARS_MAX = 1_000
MEMORY_BYTES = 1 << 16
"""For the compiled expression, and for what it remembers while it is matched: the more, the slower
a hostile one can be."""
KEPT_MAX = 512
"""Compiled expressions: 32 MiB, if all take what they may."""
COMPILING_CHARS = 500
MATCHING_CHARS = 30
"""What an expression costs beside the names, in characters of these: to compile it, or to find it
compiled."""
ALONE = re2.compile(r"\\[AzCQ]|\(\?[a-zA-Z]*-[a-zA-Z]*m")
"""What means another thing in a text of many lines than in a single name: ends of the text, an end
of `(?m)`, and a quotation that may not be closed."""


class Kept:
    """Compiled expressions, in the form that they are matched in; the last one used is the last."""

    def __init__(self) -> None:
        self._compiled: dict[str, Any] = {}

    def __contains__(self, text: str) -> bool:
        return text in self._compiled

    def __len__(self) -> int:
        return len(self._compiled)

    def get(self, text: str) -> Any:
        found = self._compiled.pop(text, None) or _compiled(_form(text))
        self._compiled[text] = found
        if len(self._compiled) > KEPT_MAX:
            del self._compiled[next(iter(self._compiled))]
        return found


KEPT = Kept()


def check_regex(text: str) -> None:
    if len(text) > CHARS_MAX:
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"the expression has {len(text)} characters; at most {CHARS_MAX} are taken",
        )
    if text in KEPT:
        return
    try:
        _compiled(text)  # by itself: in its form, brackets that do not match might do so
        KEPT.get(text)
    except re2.error as error:
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"{text[:100]!r} is not an RE2 expression that can be used: {_reason(error)}",
        ) from None


def compiled(text: str) -> Any:
    """To match names by their whole, one at a time. Refused if it is no expression of RE2."""
    check_regex(text)
    return KEPT.get(text)


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else b""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def matching(text: str, names: Collection[str]) -> frozenset[str]:
    """Those that the expression matches as a whole; of one that RE2 takes no more, none."""
    names = [name for name in names if name not in INTERNAL]
    if not names:
        return frozenset()
    try:
        compiled = KEPT.get(text)
    except re2.error:
        return frozenset()
    if ALONE.search(text):
        return frozenset(name for name in names if compiled.fullmatch(name))
    return frozenset(compiled.findall("\n".join(names))) & set(names)


def cost_chars(text: str) -> int:
    """Of matching an expression, beside the names."""
    return MATCHING_CHARS if text in KEPT else COMPILING_CHARS


def _form(text: str) -> str:
    return text if ALONE.search(text) else f"(?m)^(?:{text})$"


def _compiled(text: str) -> Any:
    options = re2.Options()
    options.max_mem = MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    options.never_nl = True
    return re2.compile(text, options)
