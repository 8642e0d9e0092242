"""Read, process, write: a batch of messages, and what is sent because of it, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from penstock.sdk.errors import Misconfigured, PenstockError, TimedOut, TransactionAborted

if TYPE_CHECKING:
    from penstock.sdk.consumer import Consumer
    from penstock.sdk.message import Message
    from penstock.sdk.producer import Producer

V = TypeVar("V")

ABORTS_MAX = 10
"""In a row. What makes every attempt fail does not go away by the next."""
PAUSE_S, PAUSE_S_MAX = 0.05, 1.0
"""Before another attempt, twice as long each time: a group that changes needs a while."""


class Stage(Enum):
    """How far a batch has come; after an exception, what is left to be done about it."""

    NEW = auto()
    OPEN = auto()
    ABORTING = auto()
    COMMITTING = auto()
    OVER = auto()


class Batch(Sequence["Message[V]"], Generic[V]):
    """Messages to be worked on inside `with batch:`.

    At its end, offsets and what was sent are committed together. On an exception all of it is
    aborted, and the same messages come again. Where the cluster has aborted it (the group has
    changed, a broker has died), that is not raised. What could not be ended, because no broker
    answered or somebody pressed Ctrl-C, is ended before the consumer reads on.
    """

    def __init__(self, consumer: Consumer[V], producer: Producer, limit: int) -> None:
        self.transaction = producer.transaction()
        self.aborted: TransactionAborted | None = None
        self.stage = Stage.NEW
        self._consumer = consumer
        self._member = consumer.member_id()
        consumer.batch = self
        self._messages = consumer.cut(limit)

    @overload
    def __getitem__(self, index: int) -> Message[V]: ...

    @overload
    def __getitem__(self, index: slice) -> list[Message[V]]: ...

    def __getitem__(self, index: Any) -> Any:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __enter__(self) -> Self:
        self.stage = Stage.ABORTING
        self.transaction.begin()
        self.stage = Stage.OPEN
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.stage = Stage.ABORTING
        try:
            if error is None:
                self._commit()
                return False
        except TransactionAborted as late:
            self.stage, error = Stage.ABORTING, late
        try:
            self.settle()
        except PenstockError as late:
            error.add_note(f"when the transaction was aborted: {late}")
            raise error from None
        self.aborted = error if isinstance(error, TransactionAborted) else None
        return self.aborted is not None

    def give_up(self) -> None:
        """Nobody will come back from `with batch:`, if it was entered and not left."""
        if self.stage is Stage.OPEN:
            self.stage = Stage.ABORTING

    def _commit(self) -> None:
        metadata = self._consumer.group_metadata()
        if self._consumer.member_id() != self._member:
            raise TransactionAborted("the group has taken its partitions from this consumer")
        self.transaction.add_offsets(self._consumer.places_in_hand(), metadata)
        self.stage = Stage.COMMITTING
        self.transaction.commit()
        self.stage = Stage.OVER

    def settle(self) -> None:
        """Ends what is not over; whoever is to read on calls this before."""
        if self.stage is Stage.OPEN:
            raise Misconfigured("a batch is being worked on: read on after its `with batch:`")
        if self.stage is Stage.COMMITTING:
            self._find_out()
        elif self.stage is not Stage.OVER:
            self._abort()

    def _abort(self) -> None:
        try:
            self.transaction.abort()
        except TimedOut:
            raise
        except PenstockError:
            self._over()
            raise
        self._over()

    def _over(self) -> None:
        self._consumer.buffer.put_back()
        self.stage = Stage.OVER

    def _find_out(self) -> None:
        """Whether it was committed: the group's offsets tell, once the transaction is over."""
        try:
            self.transaction.commit()
        except TimedOut:
            raise
        except PenstockError:
            pass
        self._consumer.rewind()
        self.stage = Stage.OVER


class Batches(Generic[V]):
    """One after the other: what may block is apart from what hands them out, so that it can be
    done in another thread."""

    def __init__(
        self, consumer: Consumer[V], producer: Producer, max_messages: int, max_seconds: float
    ) -> None:
        self._consumer = consumer
        self._producer = producer
        self._max_messages = max_messages
        self._max_seconds = max_seconds
        self._aborts = 0
        self._heard = time.monotonic()

    def prepare(self) -> None:
        """May block."""
        self._producer.transaction().prepare()

    def fill(self) -> None:
        """May block."""
        if self._aborts:
            time.sleep(min(PAUSE_S * 2**self._aborts, PAUSE_S_MAX))
            self._consumer.stay_alive()
        self._consumer.fill_up(self._max_messages, self._max_seconds)

    def cut(self) -> Batch[V] | None:
        """The next, if there are messages."""
        self._consumer.buffer.check()
        if not len(self._consumer.buffer):
            return None
        return Batch(self._consumer, self._producer, self._max_messages)

    def look_back(self, batch: Batch[V]) -> None:
        """At what has become of it."""
        self._heard = time.monotonic()
        if batch.stage is Stage.NEW:
            batch.settle()
            raise Misconfigured(
                "a batch of transactions() was not worked on inside `with batch:`: nothing of it "
                "would be committed"
            )
        self._aborts = self._aborts + 1 if batch.aborted else 0
        if batch.aborted and self._aborts > ABORTS_MAX:
            raise batch.aborted

    @property
    def is_idle(self) -> bool:
        limit_s = self._consumer.idle_timeout
        return limit_s is not None and time.monotonic() - self._heard >= limit_s


def batches_in_transactions(batches: Batches[V]) -> Iterator[Batch[V]]:
    batches.prepare()
    while True:
        batches.fill()
        batch = batches.cut()
        if batch is not None:
            yield batch
            batches.look_back(batch)
        elif batches.is_idle:
            return
