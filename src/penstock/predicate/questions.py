"""What a term asks of one value of a record: True, False, or None where SQL would say unknown.

A value is a header's or a key's bytes, or None. Text is compared by its bytes; with a number, the
value is read as one first, and unknown where it is none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal

from penstock.predicate.literals import number_in

Question = Callable[[bytes | None], bool | None]
Literal = bytes | Decimal

_SIGNS: dict[str, Callable[[Literal, Literal], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SIGNS = tuple(_SIGNS)


def is_null(value: bytes | None) -> bool | None:
    return value is None


def compared(sign: str, literal: Literal) -> Question:
    holds = _SIGNS[sign]

    def compare_text(value: bytes | None) -> bool | None:
        return None if value is None else holds(value, literal)

    def compare_number(value: bytes | None) -> bool | None:
        number = number_in(value)
        return None if number is None else holds(number, literal)

    return compare_text if isinstance(literal, bytes) else compare_number


def among(literals: Sequence[Literal]) -> Question:
    """`in`: true where one is equal, else unknown where a comparison with one was."""
    texts = frozenset(each for each in literals if isinstance(each, bytes))
    numbers = frozenset(each for each in literals if isinstance(each, Decimal))

    def is_among(value: bytes | None) -> bool | None:
        if value is None:
            return None
        if value in texts:
            return True
        if not numbers:
            return False
        number = number_in(value)
        return None if number is None else number in numbers

    return is_among


def between(low: Literal, high: Literal) -> Question:
    """Both ends belong to it. False where either comparison is, also where the other is unknown."""
    from_low, to_high = compared(">=", low), compared("<=", high)

    def is_between(value: bytes | None) -> bool | None:
        above, below = from_low(value), to_high(value)
        if above is False or below is False:
            return False
        return None if above is None or below is None else True

    return is_between


def known(question: Callable[[bytes], bool]) -> Question:
    """Of a null, nothing is known."""
    return lambda value: None if value is None else question(value)


def negated(question: Question) -> Question:
    def opposite(value: bytes | None) -> bool | None:
        answer = question(value)
        return None if answer is None else not answer

    return opposite
