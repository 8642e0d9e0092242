"""Answers that wait, and what ends the waiting."""

from __future__ import annotations

import asyncio
import gc
import weakref
from functools import partial
from typing import Any

from penstock.api.outcome import Later
from penstock.replication.signals import Line, Reached, Signal
from penstock.server.deadlines import Deadlines
from penstock.server.waits import Slot, Waiting

LONG_MS = 10**9


class Answer:
    """Some answer that can be watched."""


def _first(answers: list[Answer], _: bool) -> Answer:
    return answers[0]


def waiting(later: Later[Any], given: list[Any]) -> Waiting:
    return Waiting(Deadlines(asyncio.get_running_loop()), later, given.append)


async def test_a_wait_is_looked_at_each_time_its_source_wakes_it_until_there_is_an_answer() -> None:
    source, answers, given = Signal(), iter([None, None, "done"]), list[Any]()
    waiting(Later([source], lambda _: next(answers), LONG_MS), given)
    for expected in ([], [], ["done"]):
        source.fire()
        assert given == expected
    assert len(source) == 0


async def test_any_of_several_sources_wakes_and_all_are_let_go_at_the_end() -> None:
    sources, given = [Signal(), Signal()], list[Any]()
    waiting(Later(sources, lambda _: "done", LONG_MS), given)
    sources[1].fire()
    assert given == ["done"]
    assert [len(source) for source in sources] == [0, 0]
    sources[0].fire()
    assert given == ["done"]


async def test_who_leaves_while_it_waits_is_let_go_without_a_collector() -> None:
    """The collector of a busy broker does not look at what has lived for long."""
    slot, source = Slot(), Signal()

    class Session:
        def deliver(self, answer: Any) -> None:
            slot.parts = [answer]

    def begin() -> weakref.ref[Session]:
        session = Session()

        def deliver(answer: Any) -> None:
            slot.waiting = None
            session.deliver(answer)

        deadlines = Deadlines(asyncio.get_running_loop())
        slot.waiting = Waiting(deadlines, Later([source], lambda _: None, LONG_MS), deliver)
        return weakref.ref(session)

    session = begin()
    gc.disable()
    try:
        assert session() is not None
        slot.cancel()
        assert session() is None
    finally:
        gc.enable()


async def test_who_is_done_holds_nothing_even_if_it_stands_in_line_still() -> None:
    line, answers = Line(), [Answer()]
    held = weakref.ref(answers[0])
    wait = waiting(Later([Reached(line, 5)], partial(_first, answers.copy()), LONG_MS), [])
    answers.clear()
    assert held() is not None
    wait.cancel()
    assert len(line) == 1
    assert held() is None


async def test_at_the_deadline_there_is_an_answer_whatever_has_happened() -> None:
    source, given = Signal(), list[Any]()
    waiting(Later([source], lambda time_is_up: "empty" if time_is_up else None, 0), given)
    async with asyncio.timeout(30):
        while not given:
            await asyncio.sleep(0)
    assert (given, len(source)) == (["empty"], 0)


async def test_an_error_becomes_the_answer_and_does_not_hit_who_fired() -> None:
    source, given = Signal(), list[Any]()
    problem = ValueError("in a handler")

    def fails(time_is_up: bool) -> None:
        raise problem

    waiting(Later([source], fails, LONG_MS), given)
    source.fire()
    assert given == [problem]


async def test_a_slot_that_is_cancelled_gives_nothing_any_more() -> None:
    source, given, slot = Signal(), list[Any](), Slot()
    slot.waiting = waiting(Later([source], lambda _: "done", 0), given)
    slot.cancel()
    source.fire()
    await asyncio.sleep(0)
    assert (given, len(source)) == ([], 0)


async def test_a_wait_that_is_woken_by_its_own_answer_is_answered_once() -> None:
    source, given = Signal(), list[Any]()

    def answer(time_is_up: bool) -> str:
        source.fire()
        return "done"

    waiting(Later([source], answer, LONG_MS), given)
    source.fire()
    assert given == ["done"]
