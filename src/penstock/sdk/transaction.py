"""A transaction of a producer: all of its messages and offsets are seen, or none."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import KafkaError, KafkaException

from penstock.sdk.errors import Fenced, PenstockError, TimedOut, TransactionAborted
from penstock.sdk.translation import kind_of, told, translated

if TYPE_CHECKING:
    from penstock.sdk.consumer import Consumer
    from penstock.sdk.producer import Producer

STEP_S_MAX = 5.0
"""For one attempt; librdkafka goes on where it was with the next."""
PAUSE_S = 0.02


class Transaction:
    """Commits at the end of its `with`; aborts on an exception, which goes on."""

    def __init__(self, producer: Producer, rdkafka: Any) -> None:
        self._producer = producer
        self._rdkafka = rdkafka
        self._is_open = False

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
            self.commit()
            return
        try:
            self.abort()
        except PenstockError as late:
            error.add_note(f"when the transaction was aborted: {late}")

    def begin(self) -> None:
        self._producer.begin(self)
        self._is_open = True

    def send_offsets(self, consumer: Consumer[Any]) -> None:
        """What the consumer has handed out counts as read if, and only if, this is committed."""
        places, metadata = consumer.places_in_hand(), consumer.group_metadata()
        if places:
            self.steadily(
                "offsets",
                lambda limit_s: self._rdkafka.send_offsets_to_transaction(
                    places, metadata, limit_s
                ),
            )

    def commit(self) -> None:
        """Returns when it is committed. Else it is aborted, and TransactionAborted says why."""
        if not self._is_open:
            return
        self.steadily("commit", self._rdkafka.commit_transaction)
        self._over()

    def abort(self) -> None:
        if not self._is_open:
            return
        try:
            self.steadily("abort", self._rdkafka.abort_transaction)
        finally:
            self._over()

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
            except KafkaException as failure:
                error = failure.args[0]
                if not error.retriable() or time.monotonic() >= deadline:
                    raise self._failure(step, error) from None
                time.sleep(PAUSE_S)

    def _failure(self, step: str, error: KafkaError) -> PenstockError:
        about = f"transaction, {step}"
        if error.fatal() or kind_of(error) is Fenced:
            final = translated(about, error)
            self._producer.give_up(final)
            self._over()
            return final
        if error.txn_requires_abort():
            if step != "abort":
                self.abort()
            return TransactionAborted(
                f"{told(about, error)}: it was aborted, and can be tried again", error.name()
            )
        if error.retriable():
            return TimedOut(f"{told(about, error)}; its outcome is not known yet", error.name())
        return translated(about, error)
