"""The text of a predicate in pieces: words, names and texts in quotes, numbers, signs."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from penstock.predicate.refusal import BadPredicate, Problem

TEXT_MAX = 4096
"""Characters. A predicate is kept with its view and sent around with it."""
NUMBER_MAX = 40
"""Characters of a number, in a predicate and in a header: nobody counts further."""

SHOWN_MAX = 50
"""Characters of a token that a message repeats."""

KEYWORDS = frozenset({"and", "or", "not", "in", "like", "is", "null", "between"})
RESERVED = frozenset({"key", "timestamp"})

_PIECE = re.compile(
    r"""
      (?P<space>  [ \t\r\n]+ )
    | (?P<word>   [A-Za-z_][A-Za-z0-9_.-]* )
    | (?P<number> [+-]?\.?[0-9][A-Za-z0-9_.]* )
    | (?P<text>   '(?:[^']|'')*+' )
    | (?P<name>   "(?:[^"]|"")*+" )
    | (?P<sign>   <= | >= | <> | != | [=<>(),] )
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")


class Kind(Enum):
    KEYWORD = "keyword"
    WORD = "word"
    NAME = "name"
    TEXT = "text"
    NUMBER = "number"
    SIGN = "sign"
    END = "end"


def shortened(written: str) -> str:
    return written if len(written) <= SHOWN_MAX else f"{written[:SHOWN_MAX]}..."


class Token(NamedTuple):
    """`value` is what was meant: keywords in small letters, quotes and their escapes gone."""

    kind: Kind
    value: str
    at: int
    written: str

    def __str__(self) -> str:
        if self.kind is Kind.END:
            return "the end"
        shown = shortened(self.written)
        return shown if self.kind in (Kind.TEXT, Kind.NAME) else f"'{shown}'"


def is_bare(name: str) -> bool:
    """Whether a header's name needs no quotes."""
    found = _PIECE.match(name)
    if found is None or found.lastgroup != "word" or found.end() != len(name):
        return False
    return name.lower() not in KEYWORDS | RESERVED


def tokens_of(text: str) -> list[Token]:
    """All of them, the end as the last one; BadPredicate at the first that is none."""
    if len(text) > TEXT_MAX:
        reason = f"a predicate of {len(text)} characters; at most {TEXT_MAX} are taken"
        raise BadPredicate(Problem.TOO_LONG, reason, text, TEXT_MAX)
    found: list[Token] = []
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            raise _unreadable(text, at)
        if piece.lastgroup != "space":
            found.append(_token(text, at, str(piece.lastgroup), piece[0]))
        at = piece.end()
    found.append(Token(Kind.END, "", at, ""))
    return found


def _token(text: str, at: int, group: str, written: str) -> Token:
    if group == "word":
        if written.lower() in KEYWORDS:
            return Token(Kind.KEYWORD, written.lower(), at, written)
        return Token(Kind.WORD, written, at, written)
    if group == "number":
        return _number(text, at, written)
    if group == "sign":
        return Token(Kind.SIGN, "!=" if written == "<>" else written, at, written)
    quote = written[0]
    value = written[1:-1].replace(quote * 2, quote)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        reason = f"a character that UTF-8 has no bytes for: {value[error.start]!r}"
        raise BadPredicate(Problem.BAD_TEXT, reason, text, at) from None
    return Token(Kind.TEXT if group == "text" else Kind.NAME, value, at, written)


def _number(text: str, at: int, written: str) -> Token:
    if not _NUMBER.fullmatch(written):
        shown = shortened(written)
        reason = f"'{shown}' is no number: numbers look like 7, -7 or 0.7, and text is in quotes"
        raise BadPredicate(Problem.BAD_NUMBER, reason, text, at)
    if len(written) > NUMBER_MAX:
        reason = f"a number of {len(written)} characters; at most {NUMBER_MAX} are taken"
        raise BadPredicate(Problem.BAD_NUMBER, reason, text, at)
    return Token(Kind.NUMBER, written, at, written)


def _unreadable(text: str, at: int) -> BadPredicate:
    character = text[at]
    if character in "'\"":
        reason = f"the quote {character} is never closed"
        return BadPredicate(Problem.UNCLOSED_QUOTE, reason, text, at)
    reason = f"unknown character {character!r}"
    if character.isalpha():
        reason += ': names with other letters than A to Z go in double quotes, as in "größe"'
    return BadPredicate(Problem.UNKNOWN_CHARACTER, reason, text, at)
