"""Who waits for a partition, and when they are woken."""

from __future__ import annotations

from penstock.replication.signals import WOKEN_AT_ONCE, Line, Reached, Signal


def test_a_signal_wakes_each_watcher_once() -> None:
    signal, woken = Signal(), []
    signal.watch(lambda: woken.append(1))
    signal.fire()
    signal.fire()
    assert woken == [1]


def test_who_stopped_watching_is_not_woken_and_not_kept() -> None:
    signal, woken = Signal(), []

    def waiter() -> None:
        woken.append(1)

    signal.watch(waiter)
    signal.unwatch(waiter)
    signal.fire()
    assert woken == []
    assert len(signal) == 0


def test_a_watcher_may_watch_again_while_it_is_woken() -> None:
    signal, woken = Signal(), []

    def waiter() -> None:
        woken.append(1)
        signal.watch(waiter)

    signal.watch(waiter)
    signal.fire()
    signal.fire()
    assert woken == [1, 1]


def test_thousands_are_woken_some_at_a_time_each_once_even_if_all_watch_again() -> None:
    signal, woken = Signal(), []

    def watch(number: int) -> None:
        def waiter() -> None:
            woken.append(number)
            signal.watch(waiter)

        signal.watch(waiter)

    count = 2 * WOKEN_AT_ONCE + 1
    for number in range(count):
        watch(number)
    assert signal.fire_some()
    assert len(woken) == WOKEN_AT_ONCE
    assert signal.wake_more()
    assert not signal.wake_more()
    assert sorted(woken) == list(range(count))
    assert len(signal) == count
    signal.fire()
    assert sorted(woken) == sorted(2 * list(range(count)))


def test_who_stops_watching_before_its_turn_is_not_woken() -> None:
    signal, woken = Signal(), []
    waiters = [lambda number=number: woken.append(number) for number in range(WOKEN_AT_ONCE + 2)]
    for waiter in waiters:
        signal.watch(waiter)
    assert signal.fire_some()
    left = next(each for number, each in enumerate(waiters) if number not in woken)
    signal.unwatch(left)
    assert not signal.wake_more()
    assert len(woken) == WOKEN_AT_ONCE + 1
    assert len(signal) == 0


def test_a_line_wakes_thousands_some_at_a_time() -> None:
    line, woken = Line(), []
    for number in range(WOKEN_AT_ONCE + 1):
        line.watch(5, lambda number=number: woken.append(number))  # type: ignore[misc]
    assert line.reach(5)
    assert woken == list(range(WOKEN_AT_ONCE))
    assert not line.reach(5)
    assert len(woken) == WOKEN_AT_ONCE + 1


def test_a_line_wakes_those_whose_offset_is_reached_and_no_others() -> None:
    line, woken = Line(), []
    for offset in (5, 9, 7):
        line.watch(offset, lambda offset=offset: woken.append(offset))  # type: ignore[misc]
    line.reach(7)
    assert woken == [5, 7]
    line.reach(8)
    assert woken == [5, 7]
    assert len(line) == 1


def test_a_dropped_line_wakes_everyone() -> None:
    line, woken = Line(), []
    line.watch(5, lambda: woken.append(5))
    line.drop()
    assert woken == [5]
    assert len(line) == 0


def test_an_offset_is_put_in_line_once_however_often_it_is_watched() -> None:
    line, woken = Line(), []
    reached = Reached(line, 5)
    for _ in range(3):
        reached.watch(lambda: woken.append(5))
    line.reach(5)
    assert woken == [5]
