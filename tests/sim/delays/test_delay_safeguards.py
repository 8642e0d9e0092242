"""With a safeguard of delays switched off, runs fail: what passes with it passes because of it."""

from __future__ import annotations

import itertools

import pytest

from penstock.api.schedules import Schedules
from penstock.api.shown import Shown
from penstock.api.sieves import Looked
from penstock.delays.pending import Pending
from penstock.delays.schedule import Event, Schedule
from penstock.server.carrying import Carrying
from penstock.sim.run import play
from penstock.wire.batch import read_header

SEEDS_MAX = 40


def is_caught(scenario: str, anomaly: str, brokers: int = 1) -> bool:
    for seed in range(1, SEEDS_MAX):
        found = play(scenario, seed, brokers=brokers).findings
        if any(each.startswith(anomaly) for each in found):
            return True
    return False


def test_a_leader_that_begins_before_it_knows_what_was_done_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Schedules, "knows_all", lambda self, leader: self.of(leader.log).is_read)
    assert is_caught("delays-due", "duplicate", brokers=3)


def test_copies_that_do_not_count_until_they_are_committed_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, set_aside = itertools.count(), Pending.set_aside

    def often(self: Pending, number: int, offset: int, **more: bool) -> None:
        if next(calls) % 5:  # never would be endless
            set_aside(self, number, offset, **more)

    monkeypatch.setattr(Pending, "set_aside", often)
    assert is_caught("delays-calm", "duplicate")


def test_copies_that_were_undone_and_are_not_tried_again_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Pending, "take_back", lambda *_: 0)
    assert is_caught("delays-full", "stuck")


def test_records_of_open_transactions_that_count_at_once_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def at_once(self: Schedule, event: Event) -> None:
        for entry in event.held:
            self._hold(entry)

    monkeypatch.setattr(Schedule, "_await_end", at_once)
    assert is_caught("delays-calm", "aborted but read")


def test_held_records_that_are_shown_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of_it(_self: Shown, batch: memoryview, *_: object, **__: object) -> Looked:
        header = read_header(batch)
        return Looked(header, batch, (), None, header.size)

    monkeypatch.setattr(Shown, "look", all_of_it)
    assert is_caught("delays-calm", "too early")


def test_a_cancel_that_is_not_looked_up_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is acknowledged for what is being delivered already."""
    monkeypatch.setattr(Schedules, "check", lambda *_: None)
    assert is_caught("delays-calm", "cancelled but read")


def test_retention_that_drops_what_is_held_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def not_at_all(*_: object) -> None:
        return None

    monkeypatch.setattr(Carrying, "make_way", not_at_all)
    assert is_caught("delays-retention", "lost")


def test_what_repeats_and_is_done_with_when_it_was_delivered_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Pending, "move", lambda self, number, *_: self.remove(number))
    assert is_caught("delays-calm", "lost")


def test_what_repeats_and_stays_due_when_it_was_delivered_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, move = itertools.count(), Pending.move

    def often(self: Pending, number: int, due_ms: int, offset: int) -> None:
        entry = self.get(number)
        if entry is not None and not next(calls) % 5:  # always would be endless
            due_ms = entry.due_ms
        move(self, number, due_ms, offset)

    monkeypatch.setattr(Pending, "move", often)
    assert is_caught("delays-calm", "duplicate")
