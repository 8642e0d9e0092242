"""A predicate, ready to be asked: of a record, and of a batch that nobody has opened."""

from __future__ import annotations

from typing import final

from penstock.predicate.judging import Judge, Values, judge_of
from penstock.predicate.parsing import tree_of
from penstock.predicate.pruning import TRUE, Summary, answers
from penstock.predicate.refusal import BadPredicate, Problem
from penstock.predicate.terms import HeaderTerm, KeyTerm, TimeTerm, terms_in, wording
from penstock.predicate.tokens import TEXT_MAX


@final
class Predicate:
    """`text` is canonical: the same words give the same, however they were spaced.

    `judge(key, timestamp, values)` takes the values of `names`, in their order.
    """

    __slots__ = ("_node", "judge", "names", "text", "uses_key", "uses_timestamp")

    def __init__(self, text: str) -> None:
        node = tree_of(text)
        terms = list(terms_in(node))
        names = dict.fromkeys(each.name for each in terms if isinstance(each, HeaderTerm))
        self._node = node
        self.text = wording(node)
        self.names = tuple(names)
        self.uses_key = any(isinstance(each, KeyTerm) for each in terms)
        self.uses_timestamp = any(isinstance(each, TimeTerm) for each in terms)
        self.judge: Judge = judge_of(node, self.names)

    def settle(self, values: Values) -> bool | None:
        """The verdict, where these values decide it whatever key and timestamp are; else None."""
        known = {name: (value,) for name, value in zip(self.names, values, strict=True)}
        found = answers(self._node, Summary(values=known))
        if not found & TRUE:
            return False
        return True if found == TRUE else None

    def may_match(self, summary: Summary) -> bool:
        """False only where no record of a batch with this summary matches."""
        return bool(answers(self._node, summary) & TRUE)

    def __repr__(self) -> str:
        return f"Predicate({self.text!r})"


def parse(text: str) -> Predicate:
    """Or BadPredicate. The canonical text can always be parsed again: it has the same limit."""
    predicate = Predicate(text)
    size = len(predicate.text)
    if size > TEXT_MAX:
        reason = f"a predicate of {size} characters, evenly spaced; at most {TEXT_MAX} are taken"
        raise BadPredicate(Problem.TOO_LONG, reason, text, len(text))
    return predicate
