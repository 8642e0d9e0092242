"""Numbers of partitions, levelled within and across pools."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.coordination.group.assignors import at_once
from penstock.coordination.group.assignors.balance import Share, balance

MEMBERS = range(8)
counts = st.dictionaries(st.sampled_from(MEMBERS), st.integers(0, 30), min_size=1)
shares = st.lists(st.builds(Share, counts, st.integers(0, 30)), max_size=8)


def balanced(given: list[Share]) -> list[dict[int, int]]:
    return at_once(balance(given))


def test_what_is_free_fills_up_those_who_have_least() -> None:
    assert balanced([Share({0: 3, 1: 0, 2: 1}, free=4)]) == [{0: 3, 1: 3, 2: 2}]


def test_nobody_gives_to_one_who_has_but_one_less() -> None:
    assert balanced([Share({0: 2, 1: 1}, free=0)]) == [{0: 2, 1: 1}]


def test_what_a_member_has_of_another_pool_counts() -> None:
    assert balanced([Share({0: 4}, 0), Share({0: 0, 1: 0}, free=4)]) == [{0: 4}, {0: 0, 1: 4}]


def test_who_has_nothing_of_a_pool_cannot_give_of_it() -> None:
    assert balanced([Share({0: 9}, 0), Share({0: 0, 1: 1}, 0)]) == [{0: 9}, {0: 0, 1: 1}]


@given(shares)
def test_every_pool_is_shared_out_whole_and_among_its_own_members(drawn: list[Share]) -> None:
    for share, after in zip(drawn, balanced(drawn), strict=True):
        assert after.keys() == share.counts.keys()
        assert sum(after.values()) == sum(share.counts.values()) + share.free
        assert min(after.values()) >= 0


@given(shares)
def test_in_no_pool_can_a_member_give_to_one_with_two_fewer(drawn: list[Share]) -> None:
    pools = balanced(drawn)
    loads = [sum(pool.get(member, 0) for pool in pools) for member in MEMBERS]
    for pool in pools:
        most = max((loads[member] for member, count in pool.items() if count), default=0)
        assert most - min(loads[member] for member in pool) <= 1


@given(shares)
def test_what_is_balanced_stays_as_it_is(drawn: list[Share]) -> None:
    pools = balanced(drawn)
    assert balanced([Share(pool, 0) for pool in pools]) == pools


@given(shares)
def test_the_question_is_left_as_it_was(drawn: list[Share]) -> None:
    before = [dict(share.counts) for share in drawn]
    balanced(drawn)
    assert [share.counts for share in drawn] == before
