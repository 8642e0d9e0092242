"""The memory that requests in flight may take."""

from __future__ import annotations

from penstock.server.memory import POOLED, POOLED_MAX, Budget, Buffers, Share


class Asker:
    def __init__(self, budget: Budget | Share, size: int) -> None:
        self.budget, self.size = budget, size
        self.granted = False

    def ask(self) -> None:
        self.granted = self.budget.take(self.size, self.ask)


def test_what_fits_is_granted_at_once() -> None:
    budget = Share(100)
    asker = Asker(budget, 60)
    asker.ask()
    assert asker.granted
    assert budget.used == 60


def test_who_finds_none_left_is_called_when_there_is_some() -> None:
    budget = Share(100)
    first, second = Asker(budget, 60), Asker(budget, 60)
    first.ask()
    second.ask()
    assert [first.granted, second.granted] == [True, False]
    budget.give_back(60)
    assert [second.granted, budget.used] == [True, 60]


def test_those_who_wait_are_served_in_their_order() -> None:
    budget = Share(100)
    askers = [Asker(budget, 90), Asker(budget, 80), Asker(budget, 10)]
    for asker in askers[:2]:
        asker.ask()
    budget.give_back(90)
    assert askers[1].granted
    askers[2].ask()
    assert askers[2].granted


def test_a_request_larger_than_everything_is_read_alone() -> None:
    budget = Share(100)
    small, huge = Asker(budget, 10), Asker(budget, 1000)
    small.ask()
    huge.ask()
    assert not huge.granted
    budget.give_back(10)
    assert huge.granted


def test_who_left_is_not_called() -> None:
    budget = Share(100)
    first, second = Asker(budget, 100), Asker(budget, 50)
    first.ask()
    second.ask()
    budget.forget(second.ask)
    budget.give_back(100)
    assert not second.granted
    assert budget.used == 0


def test_without_a_limit_nobody_waits() -> None:
    budget = Share(-1)
    asker = Asker(budget, 1 << 40)
    asker.ask()
    assert asker.granted


def test_memory_that_was_given_back_is_used_again() -> None:
    buffers = Buffers()
    first = buffers.take(100_000)
    buffers.give_back(first)
    second = buffers.take(50_000)
    assert second.obj is first.obj
    assert len(second) == 50_000


def test_memory_that_is_too_small_is_left_for_others() -> None:
    buffers = Buffers()
    small = buffers.take(1000)
    buffers.give_back(small)
    assert len(buffers.take(1_000_000)) == 1_000_000
    assert buffers.take(1000).obj is small.obj


def test_only_so_much_memory_is_kept() -> None:
    buffers = Buffers()
    taken = [buffers.take(1_000_000) for _ in range(POOLED + 3)]
    huge = buffers.take(POOLED_MAX + 1)
    for memory in (*taken, huge):
        buffers.give_back(memory)
    kept = [buffers.take(1000).obj for _ in range(POOLED + 3)]
    assert sum(any(each is memory.obj for memory in taken) for each in kept) == POOLED


MIB = 1 << 20


def test_large_requests_do_not_keep_ordinary_ones_waiting() -> None:
    budget = Budget(256 * MIB)
    large = [Asker(budget, size * MIB) for size in (100, 100, 56)]
    ordinary = [Asker(budget, POOLED_MAX) for _ in range(33)]
    for asker in (*large, *ordinary):
        asker.ask()
    assert [asker.granted for asker in large] == [True, False, False]
    assert [asker.granted for asker in ordinary] == [True] * 32 + [False]
    assert budget.used <= 256 * MIB
    budget.give_back(POOLED_MAX)
    assert (ordinary[-1].granted, large[1].granted, budget.is_short) == (True, False, True)


def test_ordinary_requests_do_not_keep_large_ones_waiting() -> None:
    budget = Budget(16 * MIB)
    ordinary = [Asker(budget, POOLED_MAX) for _ in range(3)]
    large = [Asker(budget, 100 * MIB) for _ in range(2)]
    for asker in (*ordinary, *large):
        asker.ask()
    assert [asker.granted for asker in large] == [True, False]
    budget.give_back(100 * MIB)
    assert large[1].granted
    assert not ordinary[2].granted


def test_all_of_a_budget_comes_back() -> None:
    budget = Budget(16 * MIB)
    for size in (1, POOLED_MAX, POOLED_MAX + 1):
        assert budget.take(size, lambda: None)
    assert not budget.take(POOLED_MAX, print)
    budget.forget(print)
    for size in (POOLED_MAX + 1, 1, POOLED_MAX):
        budget.give_back(size)
    assert (budget.used, budget.is_short) == (0, False)


def test_a_budget_without_a_limit_has_none_for_large_requests_either() -> None:
    budget = Budget(-1)
    assert budget.take(1 << 40, print)
    assert budget.take(POOLED_MAX, print)
