"""How a decision about a transaction is written down."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.coordination.transaction.phases import MOVES, Phase
from penstock.coordination.transaction.state import State, Transaction, written_state
from penstock.coordination.turn import Turn
from penstock.wire.stored.transaction_log import TransactionLogKey

PARTITION_COST = 2
"""Of each partition of a transaction, which is written again with every change, in the unit of
`Pace`."""


def write(turn: Turn, transaction: Transaction, state: State) -> State:
    """What it is from now on. A move that is not in the table is a bug."""
    before = transaction.state
    if before is not None and state.phase not in MOVES[before.phase]:
        raise AssertionError(f"{before.phase} is not followed by {state.phase}")
    state = msgspec.structs.replace(state, updated_ms=turn.now_ms)
    turn.write(TransactionLogKey(transaction.name), written_state(state))
    turn.spend(PARTITION_COST * len(state.partitions))
    if state.phase is Phase.ONGOING and (before is None or before.phase is not Phase.ONGOING):
        wake_in_time(turn, transaction, state)
    return state


def change(turn: Turn, transaction: Transaction, before: State, **fields: Any) -> State:
    return write(turn, transaction, msgspec.structs.replace(before, **fields))


def wake_in_time(turn: Turn, transaction: Transaction, state: State) -> None:
    """When it has been open for as long as its producer has allowed for. Since when is stored by a
    clock that may be set, so that nobody waits longer than that from here on."""
    left_ms = state.started_ms + state.timeout_ms - turn.now_ms
    transaction.due_ms = turn.time_ms + min(max(left_ms, 0), state.timeout_ms)
    turn.wake_at(transaction.due_ms)
