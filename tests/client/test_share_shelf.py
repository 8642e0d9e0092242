"""Records that wait to be handed out: few, unless they are taken quickly."""

from __future__ import annotations

from penstock.client.share_held import Held, Phase
from penstock.client.share_shelf import Shelf
from penstock.wire.records import Record


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def some(count: int, until_s: float = 1e9) -> list[Held]:
    records = [Record(offset, 0, None, b"v") for offset in range(count)]
    return [Held(None, (bytes(16), 0), record, 1, until_s) for record in records]


def test_nothing_is_needed_while_nobody_waits() -> None:
    assert Shelf(10, Clock()).need() == 0


def test_what_is_waited_for_is_needed() -> None:
    shelf = Shelf(10, Clock())
    ticket = shelf.listen(3, lambda: None)
    assert shelf.need() == 3
    shelf.withdraw(ticket)
    assert shelf.need() == 0


def test_as_many_are_fetched_ahead_as_are_done_in_half_a_second_up_to_a_limit() -> None:
    clock = Clock()
    shelf = Shelf(10, clock)
    for _ in range(8):
        shelf.note_done()
    assert shelf.need() == 4
    for _ in range(30):
        shelf.note_done()
    assert shelf.need() == 10
    clock.now_s += 1.5
    assert shelf.need() == 10
    clock.now_s += 1.5
    assert shelf.need() == 0


def test_nothing_is_fetched_ahead_behind_records_that_are_being_worked_on() -> None:
    shelf = Shelf(10, Clock())
    shelf.put(some(8))
    assert len(shelf.take(8)) == 8
    assert shelf.need() == 0


def test_nothing_is_fetched_ahead_behind_records_that_take_a_second_each() -> None:
    clock = Clock()
    shelf = Shelf(10, clock)
    for _ in range(5):
        shelf.note_done()
        assert shelf.need() == 0
        clock.now_s += 1.1


def test_who_is_to_stop_needs_nothing() -> None:
    shelf = Shelf(10, Clock())
    shelf.listen(3, lambda: None)
    for _ in range(2):
        shelf.note_done()
    assert shelf.need() == 4
    shelf.is_shut = True
    assert shelf.need() == 0


def test_what_has_come_wakes_as_many_as_it_is_for() -> None:
    woken: list[int] = []
    shelf = Shelf(10, Clock())
    for number in range(4):
        shelf.listen(2, lambda number=number: woken.append(number))  # type: ignore[misc]
    shelf.put(some(3))
    assert woken == [0, 1]
    shelf.wake_all()
    assert woken == [0, 1, 2, 3]


def test_what_has_lost_its_lock_while_it_waited_is_not_handed_out() -> None:
    clock = Clock()
    shelf = Shelf(10, clock)
    shelf.put([*some(1, until_s=101.0), *some(1, until_s=200.0)])
    clock.now_s = 102.0
    (taken,) = shelf.take(10)
    assert taken.locked_until_s == 200.0
    assert taken.phase is Phase.OUT


def test_what_is_ours_no_more_is_not_handed_out() -> None:
    shelf = Shelf(10, Clock())
    first, second = some(2)
    shelf.put([first, second])
    first.phase = Phase.LOST
    assert shelf.take(10) == [second]


def test_what_nobody_has_taken_for_a_while_is_stale() -> None:
    clock = Clock()
    shelf = Shelf(10, clock)
    old, new = some(2)
    shelf.put([old])
    clock.now_s += 5
    shelf.put([new])
    assert shelf.stale(clock.now_s - 3) == [old]
    assert shelf.stale(clock.now_s - 30) == []


def test_what_nobody_takes_is_not_fetched_again_at_once() -> None:
    shelf = Shelf(10, Clock())
    for _ in range(4):
        shelf.note_done()
    shelf.slow_down()
    assert shelf.need() == 0
    for _ in range(2):
        shelf.note_done()
    assert shelf.need() == 1


def test_who_comes_just_after_a_record_is_woken_at_once() -> None:
    woken: list[str] = []
    shelf = Shelf(10, Clock())
    shelf.put(some(1))
    shelf.listen(1, lambda: woken.append("late"))
    assert woken == ["late"]


def test_who_comes_just_after_the_end_is_woken_at_once() -> None:
    woken: list[str] = []
    shelf = Shelf(10, Clock())
    shelf.is_shut = True
    shelf.wake_all()
    shelf.listen(1, lambda: woken.append("late"))
    assert woken == ["late"]
