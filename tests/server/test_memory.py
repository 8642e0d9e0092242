"""The memory that requests in flight may take."""

from __future__ import annotations

from penstock.server.memory import POOLED, POOLED_MAX, Budget, Buffers


class Asker:
    def __init__(self, budget: Budget, size: int) -> None:
        self.budget, self.size = budget, size
        self.granted = False

    def ask(self) -> None:
        self.granted = self.budget.take(self.size, self.ask)


def test_what_fits_is_granted_at_once() -> None:
    budget = Budget(100)
    asker = Asker(budget, 60)
    asker.ask()
    assert asker.granted
    assert budget.used == 60


def test_who_finds_none_left_is_called_when_there_is_some() -> None:
    budget = Budget(100)
    first, second = Asker(budget, 60), Asker(budget, 60)
    first.ask()
    second.ask()
    assert [first.granted, second.granted] == [True, False]
    budget.give_back(60)
    assert [second.granted, budget.used] == [True, 60]


def test_those_who_wait_are_served_in_their_order() -> None:
    budget = Budget(100)
    askers = [Asker(budget, 90), Asker(budget, 80), Asker(budget, 10)]
    for asker in askers[:2]:
        asker.ask()
    budget.give_back(90)
    assert askers[1].granted
    askers[2].ask()
    assert askers[2].granted


def test_a_request_larger_than_everything_is_read_alone() -> None:
    budget = Budget(100)
    small, huge = Asker(budget, 10), Asker(budget, 1000)
    small.ask()
    huge.ask()
    assert not huge.granted
    budget.give_back(10)
    assert huge.granted


def test_who_left_is_not_called() -> None:
    budget = Budget(100)
    first, second = Asker(budget, 100), Asker(budget, 50)
    first.ask()
    second.ask()
    budget.forget(second.ask)
    budget.give_back(100)
    assert not second.granted
    assert budget.used == 0


def test_without_a_limit_nobody_waits() -> None:
    budget = Budget(-1)
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
