"""A transactional id: who may write in its name, and where its latest transaction is."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from penstock.coordination.kept_by_name import KeptByName
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.turn import Event
from penstock.wire.stored.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from penstock.wire.stored_codec import StoredKey

NONE = -1
EPOCH_MAX = 0x7FFF
EPOCH_GIVEN_MAX = EPOCH_MAX - 1
"""The last one is kept to shut out whoever has the one before it."""

Place = tuple[str, int]
"""A topic's name and the number of a partition."""


class Identity(NamedTuple):
    producer_id: int
    epoch: int

    @property
    def is_used_up(self) -> bool:
        return self.epoch >= EPOCH_GIVEN_MAX

    @property
    def next(self) -> Identity:
        return Identity(self.producer_id, self.epoch + 1)


NOBODY = Identity(NONE, NONE)


class State(msgspec.Struct, frozen=True):
    """What is stored of it. Every decision makes a new one."""

    owner: Identity
    """Whose records those of the transaction are."""
    phase: Phase = Phase.EMPTY
    timeout_ms: int = 0
    partitions: frozenset[Place] = frozenset()
    started_ms: int = NONE
    updated_ms: int = NONE
    previous_id: int = NONE
    """The producer id before this one, whose epochs were used up."""
    successor: Identity = NOBODY
    """Who may write, or end the transaction, in the owner's place: once it has ended, if its epochs
    were used up; or at once, if the transaction was kept for a producer that has begun anew."""
    client_version: int = 0
    """Of transactions, as the client spoke that ended the last one: 2 is KIP-890, and stands for
    what has timed out, too, as the epoch moves with it. 0 if it had to make way for another."""

    @property
    def writer(self) -> Identity:
        """Who may speak for the transactional id."""
        return self.owner if self.successor == NOBODY else self.successor


class Transaction:
    __slots__ = ("due_ms", "end", "last_epoch", "name", "state", "wake_ms")

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: State | None = None
        self.last_epoch = NONE
        """That its writer had before it was given the one it has, because it asked for that. Not
        stored: for a request that is repeated."""
        self.due_ms = 0.0
        """When what is open has been so for too long, by a clock that is never set. Not stored."""
        self.end = 0
        self.wake_ms: float | None = None

    @property
    def is_ending(self) -> bool:
        return False

    @property
    def has_work(self) -> bool:
        return False

    @property
    def is_forgotten(self) -> bool:
        return self.state is None


class Transactions(KeptByName[Transaction]):
    """All of one partition of the topic that they are kept in."""

    def __init__(self) -> None:
        super().__init__(Transaction)
        self.prepared: dict[str, None] = {}
        """Those whose partitions are to be told how they end."""

    def leave_out(self, key: StoredKey, problem: str) -> None:
        assert isinstance(key, TransactionLogKey)
        self.unread[key.transactional_id] = problem

    def apply(self, event: Event) -> None:
        assert isinstance(event.key, TransactionLogKey)
        name = event.key.transactional_id
        self.prepared.pop(name, None)
        if event.value is None:
            if (known := self._by_name.get(name)) is not None:
                known.state = None
            return
        assert isinstance(event.value, TransactionLogValue)
        state = self.get_or_add(name).state = read_state(event.value)
        if state.phase.is_prepared:
            self.prepared[name] = None


def read_state(value: TransactionLogValue) -> State:
    places = (
        (each.topic, index)
        for each in value.transaction_partitions or ()
        for index in each.partition_ids
    )
    successor = NOBODY
    if value.next_producer_id != NONE:
        successor = Identity(value.next_producer_id, max(value.next_producer_epoch, 0))
    return State(
        Identity(value.producer_id, value.producer_epoch),
        Phase.of_stored(value.transaction_status),
        value.transaction_timeout_ms,
        frozenset(places),
        value.transaction_start_timestamp_ms,
        value.transaction_last_update_timestamp_ms,
        value.previous_producer_id,
        successor,
        value.client_transaction_version,
    )


def written_state(state: State) -> TransactionLogValue:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(state.partitions):
        topics.setdefault(topic, []).append(index)
    listed = [PartitionsSchema(topic, indexes) for topic, indexes in topics.items()]
    return TransactionLogValue(
        state.owner.producer_id,
        state.previous_id,
        state.successor.producer_id,
        state.owner.epoch,
        state.successor.epoch,
        state.timeout_ms,
        state.phase.stored,
        None if state.phase is Phase.EMPTY else listed,
        state.updated_ms,
        state.started_ms,
        state.client_version,
    )
