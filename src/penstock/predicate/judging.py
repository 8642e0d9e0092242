"""A tree as a function of one record: is it true?

Only truth is asked for in the end, so nothing here has three values: `and` is true where all its
parts are and false where one is, `or` the other way round, and `not` asks for the opposite. What
is unknown is neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.predicate import instants
from penstock.predicate.instants import Spans
from penstock.predicate.questions import Question
from penstock.predicate.terms import And, HeaderTerm, KeyTerm, Node, Not, Or, Term

Values = Sequence[bytes | None]
Judge = Callable[[bytes | None, int, Values], bool]
"""Of a record's key, its timestamp, and the values of the headers that are asked for."""


def judge_of(node: Node, names: Sequence[bytes], wanted: bool = True) -> Judge:
    """Whether the node is true; with `wanted` False, whether it is false."""
    if isinstance(node, Not):
        return judge_of(node.node, names, not wanted)
    if isinstance(node, And | Or):
        parts = [judge_of(each, names, wanted) for each in node.nodes]
        return _all(parts) if isinstance(node, And) == wanted else _any(parts)
    return _term(node, names, wanted)


def _all(parts: Sequence[Judge]) -> Judge:
    def judge(key: bytes | None, timestamp: int, values: Values) -> bool:
        for part in parts:  # noqa: SIM110  a generator would take twice as long
            if not part(key, timestamp, values):
                return False
        return True

    return judge


def _any(parts: Sequence[Judge]) -> Judge:
    def judge(key: bytes | None, timestamp: int, values: Values) -> bool:
        for part in parts:  # noqa: SIM110
            if part(key, timestamp, values):
                return True
        return False

    return judge


def _term(term: Term, names: Sequence[bytes], wanted: bool) -> Judge:
    if isinstance(term, HeaderTerm):
        return _header(names.index(term.name), term.question, wanted)
    if isinstance(term, KeyTerm):
        question = term.question
        return lambda key, _, __: question(key) is wanted
    return _time(term.spans if wanted else instants.others(term.spans))


def _time(spans: Spans) -> Judge:
    """Nearly always there is one span."""
    if len(spans) == 1:
        ((first, last),) = spans
        return lambda _, timestamp, __: first <= timestamp <= last
    return lambda _, timestamp, __: instants.holds(spans, timestamp)


def _header(place: int, question: Question, wanted: bool) -> Judge:
    return lambda _, __, values: question(values[place]) is wanted
