"""What waits for the same thing waits together, and one of it is tried now and then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.server.held_up import RETRY_MS, RETRY_MS_MAX, HeldUp

MANY = 1000


class Timer:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Loop:
    """Has timers, which end when the test says so."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []
        self.pauses_ms: list[float] = []

    def call_later(self, delay_s: float, call: Callable[..., None], *arguments: Any) -> Timer:
        self.pauses_ms.append(delay_s * 1000)
        self.timers.append(Timer(lambda: call(*arguments)))
        return self.timers[-1]

    def end_timers(self) -> None:
        timers, self.timers = self.timers, []
        for timer in timers:
            if timer.call is not None:
                timer.call()


class Stage:
    def __init__(self) -> None:
        self.loop = Loop()
        self.tried: list[tuple[str, int]] = []
        self.released: list[int] = []
        self.held_up: HeldUp[str, int] = HeldUp(
            self.loop,  # type: ignore[arg-type]
            attempt=lambda cause, item: self.tried.append((cause, item)),
            release=self.released.append,
        )


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_of_thousands_one_is_tried(stage: Stage) -> None:
    for item in range(MANY):
        stage.held_up.add("broker", item)
    for tries in range(1, 5):
        stage.loop.end_timers()
        assert stage.tried == [("broker", 0)] * tries
        stage.held_up.failed("broker", 0)
    assert len(stage.loop.pauses_ms) == 5
    assert len(stage.held_up) == MANY


def test_once_it_is_over_all_others_go_on_in_their_order(stage: Stage) -> None:
    for item in range(3):
        stage.held_up.add("broker", item)
    stage.loop.end_timers()
    stage.held_up.over("broker")
    assert stage.released == [1, 2]
    assert "broker" not in stage.held_up
    stage.loop.end_timers()
    assert len(stage.tried) == 1


def test_it_is_tried_ever_more_seldom_up_to_a_bound(stage: Stage) -> None:
    stage.held_up.add("broker", 0)
    for _ in range(10):
        stage.loop.end_timers()
        stage.held_up.failed("broker", 0)
    pauses = stage.loop.pauses_ms
    assert pauses[:3] == [RETRY_MS, 2 * RETRY_MS, 4 * RETRY_MS]
    assert pauses[-2:] == [RETRY_MS_MAX] * 2


def test_who_comes_while_one_is_tried_waits_for_what_comes_of_it(stage: Stage) -> None:
    stage.held_up.add("broker", 0)
    stage.loop.end_timers()
    stage.held_up.add("broker", 1)
    stage.loop.end_timers()
    assert stage.tried == [("broker", 0)]
    stage.held_up.failed("broker", 0)
    stage.loop.end_timers()
    assert stage.tried == [("broker", 0)] * 2


def test_who_waits_for_something_else_is_tried_by_itself(stage: Stage) -> None:
    stage.held_up.add("broker", 0)
    stage.held_up.add("partition", 1)
    stage.loop.end_timers()
    assert stage.tried == [("broker", 0), ("partition", 1)]
    stage.held_up.over("partition")
    assert "broker" in stage.held_up


def test_it_may_be_over_before_anyone_is_tried(stage: Stage) -> None:
    stage.held_up.add("broker", 0)
    stage.held_up.over("broker")
    stage.held_up.failed("broker", 1)
    stage.loop.end_timers()
    assert stage.released == [0]
    assert stage.tried == [("broker", 1)]


def test_nobody_is_tried_after_the_end(stage: Stage) -> None:
    stage.held_up.add("broker", 0)
    stage.held_up.stop()
    stage.loop.end_timers()
    assert not stage.tried
