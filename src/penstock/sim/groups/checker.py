"""Whether a group's history could be that of a coordinator which loses and mixes up nothing.

Owners go by what protocols promise: a member that is out may go on for a while, but none of its
commits is taken any more. Each finding is a line that names the anomaly first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from penstock.sim.groups.history import Commit, Found, GroupHistory, Term

Terms = dict[Term, list[Commit]]


def check(history: GroupHistory) -> list[str]:
    found: list[str] = []
    for each in history.found:
        found += _invented(history, each)
        found += _went_back(history, each)
    by_partition: dict[int, Terms] = defaultdict(dict)
    for commit in history.commits:
        if commit.is_acknowledged:
            by_partition[commit.term.partition].setdefault(commit.term, []).append(commit)
    for terms in by_partition.values():
        found += _two_owners(terms)
    return found


def _invented(history: GroupHistory, found: Found) -> Iterator[str]:
    if found.number < 0:
        if found.offset >= 0:
            yield f"invented commit: {found}"
        return
    commit = history.commits[found.number] if found.number < len(history.commits) else None
    if commit is None or (commit.term.partition, commit.offset) != (found.partition, found.offset):
        yield f"invented commit: {found} is not {commit}"
    elif commit.is_refused:
        yield f"refused commit: {found.who} found {commit}"


def _went_back(history: GroupHistory, found: Found) -> Iterator[str]:
    """Owners only ever go on, so nothing is below what was acknowledged before."""
    for commit in history.commits:
        is_known = commit.term.partition == found.partition and commit.answered_s < found.asked_s
        if is_known and commit.offset > found.offset:
            yield f"lost commit: {found.who} found {found} after {commit} was acknowledged"
            return


def _two_owners(terms: Terms) -> Iterator[str]:
    """One committed after the other had, and the other after that one."""
    for (one, ones), (other, others) in combinations(terms.items(), 2):
        if _follows(ones, others) and _follows(others, ones):
            yield f"two owners: commits of {one} and {other} are taken in turn"


def _follows(earlier: list[Commit], later: list[Commit]) -> bool:
    """Whether one of the latter was asked for after one of the former had been acknowledged."""
    return min(each.answered_s for each in earlier) < max(each.asked_s for each in later)
