"""Transactions, as something that a coordinator looks after."""

from __future__ import annotations

from penstock.coordination.kind import Kind
from penstock.coordination.transaction import expiry
from penstock.coordination.transaction.state import Transaction, Transactions
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode
from penstock.metadata.internal_topics import TRANSACTIONS


def _leaves_no_traces(turn: Turn) -> bool:
    """What is decided changes memory only when it is applied."""
    return False


TRANSACTION: Kind[Transaction] = Kind(
    topic=TRANSACTIONS,
    noun="transaction",
    bad_name=ErrorCode.INVALID_REQUEST,
    keep=Transactions,
    look_at=expiry.look_at,
    begin=expiry.begin,
    expire=expiry.expire,
    has_left_traces=_leaves_no_traces,
)
