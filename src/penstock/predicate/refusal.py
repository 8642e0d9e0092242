"""Why a text is no predicate, and where in it."""

from __future__ import annotations

from enum import Enum

from penstock.errors import ErrorCode, Refused

_SHOWN_MAX = 60
"""Characters of a line that are shown around the place, so that it fits a terminal."""


class Problem(Enum):
    EMPTY = "empty"
    TOO_LONG = "too long"
    TOO_DEEP = "too deep"
    TOO_MANY_TERMS = "too many terms"
    UNKNOWN_CHARACTER = "unknown character"
    UNCLOSED_QUOTE = "unclosed quote"
    UNCLOSED_PARENTHESIS = "unclosed parenthesis"
    MISSING_OPERAND = "missing operand"
    MISSING_OPERATOR = "missing operator"
    TRAILING_TEXT = "trailing text"
    BAD_TEXT = "bad text"
    BAD_NUMBER = "bad number"
    BAD_TIME = "bad time"
    BAD_PATTERN = "bad pattern"


class BadPredicate(Refused):
    """`message` stands alone, for an answer of one line; `str()` shows the place as well."""

    def __init__(self, problem: Problem, message: str, text: str, at: int) -> None:
        super().__init__(ErrorCode.INVALID_REQUEST, message)
        self.problem = problem
        self.text = text
        self.at = at

    def __str__(self) -> str:
        line, caret = _shown(self.text, self.at)
        return f"{self.message}\n  {line}\n  {' ' * caret}^"


def _shown(text: str, at: int) -> tuple[str, int]:
    """The part of the line around a place, and where in it the place is."""
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    first = max(begin, min(at - _SHOWN_MAX // 2, end - _SHOWN_MAX))
    last = min(end, first + _SHOWN_MAX)
    before = "..." if first > begin else ""
    after = "..." if last < end else ""
    line = "".join(each if each.isprintable() else " " for each in text[first:last])
    return f"{before}{line}{after}", len(before) + at - first
