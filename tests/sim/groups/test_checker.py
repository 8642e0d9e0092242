"""Each anomaly of a group is found where it is, and nothing where there is none."""

from __future__ import annotations

from penstock.sim.groups.checker import check
from penstock.sim.groups.history import Commit, Found, GroupHistory, Term

ONE, OTHER = Term("one", 0, 1), Term("other", 0, 2)


def committed(made: GroupHistory, term: Term, offset: int, at_s: float) -> Commit:
    """Asked for at a time, and acknowledged half a second later."""
    commit = made.commit(term, offset, at_s)
    commit.answered_s = at_s + 0.5
    return commit


def found(made: GroupHistory, commit: Commit | None, at_s: float) -> None:
    offset, number = (commit.offset, commit.number) if commit else (-1, -1)
    made.found.append(Found("somebody", 0, offset, number, at_s))


def kinds(made: GroupHistory) -> set[str]:
    return {finding.partition(":")[0] for finding in check(made)}


def test_owners_one_after_the_other_have_no_findings() -> None:
    made = GroupHistory()
    found(made, None, 0)
    committed(made, ONE, 3, 1)
    found(made, committed(made, ONE, 5, 2), 3)
    committed(made, OTHER, 6, 4)
    assert check(made) == []


def test_an_acknowledged_commit_that_is_not_there_is_lost() -> None:
    made = GroupHistory()
    earlier = committed(made, ONE, 3, 1)
    committed(made, ONE, 5, 2)
    found(made, earlier, 3)
    assert kinds(made) == {"lost commit"}


def test_what_is_found_before_a_commit_is_acknowledged_may_be_what_was_there_before() -> None:
    made = GroupHistory()
    earlier = committed(made, ONE, 3, 1)
    committed(made, ONE, 5, 2)
    found(made, earlier, 2.4)
    assert check(made) == []


def test_a_commit_of_which_nobody_knows_may_be_there_or_not() -> None:
    made = GroupHistory()
    unknown = made.commit(ONE, 3, 1)
    found(made, None, 2)
    found(made, unknown, 3)
    assert check(made) == []


def test_a_commit_that_was_refused_must_not_be_there() -> None:
    made = GroupHistory()
    refused = made.commit(ONE, 3, 1)
    refused.is_refused = True
    found(made, refused, 2)
    assert kinds(made) == {"refused commit"}


def test_an_offset_that_nobody_committed_is_invented() -> None:
    made = GroupHistory()
    commit = committed(made, ONE, 3, 1)
    made.found.append(Found("somebody", 0, 4, commit.number, 2))
    made.found.append(Found("somebody", 0, 4, 7, 2))
    made.found.append(Found("somebody", 0, 4, -1, 2))
    assert len(check(made)) == 3
    assert kinds(made) == {"invented commit"}


def test_two_whose_commits_are_taken_in_turn_own_a_partition_both() -> None:
    made = GroupHistory()
    committed(made, ONE, 3, 1)
    committed(made, OTHER, 5, 2)
    assert check(made) == []
    committed(made, ONE, 6, 3)
    assert kinds(made) == {"two owners"}
