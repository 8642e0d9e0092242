"""Several changes as one commit: each is decided on its own, what remains is written at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from penstock.errors import Refused
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.records import CATALOG
from penstock.metadata.store import Put

K = TypeVar("K")
T = TypeVar("T")


def merge(
    image: Image, changes: Mapping[K, Callable[[Image], Commit[T]]]
) -> Commit[dict[K, T | Refused]]:
    """The changes must write to different keys, the catalog apart. The refused write nothing.

    What several delete, a view and its topic, is deleted once: a store may refuse more."""
    answers: dict[K, T | Refused] = {}
    checks: dict[str, int] = {}
    puts: dict[str, bytes] = {}
    deletes: dict[str, None] = {}
    ahead: list[Put] = []
    ahead_checks: dict[str, int] = {}
    behind: list[str] = []
    makes_room = True
    for key, change in changes.items():
        try:
            commit = change(image)
        except Refused as refused:
            answers[key] = refused
            continue
        answers[key] = commit.answer
        checks.update(commit.checks)
        puts.update(commit.puts)
        deletes.update(dict.fromkeys(commit.deletes))
        ahead.extend(commit.ahead)
        ahead_checks.update(commit.ahead_checks)
        behind.extend(commit.behind)
        makes_room &= commit.makes_room
    # The catalog first, where it is written: its nonce tells this commit from all others.
    ordered = sorted(puts.items(), key=lambda put: put[0] != CATALOG)
    return Commit(
        answer=answers,
        checks=list(checks.items()),
        puts=ordered,
        deletes=list(deletes),
        ahead=ahead,
        ahead_checks=list(ahead_checks.items()),
        behind=behind,
        makes_room=makes_room,
    )
