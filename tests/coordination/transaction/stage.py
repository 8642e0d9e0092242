"""A coordinator of transactions without a broker: turns are decided, written as bytes, read, and
applied. Time is moved by hand, and at any moment the coordinator can be lost and loaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from tests.api.desk import CountingChance

from penstock.config import BrokerConfig
from penstock.coordination.transaction import expiry
from penstock.coordination.transaction.adding import add, missing
from penstock.coordination.transaction.beginning import Asked, Begun, begin
from penstock.coordination.transaction.ending import complete, end
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import (
    NOBODY,
    Identity,
    Place,
    State,
    Transaction,
    Transactions,
    written_state,
)
from penstock.coordination.turn import Event, Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import TRANSACTIONS
from penstock.wire.stored.transaction_log import TransactionLogKey
from penstock.wire.stored_codec import decode_key, decode_value, encode_key, encode_value

R = TypeVar("R")

NAME = "payments"
NOW_MS = 1_750_000_000_000
TIMEOUT_MS = 60_000
ORDERS: Place = ("orders", 0)


class Stage:
    def __init__(self, **settings: Any) -> None:
        self.config = replace(BrokerConfig(), **settings)
        self.image = Image()
        self.chance = CountingChance()
        self.kept = Transactions()
        self.time_ms = 1_000.0
        self.set_by_ms = 0
        """How far the clock on the wall was set from what it was."""
        self.log: dict[bytes, bytes | None] = {}
        self._ids = count(100)

    @property
    def transaction(self) -> Transaction:
        return self.kept.get_or_add(NAME)

    @property
    def state(self) -> State:
        state = self.transaction.state
        assert state is not None
        return state

    @property
    def phase(self) -> Phase:
        return self.state.phase

    def is_in(self, phase: Phase) -> bool:
        return self.phase is phase

    # -- turns

    def turn(self) -> Turn:
        now_ms = NOW_MS + int(self.time_ms) + self.set_by_ms
        return Turn(self.config, self.image, self.chance, now_ms, self.time_ms)

    def run(self, decide: Callable[[Turn, Transaction], R]) -> R:
        transaction, turn = self.transaction, self.turn()
        answer = decide(turn, transaction)
        for event in turn.events:
            self._write(event)
        self._arm(turn)
        return answer

    def _arm(self, turn: Turn) -> None:
        known = self.transaction.wake_ms
        if turn.wake_ms is not None and (known is None or turn.wake_ms < known):
            self.transaction.wake_ms = turn.wake_ms

    def _write(self, event: Event) -> None:
        raw, value = event.encoded()
        self.log.pop(raw, None)
        self.log[raw] = value
        self.kept.apply(_read(raw, value))

    def put(self, state: State) -> None:
        """As if it had come to this."""
        raw = encode_key(TransactionLogKey(NAME))
        self.log[raw] = value = encode_value(written_state(state))
        self.kept.apply(_read(raw, value))

    def wait(self, ms: float) -> None:
        """Time passes, and the transaction is looked at whenever it has asked for that."""
        end_ms = self.time_ms + ms
        for _ in range(100):
            wake_ms = self.transaction.wake_ms
            if wake_ms is None or wake_ms > end_ms:
                break
            self.time_ms, self.transaction.wake_ms = max(self.time_ms, wake_ms), None
            self.run(expiry.expire)
        else:
            raise AssertionError("it asks to be looked at without end")
        self.time_ms = end_ms

    def reload(self) -> None:
        """Another coordinator takes over."""
        self.kept = Transactions()
        for raw, value in self.log.items():
            self.kept.apply(_read(raw, value))
        for transaction in list(self.kept):
            turn = self.turn()
            expiry.begin(turn, transaction, None)
            self._arm(turn)

    # -- what producers ask

    def begin(self, known: Identity = NOBODY, **asked: Any) -> Begun:
        """Raises Refused."""
        request = Asked(asked.pop("timeout_ms", TIMEOUT_MS), known, **asked)
        return self.run(lambda turn, one: begin(turn, one, request, self.take_id))

    def begun(self, known: Identity = NOBODY, **asked: Any) -> Identity:
        """The identity that it is given, at once."""
        given = self.begin(known, **asked)
        assert given.error is ErrorCode.NONE
        return given.identity

    def take_id(self) -> int:
        return next(self._ids)

    def add(self, writer: Identity, *places: Place) -> None:
        self.run(lambda turn, one: add(turn, one, writer, places or (ORDERS,)))

    def missing(self, writer: Identity, places: Collection[Place]) -> set[Place]:
        return self.run(lambda turn, one: missing(one, writer, places))

    def end(self, writer: Identity, *, is_commit: bool = True, version: int = 2) -> Identity:
        """Who writes the next one."""
        return self.run(
            lambda turn, one: end(
                turn, one, writer, is_commit=is_commit, version=version, take_id=self.take_id
            )
        ).identity

    def complete(self) -> None:
        self.run(complete)

    def transact(self, writer: Identity, *, is_commit: bool = True, version: int = 2) -> Identity:
        """A whole transaction."""
        self.add(writer)
        after = self.end(writer, is_commit=is_commit, version=version)
        self.complete()
        return after


def refusal(call: Callable[[], object]) -> ErrorCode:
    try:
        call()
    except Refused as refused:
        return refused.code
    return ErrorCode.NONE


def _read(raw: bytes, value: bytes | None) -> Event:
    key = decode_key(raw, TRANSACTIONS)
    assert key is not None
    return Event(key, None if value is None else decode_value(key, value))
