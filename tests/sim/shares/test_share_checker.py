"""Findings about shares: each of them is told, and a run without one is not suspected."""

from __future__ import annotations

import pytest

from penstock.coordination.share import deciding
from penstock.sim.run import play
from penstock.sim.shares.checker import check
from penstock.sim.shares.history import NOTHING, ShareHistory, Step, Value


def wrote(history: ShareHistory, epoch: int, *, ends: bool = True) -> Step:
    step = history.writes(0, epoch)
    if ends:
        history.ends(step)
    return step


def read(history: ShareHistory, epoch: int, value: Value) -> None:
    step = history.reads(0, epoch)
    step.value = value
    history.ends(step)


def test_leaders_that_follow_each_other_are_not_suspected() -> None:
    history = ShareHistory()
    read(history, 0, NOTHING)
    wrote(history, 0)
    unknown = wrote(history, 0, ends=False)
    read(history, 2, unknown.value)
    read(history, 2, wrote(history, 2).value)
    assert not check(history)


def test_a_value_that_was_acknowledged_and_is_gone_is_found() -> None:
    history = ShareHistory()
    first, _ = wrote(history, 0), wrote(history, 0)
    read(history, 1, first.value)
    assert "was acknowledged" in check(history)[0]


def test_a_leader_that_writes_after_the_next_one_has_read_is_found() -> None:
    history = ShareHistory()
    read(history, 1, NOTHING)
    wrote(history, 0)
    assert "after 1 had read" in check(history)[0]


def test_what_changes_behind_a_leader_that_has_read_it_is_found() -> None:
    history = ShareHistory()
    late = wrote(history, 0, ends=False)
    read(history, 1, NOTHING)
    read(history, 1, late.value)
    assert "was found there" in check(history)[0]


def test_a_value_that_nobody_has_written_is_found() -> None:
    history = ShareHistory()
    read(history, 1, Value(0, 5))
    assert "nobody has written it" in check(history)[0]


def test_leaders_that_are_not_shut_out_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not play("share-pause", 2, brokers=3).findings
    monkeypatch.setattr(deciding, "_check_leader_epoch", lambda *_: None)
    assert any(play("share-pause", seed, brokers=3).findings for seed in range(2, 40))
