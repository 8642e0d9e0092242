"""InitProducerId with a transactional id: a producer begins, and whoever had the id is shut out.

A transaction that the one before has left open is aborted first, or, if both of them commit in two
phases (KIP-939), kept for the new one to end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.coordination.transaction.ending import abort
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import (
    EPOCH_GIVEN_MAX,
    NOBODY,
    NONE,
    Identity,
    State,
    Transaction,
)
from penstock.coordination.transaction.writing import change, write
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused

NEVER_MS = 0x7FFFFFFF
"""The timeout of who commits in two phases: nobody but its producer ends the transaction."""

TakeId = Callable[[], int]


class Asked(NamedTuple):
    timeout_ms: int
    known: Identity = NOBODY
    """Who the producer is so far, if it wants to go on after an error (KIP-360)."""
    in_two_phases: bool = False
    keep_prepared: bool = False


class Begun(NamedTuple):
    identity: Identity = NOBODY
    ongoing: Identity = NOBODY
    """Whose transaction was kept."""
    error: ErrorCode = ErrorCode.NONE


def begin(turn: Turn, transaction: Transaction, asked: Asked, take_id: TakeId) -> Begun:
    _check(turn, asked)
    timeout_ms = NEVER_MS if asked.in_two_phases else asked.timeout_ms
    state = transaction.state
    if state is None:
        transaction.last_epoch = NONE
        new = State(Identity(take_id(), 0), timeout_ms=timeout_ms)
        return Begun(write(turn, transaction, new).owner)
    is_repeated = _is_repeated(transaction, state, asked.known)
    if state.phase.is_prepared:
        return Begun(error=ErrorCode.CONCURRENT_TRANSACTIONS)
    if state.phase is Phase.ONGOING:
        if asked.keep_prepared and state.timeout_ms == NEVER_MS:
            return _keep(turn, transaction, state, take_id)
        abort(turn, transaction, state, for_another=asked.known != state.writer)
        transaction.last_epoch = asked.known.epoch
        return Begun(error=ErrorCode.CONCURRENT_TRANSACTIONS)
    if is_repeated and state.owner.epoch <= EPOCH_GIVEN_MAX:
        return Begun(_go_on(turn, transaction, state, timeout_ms))
    return Begun(_begin_anew(turn, transaction, state, asked, timeout_ms, take_id))


def _check(turn: Turn, asked: Asked) -> None:
    longest_ms = turn.config.transaction_max_timeout_ms
    if (asked.known.producer_id < 0) != (asked.known.epoch < 0):
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"{asked.known} is half an identity: give a producer id and its epoch, or -1 for both",
        )
    if asked.keep_prepared and not asked.in_two_phases:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "only who commits in two phases can have a prepared transaction to keep",
        )
    if asked.in_two_phases:
        if not turn.config.transaction_two_phase_commit_enable:
            raise Refused(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                "commits in two phases are off: set transaction.two.phase.commit.enable=true",
            )
    elif not 0 < asked.timeout_ms <= longest_ms:
        raise Refused(
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            f"a timeout of {asked.timeout_ms} ms is not above 0 and up to {longest_ms} "
            "(transaction.max.timeout.ms)",
        )


def _is_repeated(transaction: Transaction, state: State, known: Identity) -> bool:
    """Whether the request has been granted before. Raises Refused if another has the id by now."""
    if known in (NOBODY, state.writer):
        return False
    if known.epoch == transaction.last_epoch and _is_next(state, known):
        return True
    raise Refused(
        ErrorCode.PRODUCER_FENCED,
        f"another producer has begun with transactional id {transaction.name}, "
        f"or its transaction took too long: {known} is over",
    )


def _is_next(state: State, known: Identity) -> bool:
    """Whether nobody has had an identity between the two."""
    if known.next == state.writer:
        return True
    return known.producer_id == state.previous_id and known.is_used_up and state.owner.epoch == 0


def _go_on(turn: Turn, transaction: Transaction, state: State, timeout_ms: int) -> Identity:
    """As who it is already. One that has taken too long may ask for more time."""
    if timeout_ms != state.timeout_ms:
        new = State(state.owner, timeout_ms=timeout_ms, previous_id=state.previous_id)
        write(turn, transaction, new)
    return state.owner


def _begin_anew(
    turn: Turn,
    transaction: Transaction,
    state: State,
    asked: Asked,
    timeout_ms: int,
    take_id: TakeId,
) -> Identity:
    owner, previous_id = state.owner.next, state.previous_id
    if state.owner.is_used_up:
        owner, previous_id = Identity(take_id(), 0), state.owner.producer_id
    transaction.last_epoch = asked.known.epoch
    new = State(owner, timeout_ms=timeout_ms, previous_id=previous_id)
    return write(turn, transaction, new).owner


def _keep(turn: Turn, transaction: Transaction, state: State, take_id: TakeId) -> Begun:
    """The transaction stays as it is; who may end it is another one now."""
    successor = state.writer.next
    if state.writer.is_used_up:
        successor = Identity(take_id(), 0)
    change(turn, transaction, state, successor=successor)
    return Begun(successor, state.owner)
