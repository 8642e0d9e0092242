"""Partitions that a transaction writes to: added before the first record, or looked for."""

from __future__ import annotations

from collections.abc import Collection

from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import NOBODY, Identity, Place, State, Transaction
from penstock.coordination.transaction.writing import change
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused

PARTITIONS_MAX = 10_000
"""Of one transaction: all of them are written with every change."""


def add(
    turn: Turn, transaction: Transaction, writer: Identity, places: Collection[Place]
) -> ErrorCode:
    """The transaction begins with the first of them."""
    state = _writable(transaction, writer)
    if state.phase is Phase.ONGOING:
        if not state.partitions.issuperset(places):
            _check_count(len(state.partitions | set(places)))
            change(turn, transaction, state, partitions=state.partitions.union(places))
        return ErrorCode.NONE
    _check_count(len(places))
    change(
        turn,
        transaction,
        state,
        phase=Phase.ONGOING,
        partitions=frozenset(places),
        started_ms=turn.now_ms,
    )
    return ErrorCode.NONE


def missing(transaction: Transaction, writer: Identity, places: Collection[Place]) -> set[Place]:
    """Which of them do not belong to the open transaction."""
    state = _writable(transaction, writer)
    if state.phase is not Phase.ONGOING:
        return set(places)
    return set(places) - state.partitions


def _writable(transaction: Transaction, writer: Identity) -> State:
    """What was kept for who has begun anew has its records under another epoch: those of two
    could not be ended by one marker."""
    state = checked(transaction, writer)
    if state.phase.is_prepared:
        raise still_ending(transaction)
    if state.phase is Phase.ONGOING and state.successor != NOBODY:
        raise Refused(
            ErrorCode.INVALID_TXN_STATE,
            f"the transaction of {transaction.name} was kept: commit or abort it first",
        )
    return state


def checked(transaction: Transaction, writer: Identity) -> State:
    """Its state, if that is who may write. Raises Refused otherwise."""
    state = transaction.state
    if state is None or writer.producer_id not in _ids(state):
        raise Refused(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            f"producer {writer.producer_id} does not have transactional id {transaction.name}",
        )
    if writer != state.writer:
        raise Refused(
            ErrorCode.PRODUCER_FENCED,
            f"epoch {writer.epoch} of transactional id {transaction.name} is over: another "
            "producer has begun with it, or its transaction took too long",
        )
    return state


def _ids(state: State) -> tuple[int, int]:
    return state.owner.producer_id, state.writer.producer_id


def still_ending(transaction: Transaction) -> Refused:
    return Refused(
        ErrorCode.CONCURRENT_TRANSACTIONS,
        f"the last transaction of {transaction.name} is still being ended; try again",
    )


def _check_count(count: int) -> None:
    if count > PARTITIONS_MAX:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"a transaction has at most {PARTITIONS_MAX} partitions: commit more often",
        )
