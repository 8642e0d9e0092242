"""With a safeguard switched off, runs fail: what passes with it passes because of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.log import loading, unwritten
from penstock.replication.leader import Leader
from penstock.sim.file import SimFile
from penstock.sim.run import play
from penstock.sim.storage import Content

SEEDS_MAX = 60


def failing(scenario: str) -> Iterator[int]:
    return (seed for seed in range(1, SEEDS_MAX) if play(scenario, seed).findings)


def test_a_disk_that_syncs_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Content, "settle", lambda self, mark: None)
    assert next(failing("power"), None) is not None


def test_an_acknowledgement_before_the_sync_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Leader, "own_end", property(lambda self: self.log.end_offset))
    assert next(failing("power"), None) is not None


def test_producers_forgotten_at_recovery_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "feed", lambda *_: None)
    assert next(failing("kill"), None) is not None


def test_holes_that_count_as_damage_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unwritten, "has_hole", lambda *_: False)
    assert next(failing("torn"), None) is not None


def test_a_page_cache_that_is_believed_after_a_failed_sync_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SimFile, "forget", lambda self, position: None)
    assert next(failing("device"), None) is not None
