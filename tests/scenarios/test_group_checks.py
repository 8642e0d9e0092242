"""The checks of the group scenarios see what they are there to see."""

from __future__ import annotations

from typing import Any

import pytest
from tests.group_checks import (
    Run,
    check_all_processed,
    check_at_least_once,
    check_at_most_once,
    check_nothing_was_lost_to_the_lively,
    check_owners,
)
from tests.group_journal import Entry

PLACE = ["t", 0]
SENT = {(("t", 0), offset): str(offset) for offset in range(3)}


def told(at: float, what: str) -> Entry:
    return Entry(at, what, {"places": [PLACE]})


def did(at: float, offset: int, value: str | None = None) -> Entry:
    value = str(offset) if value is None else value
    return Entry(at, "processed", {"place": PLACE, "offset": offset, "value": value})


def commit(at: float, what: str, first: int, end: int) -> Entry:
    return Entry(at, what, {"spans": [[*PLACE, first, end]]})


def run(killed: dict[str, float] | None = None, **journals: list[Entry]) -> Run:
    return Run(journals, {name: (killed or {}).get(name) for name in journals})


def fails(check: Any, *arguments: Any, match: str, **options: Any) -> None:
    with pytest.raises(AssertionError, match=match):
        check(*arguments, **options)


def test_owners_one_after_the_other_are_well() -> None:
    check_owners(
        run(
            a=[told(1, "assigned"), told(2, "revoked"), told(5, "assigned")],
            b=[told(3, "assigned"), told(4, "revoked")],
        )
    )


def test_two_owners_at_a_time_are_seen() -> None:
    double = run(a=[told(1, "assigned"), told(3, "revoked")], b=[told(2, "assigned")])
    fails(check_owners, double, match="two owners")


def test_an_owner_that_never_gave_up_still_has_it() -> None:
    fails(check_owners, run(a=[told(1, "assigned")], b=[told(2, "assigned")]), match="two owners")


def test_a_killed_owner_has_it_until_the_kill() -> None:
    journals = {"a": [told(1, "assigned")], "b": [told(3, "assigned")]}
    check_owners(run({"a": 2}, **journals))
    fails(check_owners, run({"a": 4}, **journals), match="two owners")


@pytest.mark.parametrize("since", [0.9, 2])
def test_an_owner_that_stalled_has_it_until_then(since: float) -> None:
    stall = Entry(9, "stalled", {"since": since})
    slow = run(a=[told(1, "assigned"), stall, told(9.1, "lost")], b=[told(5, "assigned")])
    check_owners(slow)
    check_nothing_was_lost_to_the_lively(slow)


def test_a_loss_without_a_stall_is_seen() -> None:
    lively = run(a=[told(1, "assigned"), told(2, "lost")])
    fails(check_nothing_was_lost_to_the_lively, lively, match="was not slow")


def test_a_message_that_is_missing_is_seen() -> None:
    fails(check_at_least_once, run(a=[did(1, 0), did(2, 2)]), SENT, match="never processed")


def test_a_message_that_was_changed_is_seen() -> None:
    changed = run(a=[did(1, 0), did(2, 1, "x"), did(3, 2)])
    fails(check_at_least_once, changed, SENT, match="not what was sent")


def test_what_a_killed_worker_had_not_committed_may_come_again() -> None:
    first = [did(1, 0), commit(2, "committing", 0, 1), commit(3, "committed", 0, 1), did(4, 1)]
    check_at_least_once(run({"a": 5}, a=first, b=[did(6, 1), did(7, 2)]), SENT)


def test_what_was_committed_may_not_come_again() -> None:
    first = [did(1, 0), commit(2, "committing", 0, 1), commit(3, "committed", 0, 1), did(4, 1)]
    again = run({"a": 5}, a=first, b=[did(6, 0), did(7, 1), did(8, 2)])
    fails(check_at_least_once, again, SENT, match="after a commit")


def test_what_a_living_worker_left_uncommitted_may_not_come_again_but_after_a_broken_broker() -> (
    None
):
    refused = [did(1, 0), commit(2, "refused", 0, 1)]
    again = run(a=refused, b=[did(offset + 3, offset) for offset in range(3)])
    fails(check_at_least_once, again, SENT, match="after a commit")
    check_at_least_once(again, SENT, broker_killed=True)


def test_who_has_a_partition_again_after_a_broken_broker_begins_with_what_was_not_committed() -> (
    None
):
    lost = [did(1, 0), commit(2, "committed", 0, 1), did(3, 1), told(4, "lost")]
    rest = [did(6, 1), did(7, 2), commit(8, "committed", 1, 3)]
    again = run(a=[*lost, *rest])
    fails(check_at_least_once, again, SENT, match="after a commit")
    check_at_least_once(again, SENT, broker_killed=True)
    behind = run(a=[*lost, did(5, 0), commit(5.5, "committed", 0, 1), *rest])
    fails(check_at_least_once, behind, SENT, match="after a commit", broker_killed=True)


def test_at_most_once_allows_a_gap_where_a_worker_was_killed_and_only_there() -> None:
    first = [commit(1, "committing", 0, 1), did(2, 0), commit(3, "committing", 1, 2)]
    check_at_most_once(run({"a": 4}, a=first, b=[did(5, 2)]), SENT)
    fails(check_at_most_once, run({"a": 4}, a=first), SENT, match="never processed")
    fails(check_at_most_once, run(a=first, b=[did(5, 2)]), SENT, match="never processed")


def test_at_most_once_allows_nothing_twice() -> None:
    twice = run({"a": 4}, a=[did(1, 0), did(2, 1)], b=[did(5, 1), did(6, 2)])
    fails(check_at_most_once, twice, SENT, match="processed again")


def test_who_is_given_a_partition_begins_where_it_was_committed() -> None:
    first = [told(0, "assigned"), did(1, 0), commit(2, "committed", 0, 1), did(3, 1)]
    check_all_processed(run(a=first, b=[told(4, "assigned"), did(5, 1), did(6, 2)]), SENT)
    again = run(a=first, b=[told(4, "assigned"), did(5, 0), did(6, 1), did(7, 2)])
    fails(check_all_processed, again, SENT, match="before a commit")


def test_who_does_not_know_yet_that_another_one_has_taken_over_may_be_late() -> None:
    late = [told(0, "assigned"), did(1, 0), did(6, 1)]
    check_all_processed(
        run(a=late, b=[told(2, "assigned"), did(3, 1), commit(4, "committed", 0, 2), did(5, 2)]),
        SENT,
    )


def test_nobody_goes_back_behind_a_commit_of_its_own() -> None:
    back = [told(0, "assigned"), did(1, 0), commit(2, "committed", 0, 1), did(3, 0), did(4, 1)]
    fails(check_all_processed, run(a=[*back, did(5, 2)]), SENT, match="went back")


def test_a_message_that_is_processed_before_an_earlier_one_is_seen() -> None:
    mixed = run(a=[told(0, "assigned"), did(1, 0), did(2, 2), did(3, 1)])
    fails(check_all_processed, mixed, SENT, match="2 before")


def test_a_message_that_nobody_has_processed_is_seen() -> None:
    few = run(a=[told(0, "assigned"), did(1, 0)])
    fails(check_all_processed, few, SENT, match="never processed")
