"""What a predicate may say of any record of a batch, when all that is known is a summary of it.

Every node is given the set of answers that some record might get, as bits. What is told of a term
is exact for its one header; where terms are joined, each combination counts as possible, also
such as no record has. So a set may hold too much, and never too little: a batch without a possible
True has no match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from penstock.predicate import instants
from penstock.predicate.terms import And, HeaderTerm, KeyTerm, Node, Not, Or

TRUE, FALSE, UNKNOWN = 1, 2, 4
ANY = TRUE | FALSE | UNKNOWN
_BIT_OF = {True: TRUE, False: FALSE, None: UNKNOWN}
_IN_ORDER = (FALSE, UNKNOWN, TRUE)
"""`and` is the least of its parts in this order, `or` the greatest."""


class Many(Enum):
    """For the values of a header: too many to list, or nobody has looked."""

    MANY = "many"


MANY: Final = Many.MANY

HeaderValues = Collection[bytes | None] | Many


class Summary(NamedTuple):
    """Of a batch's records: bounds of their timestamps, and the distinct values by header name.

    None stands among the values for records without the header, or with a null in it; of several
    headers of one name, the last one counts. Names that are missing have MANY values.
    """

    least_timestamp: int = instants.FIRST
    greatest_timestamp: int = instants.LAST
    values: Mapping[bytes, HeaderValues] = {}


def answers(node: Node, summary: Summary) -> int:
    """The bits of all that some record of the batch may get as an answer."""
    if isinstance(node, Not):
        return _NEGATED[answers(node.node, summary)]
    if isinstance(node, And | Or):
        table = _CONJOINED if isinstance(node, And) else _DISJOINED
        found = answers(node.nodes[0], summary)
        for each in node.nodes[1:]:
            found = table[found][answers(each, summary)]
        return found
    if isinstance(node, HeaderTerm):
        values = summary.values.get(node.name, MANY)
        return (
            ANY
            if isinstance(values, Many)
            else _bits(_BIT_OF[node.question(each)] for each in values)
        )
    if isinstance(node, KeyTerm):
        return ANY
    return _of_times(node.spans, summary)


def _of_times(spans: instants.Spans, summary: Summary) -> int:
    between = (summary.least_timestamp, summary.greatest_timestamp)
    found = TRUE if instants.meets(spans, *between) else 0
    return found | (FALSE if instants.meets(instants.others(spans), *between) else 0)


def _bits(found: Iterable[int]) -> int:
    bits = 0
    for each in found:
        bits |= each
    return bits


def _members(bits: int) -> list[int]:
    return [each for each in _IN_ORDER if bits & each]


def _joined(choose: Callable[[int, int], int]) -> list[list[int]]:
    """For every two sets, all that may come of one answer from each."""

    def of(left: int, right: int) -> int:
        ranks = [[_IN_ORDER.index(each) for each in _members(bits)] for bits in (left, right)]
        return _bits(_IN_ORDER[choose(one, other)] for one in ranks[0] for other in ranks[1])

    return [[of(left, right) for right in range(ANY + 1)] for left in range(ANY + 1)]


_CONJOINED = _joined(min)
_DISJOINED = _joined(max)
_NEGATED = [
    _bits(_IN_ORDER[2 - _IN_ORDER.index(each)] for each in _members(bits))
    for bits in range(ANY + 1)
]
