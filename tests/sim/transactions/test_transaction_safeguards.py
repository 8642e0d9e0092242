"""With a safeguard of transactions switched off, runs fail: what passes with it passes because of
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.api.handlers import k27_write_txn_markers
from penstock.api.shard import Shard
from penstock.api.speaking import Speakers
from penstock.coordination.transaction import expiry
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import Identity, Place, State, Transaction
from penstock.coordination.transaction.writing import change
from penstock.coordination.turn import Turn
from penstock.server import ending_transactions
from penstock.server.verifying import Verifying
from penstock.sim.run import play

SEEDS_MAX = 60


def is_caught(scenario: str, brokers: int = 1, *, first: int = 1) -> bool:
    """From the first seed on. Where the moment is short, that should be one that is near it."""
    seeds = range(first, first + SEEDS_MAX)
    return any(play(scenario, seed, brokers=brokers).findings for seed in seeds)


def test_records_of_partitions_that_are_not_looked_for_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verify = Verifying.verify

    async def all_right(
        self: Verifying, name: str, writer: Identity, places: Sequence[Place], *, add: bool
    ) -> Any:
        if add:
            return await verify(self, name, writer, places, add=add)
        return dict.fromkeys(places, 0)

    monkeypatch.setattr(Verifying, "verify", all_right)
    assert is_caught("txn-late-produce")


def test_an_end_over_a_connection_that_was_given_up_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Speakers, "check", lambda *_: None)
    assert is_caught("txn-late-end")


def test_markers_before_the_decision_is_safe_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hasty:
        is_committed = True

    class AsIfSafe(ending_transactions.EndingTransactions):
        def look(self, shard: Shard[Transaction]) -> None:
            rest, shard.rest = shard.rest, lambda one: Hasty()  # type: ignore[method-assign, assignment, return-value]
            try:
                super().look(shard)
            finally:
                shard.rest = rest  # type: ignore[method-assign]

    monkeypatch.setattr("penstock.server.transaction_upkeep.EndingTransactions", AsIfSafe)
    assert is_caught("txn-prepared", brokers=3, first=178)


def test_markers_over_a_connection_that_was_given_up_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(k27_write_txn_markers, "_refuse_late", lambda *_: None)
    assert is_caught("txn-late-markers", brokers=3)


def test_a_timeout_that_shuts_nobody_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_the_same_epoch(turn: Turn, transaction: Transaction, state: State) -> None:
        change(turn, transaction, state, phase=Phase.PREPARE_ABORT)

    monkeypatch.setattr(expiry, "abort", with_the_same_epoch)
    assert is_caught("txn-timeout")


def test_offsets_that_count_before_their_transaction_does_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def at_once(self: Shard[Any], turn: Turn, end: int) -> None:
        for event in turn.events:
            if event.ready is None:
                self.kept.apply(event)

    monkeypatch.setattr(Shard, "_apply", at_once)
    assert is_caught("txn-calm")
