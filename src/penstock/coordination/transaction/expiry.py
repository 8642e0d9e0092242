"""What time does to transactions: those left open are aborted, ids that nobody uses forgotten."""

from __future__ import annotations

from penstock.coordination.pace import Pace
from penstock.coordination.transaction.beginning import NEVER_MS
from penstock.coordination.transaction.ending import abort
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import Transaction
from penstock.coordination.transaction.writing import wake_in_time
from penstock.coordination.turn import Turn
from penstock.log.steps import Steps
from penstock.metadata.image import Image
from penstock.wire.stored.transaction_log import TransactionLogKey


def look_at(image: Image, transaction: Transaction, pace: Pace) -> Steps[None]:
    yield from ()


def begin(turn: Turn, transaction: Transaction, found: None) -> None:
    """A coordinator has been loaded."""
    state = transaction.state
    if state is not None and state.phase is Phase.ONGOING:
        wake_in_time(turn, transaction, state)


def expire(turn: Turn, transaction: Transaction) -> None:
    state = transaction.state
    if state is None or state.phase is not Phase.ONGOING or state.timeout_ms == NEVER_MS:
        return
    if turn.time_ms < transaction.due_ms:
        turn.wake_at(transaction.due_ms)
        return
    abort(turn, transaction, state)
    transaction.last_epoch = state.writer.epoch


class Forgetting:
    """An id that has not been used for long goes."""

    __slots__ = ("is_done",)

    def __init__(self, transaction: Transaction) -> None:
        self.is_done = False

    def go_on(self, turn: Turn, transaction: Transaction) -> None:
        self.is_done = True
        state = transaction.state
        if state is None or not state.phase.is_over:
            return
        if turn.now_ms - state.updated_ms >= turn.config.transactional_id_expiration_ms:
            turn.write(TransactionLogKey(transaction.name), None)
