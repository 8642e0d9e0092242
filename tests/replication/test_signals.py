"""Who waits for a partition, and when they are woken."""

from __future__ import annotations

from penstock.replication.signals import Line, Reached, Signal


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
