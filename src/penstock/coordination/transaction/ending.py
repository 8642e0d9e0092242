"""How a transaction ends: it is decided and written down, its partitions are told, and it is over.

Clients that speak KIP-890 get the next epoch with every end, so that nothing that was sent before
can count for the next transaction. For others the epoch stays, and moves only when a transaction is
ended over their heads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.coordination.transaction.adding import checked, still_ending
from penstock.coordination.transaction.phases import Phase, completed, prepared
from penstock.coordination.transaction.state import (
    EPOCH_GIVEN_MAX,
    EPOCH_MAX,
    NOBODY,
    Identity,
    State,
    Transaction,
)
from penstock.coordination.transaction.writing import change
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused

WITH_NEW_EPOCH = 2
"""The version of transactions that KIP-890 brought."""
FOR_ANOTHER = 0
"""In place of a version: not by its producer, but because another one begins with its id."""

TakeId = Callable[[], int]


class Ended(NamedTuple):
    identity: Identity
    """Who writes the next transaction."""


def end(
    turn: Turn,
    transaction: Transaction,
    writer: Identity,
    *,
    is_commit: bool,
    version: int,
    take_id: TakeId,
) -> Ended:
    """As the producer wants it."""
    state = transaction.state
    if version >= WITH_NEW_EPOCH:
        if state is not None and _has_ended(state, writer):
            return _repeated(transaction, state, is_commit)
        state = checked(transaction, writer)
        if state.phase is Phase.ONGOING:
            return _end(turn, transaction, state, is_commit, take_id)
        if state.phase.is_over and not is_commit:
            return _abort_nothing(turn, transaction, state, take_id)
        if state.phase.is_prepared:
            raise still_ending(transaction)
        raise _not_open(transaction, state)
    state = checked(transaction, writer)
    if state.phase is Phase.ONGOING:
        change(turn, transaction, state, phase=prepared(is_commit), client_version=version)
        return Ended(state.owner)
    if state.phase in (prepared(is_commit), completed(is_commit)):
        return _repeated(transaction, state, is_commit)
    raise _not_open(transaction, state)


def _has_ended(state: State, writer: Identity) -> bool:
    """Whether this writer's last request has been granted: it has the next epoch since then. If its
    transaction was aborted for another, that epoch shuts it out; so does the last one of an id."""
    if state.phase in (Phase.EMPTY, Phase.ONGOING) or state.client_version < WITH_NEW_EPOCH:
        return False
    if state.writer.epoch > EPOCH_GIVEN_MAX:
        return False
    if writer.next == state.writer:
        return True
    former = state.previous_id if state.successor == NOBODY else state.owner.producer_id
    return state.writer.epoch == 0 and writer == Identity(former, EPOCH_GIVEN_MAX)


def _repeated(transaction: Transaction, state: State, is_commit: bool) -> Ended:
    if state.phase is prepared(is_commit):
        raise still_ending(transaction)
    if state.phase is not completed(is_commit):
        raise _not_open(transaction, state)
    return Ended(state.owner)


def _end(
    turn: Turn, transaction: Transaction, state: State, is_commit: bool, take_id: TakeId
) -> Ended:
    """The markers' epoch shuts out the records that are still under way."""
    successor = NOBODY if state.successor == NOBODY else _later(state.successor)
    if state.writer.is_used_up:
        successor = Identity(take_id(), 0)
    after = change(
        turn,
        transaction,
        state,
        owner=_later(state.owner),
        phase=prepared(is_commit),
        successor=successor,
        client_version=WITH_NEW_EPOCH,
    )
    return Ended(after.writer)


def _later(identity: Identity) -> Identity:
    return Identity(identity.producer_id, min(identity.epoch + 1, EPOCH_MAX))


def _abort_nothing(turn: Turn, transaction: Transaction, state: State, take_id: TakeId) -> Ended:
    """Nothing was added yet that this broker knows of; a record may be under way. So the epoch is
    over all the same."""
    owner, previous_id = state.owner.next, state.previous_id
    if state.owner.is_used_up:
        owner, previous_id = Identity(take_id(), 0), state.owner.producer_id
    change(
        turn,
        transaction,
        state,
        owner=owner,
        previous_id=previous_id,
        phase=Phase.COMPLETE_ABORT,
        client_version=WITH_NEW_EPOCH,
    )
    return Ended(owner)


def abort(turn: Turn, transaction: Transaction, state: State, *, for_another: bool = False) -> None:
    """Over its producer's head, who is shut out by the next epoch. Where that is the last one, the
    next producer to begin gets another id.

    Who has only taken too long may ask to abort, and is given that epoch to go on with.
    """
    change(
        turn,
        transaction,
        state,
        owner=_later(state.owner),
        phase=Phase.PREPARE_ABORT,
        successor=NOBODY if state.successor == NOBODY else _later(state.successor),
        client_version=FOR_ANOTHER if for_another else WITH_NEW_EPOCH,
    )


def complete(turn: Turn, transaction: Transaction) -> None:
    """All partitions know how it has ended."""
    state = transaction.state
    if state is None or not state.phase.is_prepared:
        return
    previous_id, owner = state.previous_id, state.writer
    if owner.producer_id != state.owner.producer_id:
        previous_id = state.owner.producer_id
    change(
        turn,
        transaction,
        state,
        owner=owner,
        phase=completed(state.phase.is_commit),
        partitions=frozenset(),
        previous_id=previous_id,
        successor=NOBODY,
    )


def _not_open(transaction: Transaction, state: State) -> Refused:
    return Refused(
        ErrorCode.INVALID_TXN_STATE,
        f"transactional id {transaction.name} is in state {state.phase.value}",
    )
