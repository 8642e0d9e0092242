"""Regular expressions of RE2, whose time is in proportion to the text, whoever wrote them.

Names are matched together, a line each, which is three times as fast as one by one, wherever that
comes to the same.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import re2

from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import INTERNAL

CHARS_MAX = 1_000
MEMORY_BYTES = 1 << 16
"""For the compiled expression, and for what it remembers while it is matched: the more, the slower
a hostile one can be."""
ALONE = re2.compile(r"\\[AzCQ]|\(\?[a-zA-Z]*-[a-zA-Z]*m")
"""What means another thing in a text of many lines than in a single name: ends of the text, an end
of `(?m)`, and a quotation that may not be closed."""


def check_regex(text: str) -> None:
    if len(text) > CHARS_MAX:
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"the expression has {len(text)} characters; at most {CHARS_MAX} are taken",
        )
    try:
        _compiled(text)
        if not ALONE.search(text):
            _compiled(f"(?m)^(?:{text})$")
    except re2.error as error:
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"{text[:100]!r} is not an RE2 expression that can be used: {_reason(error)}",
        ) from None


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else b""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def matching(text: str, names: Collection[str]) -> frozenset[str]:
    """Those that the expression matches as a whole; of one that RE2 takes no more, none."""
    names = [name for name in names if name not in INTERNAL]
    try:
        if ALONE.search(text):
            one = _compiled(text)
            return frozenset(name for name in names if one.fullmatch(name))
        return frozenset(_compiled(f"(?m)^(?:{text})$").findall("\n".join(names))) & set(names)
    except re2.error:
        return frozenset()


@lru_cache(maxsize=1_000)
def _compiled(text: str) -> Any:
    options = re2.Options()
    options.max_mem = MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    options.never_nl = True
    return re2.compile(text, options)
