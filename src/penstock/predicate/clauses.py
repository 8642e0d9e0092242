"""A term as it was written, and what it means: of a header or the key, or of the timestamp."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from penstock.predicate import instants, questions
from penstock.predicate.instants import Spans
from penstock.predicate.likeness import BadPattern, like
from penstock.predicate.literals import moment_in
from penstock.predicate.questions import Literal, Question
from penstock.predicate.refusal import BadPredicate, Problem
from penstock.predicate.terms import HeaderTerm, KeyTerm, Term, TimeTerm
from penstock.predicate.tokens import Kind, Token, is_bare


class Clause(NamedTuple):
    operand: Token
    operator: str
    """A sign, or in, like, between, or null."""
    values: tuple[Token, ...] = ()
    is_negated: bool = False


def term_of(clause: Clause, text: str) -> Term:
    """Or BadPredicate, at the value of the text that does not fit."""
    operand = clause.operand
    reserved = operand.value.lower() if operand.kind is Kind.WORD else ""
    if reserved == "timestamp":
        spans = _spans(clause, text)
        if clause.is_negated:
            spans = instants.others(spans)
        return TimeTerm(_wording("timestamp", clause), spans)
    question = _question(clause, text)
    if clause.is_negated:
        question = questions.negated(question)
    if reserved == "key":
        return KeyTerm(_wording("key", clause), question)
    return HeaderTerm(operand.value.encode(), _wording(_name(operand.value), clause), question)


# Headers and keys


def _question(clause: Clause, text: str) -> Question:
    if clause.operator == "null":
        return questions.is_null
    if clause.operator == "like":
        return _likeness(clause.values[0], text)
    literals = [_literal(each) for each in clause.values]
    if clause.operator == "in":
        return questions.among(literals)
    if clause.operator == "between":
        return questions.between(*literals)
    return questions.compared(clause.operator, literals[0])


def _literal(value: Token) -> Literal:
    return value.value.encode() if value.kind is Kind.TEXT else Decimal(value.value)


def _likeness(pattern: Token, text: str) -> Question:
    if pattern.kind is not Kind.TEXT:
        reason = f"like takes a pattern in single quotes, found {pattern}"
        raise BadPredicate(Problem.BAD_PATTERN, reason, text, pattern.at)
    try:
        return questions.known(like(pattern.value))
    except BadPattern as error:
        raise BadPredicate(Problem.BAD_PATTERN, str(error), text, pattern.at) from None


# Timestamps


def _spans(clause: Clause, text: str) -> Spans:
    if clause.operator == "null":
        return instants.NEVER
    if clause.operator == "like":
        reason = "timestamp is compared with times, not with patterns"
        raise BadPredicate(Problem.BAD_PATTERN, reason, text, clause.values[0].at)
    moments = [_moment(each, text) for each in clause.values]
    if clause.operator == "in":
        return instants.united((each, each) for each in moments)
    if clause.operator == "between":
        return instants.united([(moments[0], moments[1])])
    return instants.compared(clause.operator, moments[0])


def _moment(value: Token, text: str) -> int:
    if value.kind is Kind.NUMBER:
        return _milliseconds(value, text)
    moment = moment_in(value.value)
    if moment is None:
        reason = (
            f"{value} is no time: write milliseconds since 1970, '2026-11-16' (in UTC), "
            "'2026-11-16T10:00:00Z' or '2026-11-16T10:00:00.250+01:00'"
        )
        raise BadPredicate(Problem.BAD_TIME, reason, text, value.at)
    return moment


def _milliseconds(value: Token, text: str) -> int:
    if "." in value.value:
        reason = f"timestamp counts whole milliseconds since 1970, found {value}"
        raise BadPredicate(Problem.BAD_TIME, reason, text, value.at)
    number = int(value.value)
    if not instants.FIRST <= number <= instants.LAST:
        reason = f"{value} is out of range: no timestamp has more than 64 bits"
        raise BadPredicate(Problem.BAD_NUMBER, reason, text, value.at)
    return number


# Words


def _wording(operand: str, clause: Clause) -> str:
    negation = "not " if clause.is_negated else ""
    values = [each.written for each in clause.values]
    if clause.operator == "null":
        return f"{operand} is {negation}null"
    if clause.operator == "in":
        return f"{operand} {negation}in ({', '.join(values)})"
    return f"{operand} {negation}{clause.operator} {' and '.join(values)}"


def _name(name: str) -> str:
    if is_bare(name):
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
