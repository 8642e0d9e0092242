"""Tokens to a tree.

any      all { or all }                         sign     = != <> < <= > >=
all      one { and one }                        value    'text' or a number
one      not one | ( any ) | term
term     operand sign value                     operand  a header's name, bare or in
         operand [not] in ( value, ... )                 double quotes; key; timestamp
         operand [not] like 'pattern'
         operand [not] between value and value
         operand is [not] null
"""

from __future__ import annotations

from penstock.predicate.clauses import Clause, term_of
from penstock.predicate.questions import SIGNS
from penstock.predicate.refusal import BadPredicate, Problem
from penstock.predicate.terms import And, Node, Not, Or, Term, joined
from penstock.predicate.tokens import Kind, Token, tokens_of

DEPTH_MAX = 50
"""Of parentheses and nots within each other."""
TERMS_MAX = 256

_OPERATORS = "a comparison, in, like, between or is"
_WORDS = ("in", "like", "between")


def tree_of(text: str) -> Node:
    return _Parser(text).whole()


class _Parser:
    """One token is looked at, and taken by whoever understands it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._at = 0
        self._depth = 0
        self._terms = 0

    def whole(self) -> Node:
        if self._is_over():
            raise self._bad(Problem.EMPTY, "a predicate is empty; write one like region = 'eu'")
        node = self._any()
        if not self._is_over():
            reason = f"expected and, or, or the end, found {self._next}"
            raise self._bad(Problem.TRAILING_TEXT, reason)
        return node

    # Looking and taking

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += token.kind is not Kind.END
        return token

    def _takes(self, kind: Kind, value: str) -> bool:
        """Takes the next token if it is this one."""
        is_it = self._next.kind is kind and self._next.value == value
        self._at += is_it
        return is_it

    def _is_over(self) -> bool:
        return self._tokens[self._at].kind is Kind.END

    def _bad(self, problem: Problem, reason: str, token: Token | None = None) -> BadPredicate:
        return BadPredicate(problem, reason, self._text, (token or self._next).at)

    # The tree

    def _any(self) -> Node:
        nodes = [self._all()]
        while self._takes(Kind.KEYWORD, "or"):
            nodes.append(self._all())
        return joined(Or, nodes)

    def _all(self) -> Node:
        nodes = [self._one()]
        while self._takes(Kind.KEYWORD, "and"):
            nodes.append(self._one())
        return joined(And, nodes)

    def _one(self) -> Node:
        opening = self._next
        if self._takes(Kind.KEYWORD, "not"):
            self._descend(opening)
            node: Node = Not(self._one())
        elif self._takes(Kind.SIGN, "("):
            self._descend(opening)
            node = self._any()
            if not self._takes(Kind.SIGN, ")"):
                raise self._unclosed(opening)
        else:
            return self._term()
        self._depth -= 1
        return node

    def _descend(self, opening: Token) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            reason = f"more than {DEPTH_MAX} parentheses and nots within each other"
            raise self._bad(Problem.TOO_DEEP, reason, opening)

    def _unclosed(self, opening: Token) -> BadPredicate:
        if self._is_over():
            reason = "the parenthesis is never closed"
            return self._bad(Problem.UNCLOSED_PARENTHESIS, reason, opening)
        return self._bad(Problem.TRAILING_TEXT, f"expected and, or, or ')', found {self._next}")

    # Terms

    def _term(self) -> Term:
        self._terms += 1
        if self._terms > TERMS_MAX:
            raise self._bad(Problem.TOO_MANY_TERMS, f"more than {TERMS_MAX} terms")
        return term_of(self._clause(self._operand()), self._text)

    def _operand(self) -> Token:
        token = self._next
        if token.kind in (Kind.WORD, Kind.NAME):
            return self._take()
        reason = f"expected a header's name, key or timestamp, found {token}"
        if token.kind in (Kind.TEXT, Kind.NUMBER):
            reason += ": values go on the right"
        elif token.kind is Kind.KEYWORD:
            reason += f': a header of that name is written "{token.written}"'
        raise self._bad(Problem.MISSING_OPERAND, reason)

    def _clause(self, operand: Token) -> Clause:
        sign = self._next
        if sign.kind is Kind.SIGN and sign.value in SIGNS:
            self._take()
            return Clause(operand, sign.value, (self._value(sign),))
        if self._takes(Kind.KEYWORD, "is"):
            is_negated = self._takes(Kind.KEYWORD, "not")
            if not self._takes(Kind.KEYWORD, "null"):
                raise self._bad(
                    Problem.MISSING_OPERAND, f"expected null after is, found {self._next}"
                )
            return Clause(operand, "null", (), is_negated)
        is_negated = self._takes(Kind.KEYWORD, "not")
        word = self._next
        if word.kind is not Kind.KEYWORD or word.value not in _WORDS:
            expected = "in, like or between after not" if is_negated else _OPERATORS
            raise self._bad(Problem.MISSING_OPERATOR, f"expected {expected}, found {word}")
        self._take()
        return Clause(operand, word.value, self._right_of(word), is_negated)

    def _right_of(self, word: Token) -> tuple[Token, ...]:
        if word.value == "in":
            return self._values()
        if word.value == "like":
            return (self._value(word),)
        low = self._value(word)
        conjunction = self._next
        if not self._takes(Kind.KEYWORD, "and"):
            reason = f"expected and after {low}, found {conjunction}"
            raise self._bad(Problem.MISSING_OPERAND, reason)
        return low, self._value(conjunction)

    def _values(self) -> tuple[Token, ...]:
        opening = self._next
        if not self._takes(Kind.SIGN, "("):
            raise self._bad(Problem.MISSING_OPERAND, f"expected '(' after in, found {self._next}")
        found = [self._value(opening)]
        while self._next.kind is Kind.SIGN and self._next.value == ",":
            found.append(self._value(self._take()))
        if not self._takes(Kind.SIGN, ")"):
            if self._is_over():
                raise self._unclosed(opening)
            raise self._bad(Problem.TRAILING_TEXT, f"expected ',' or ')', found {self._next}")
        return tuple(found)

    def _value(self, before: Token) -> Token:
        token = self._next
        if token.kind in (Kind.TEXT, Kind.NUMBER):
            return self._take()
        reason = f"expected a value after {before}, found {token}"
        if token.kind is Kind.KEYWORD and token.value == "null":
            reason += ": nothing is equal to null; write is null or is not null"
        elif token.kind in (Kind.WORD, Kind.NAME):
            reason += ": text goes in single quotes"
        raise self._bad(Problem.MISSING_OPERAND, reason)
