"""A transaction of a producer: all of its messages and offsets are seen, or none."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import KafkaError, KafkaException

from penstock.sdk.errors import (
    Fenced,
    Misconfigured,
    PenstockError,
    TimedOut,
    TransactionAborted,
)
from penstock.sdk.semantics import Delivery
from penstock.sdk.translation import error_of, kind_of, told, translated

if TYPE_CHECKING:
    from penstock.sdk.consumer import Consumer
    from penstock.sdk.producer import Producer

STEP_S_MAX = 5.0
"""For one attempt; librdkafka goes on where it was with the next."""
PAUSE_S = 0.02
GIVEN_UP = "make another producer with its transactional id, which ends what is left open"
NOT_BEGUN = "transaction, commit: it was not begun; `with producer.transaction():` does that"
WAYS_OUT = {"commit": "commit"}
"""What is to be called when a step has timed out, where that is not `abort`."""


class Transaction:
    """Commits at the end of its `with`; aborts on an exception, which goes on."""

    def __init__(self, producer: Producer, rdkafka: Any) -> None:
        self._producer = producer
        self._rdkafka = rdkafka
        self._is_open = False
        self._is_aborting = False
        self._is_given_up = False
        """By whoever has it: at its end there is nothing to be done then."""
        self._lost: PenstockError | None = PenstockError(NOT_BEGUN)
        """Why it cannot be committed."""
        self._consumers: list[Consumer[Any]] = []
        """Which go back if this fails."""

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            if self._is_open or not self._is_given_up:
                self.commit()
            return
        try:
            self.abort()
        except PenstockError as late:
            error.add_note(f"when the transaction was aborted: {late}")

    def prepare(self) -> None:
        """Ends what a process that died has left open: until then, nobody in the group can read
        the partitions whose offsets are in it."""
        self._producer.initialise(self)

    def begin(self) -> None:
        self._producer.begin(self)
        self._is_open, self._is_given_up, self._lost = True, False, None

    def send_offsets(self, consumer: Consumer[Any]) -> None:
        """What the consumer has handed out counts as read if, and only if, this is committed. If
        not, the consumer goes back by itself to what was committed before."""
        if consumer.delivery is not Delivery.EXACTLY_ONCE:
            raise Misconfigured(
                "this consumer commits by itself, whatever becomes of the transaction: make it "
                'with Consumer(..., delivery="exactly-once")'
            )
        self._consumers.append(consumer)
        self.add_offsets(consumer.places_in_hand(), consumer.group_metadata())

    def add_offsets(self, places: list[Any], metadata: Any) -> None:
        if places:
            self.steadily(
                "offsets",
                lambda limit_s: self._rdkafka.send_offsets_to_transaction(
                    places, metadata, limit_s
                ),
            )

    def commit(self) -> None:
        """Returns when it is committed. Else it is aborted, and TransactionAborted says why; so it
        does if that was before, and whoever was told has passed over it."""
        if self._is_aborting and self._is_open:
            self._abort()
        if self._lost is not None:
            raise self._lost
        if not self._is_open:
            return
        try:
            self.steadily("commit", self._rdkafka.commit_transaction)
        except BaseException as error:
            self._send_back()
            if isinstance(error, PenstockError) and error.code == "_STATE":
                # an interrupted call has ended it
                self._lost = error
                self._over()
            raise
        self._over()

    def abort(self) -> None:
        """After TimedOut, it is to be called again."""
        if self._is_open:
            self._is_given_up = True
            self._abort()

    def _abort(self) -> None:
        self._is_aborting = True
        self._lost = self._lost or TransactionAborted("transaction, commit: it was aborted before")
        self._send_back()
        try:
            self.steadily("abort", self._rdkafka.abort_transaction)
        except TimedOut:
            raise
        except PenstockError:
            self._over()
            raise
        self._over()

    def _send_back(self) -> None:
        for each in self._consumers:
            each.rewind_later()

    def _over(self) -> None:
        self._is_open = False
        self._producer.ended()

    def steadily(self, step: str, call: Callable[[float], Any]) -> None:
        """Again while librdkafka says that this may help, for as long as the producer waits."""
        deadline = time.monotonic() + self._producer.timeout
        while True:
            left_s = max(deadline - time.monotonic(), 0.001)
            try:
                call(min(left_s, STEP_S_MAX))
                return
            except (KafkaException, SystemError) as failure:
                error, is_late = error_of(failure), time.monotonic() >= deadline
                if error is None and is_late:
                    raise
                if error is not None and (is_late or not error.retriable()):
                    raise self._failure(step, error) from None
                time.sleep(PAUSE_S)

    def _failure(self, step: str, error: KafkaError) -> PenstockError:
        about = f"transaction, {step}"
        if error.fatal() or kind_of(error) is Fenced:
            final = translated(about, error)
            if not isinstance(final, Fenced):
                final = PenstockError(f"{final}; {GIVEN_UP}", final.code)
            self._producer.give_up(final)
            self._lost = final
            self._over()
            return final
        if error.txn_requires_abort():
            self._lost = TransactionAborted(
                f"{told(about, error)}: it was aborted, and can be tried again", error.name()
            )
            if step != "abort":
                self._abort()
            return self._lost
        if error.retriable():
            return TimedOut(
                f"{told(about, error)}. The transaction is not over: call its "
                f"{WAYS_OUT.get(step, 'abort')}() again, or read on with "
                "`consumer.transactions(producer)`, which does that",
                error.name(),
            )
        return translated(about, error)
