"""A predicate as a tree: terms, each about one thing of a record, joined by and, or and not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.predicate.instants import Spans
from penstock.predicate.questions import Question


@dataclass(frozen=True, slots=True)
class HeaderTerm:
    name: bytes
    words: str
    """The term as it is written in the canonical text."""
    question: Question


@dataclass(frozen=True, slots=True)
class KeyTerm:
    words: str
    question: Question


@dataclass(frozen=True, slots=True)
class TimeTerm:
    words: str
    spans: Spans
    """The timestamps for which it is true; for all others it is false, for none unknown."""


@dataclass(frozen=True, slots=True)
class Not:
    node: Node


@dataclass(frozen=True, slots=True)
class And:
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    nodes: tuple[Node, ...]


Term = HeaderTerm | KeyTerm | TimeTerm
Node = Term | Not | And | Or


def terms_in(node: Node) -> Iterator[Term]:
    """In the order of the text."""
    if isinstance(node, Not):
        yield from terms_in(node.node)
    elif isinstance(node, And | Or):
        for each in node.nodes:
            yield from terms_in(each)
    else:
        yield node


def joined(kind: type[And] | type[Or], nodes: list[Node]) -> Node:
    """One of a kind within the same kind says nothing more, so it is taken apart."""
    flat: list[Node] = []
    for each in nodes:
        flat += each.nodes if isinstance(each, kind) else (each,)
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def wording(node: Node) -> str:
    """The canonical text: one space between words, and no parentheses that could be left out."""
    if isinstance(node, Not):
        return f"not {_within(node.node)}"
    if isinstance(node, And):
        return " and ".join(_within(each) for each in node.nodes)
    if isinstance(node, Or):
        return " or ".join(wording(each) for each in node.nodes)
    return node.words


def _within(node: Node) -> str:
    text = wording(node)
    return f"({text})" if isinstance(node, And | Or) else text
