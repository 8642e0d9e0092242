"""What has become of the messages of a producer."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from penstock.sdk.errors import DeliveryFailed, PenstockError
from penstock.sdk.translation import error_of, translated

if TYPE_CHECKING:
    from penstock.sdk.sending import Sending

POLL_EVERY_S = 0.005
PURGE_S_MAX = 1.0
LOST = "librdkafka has given up, and its log, by the logger penstock.sdk, says why: make another"


class Reports:
    """The part of a producer that its messages know: those on their way would keep the producer
    itself alive otherwise, and nobody could tell that it was dropped."""

    def __init__(self, rdkafka: Any) -> None:
        self._rdkafka = rdkafka
        self._failed: list[Sending] = []
        self.final: PenstockError | None = None
        """After this nothing can be sent: every call says why."""
        self._is_given_up = False
        self.needs_attention = False
        """Something is to be done before the next message: so that `send` asks one question."""
        self.poll_due = 0.0

    def poll(self, timeout: float = 0) -> int:
        """Serves what librdkafka has heard; how many messages that was."""
        try:
            return int(self._rdkafka.poll(timeout))
        except (KafkaException, SystemError) as failure:
            raise self._told("delivery reports", failure) from None
        finally:
            self.poll_due = time.monotonic() + POLL_EVERY_S

    def flush(self, limit_s: float) -> int:
        """Waits for all messages; how many are still on their way."""
        try:
            return int(self._rdkafka.flush(limit_s))
        except (KafkaException, SystemError) as failure:
            raise self._told("flush", failure) from None

    def _told(self, about: str, failure: KafkaException | SystemError) -> PenstockError:
        """What is fatal is told by every later call, too. If it is not known, a message that has
        failed by it knows."""
        error = error_of(failure) or next((each.error for each in self._failed), None)
        if error is None:
            plain = PenstockError(f"{about}: {failure}; {LOST}")
        else:
            plain = translated(about, error)
        is_fatal = error is None or error.fatal() or isinstance(failure, SystemError)
        if is_fatal and self.final is None:
            self.final, self.needs_attention = plain, True
        return plain

    def finish(self, limit_s: float) -> None:
        """The same, and what is on its way after that is given up: it has failed then."""
        try:
            self.flush(limit_s)
        finally:
            if len(self._rdkafka):
                self._rdkafka.purge()
                with suppress(PenstockError):  # which was told before
                    self.flush(PURGE_S_MAX)

    def ask_for_attention(self) -> None:
        self.needs_attention = True

    def note_failure(self, sending: Sending) -> None:
        if self._is_given_up:  # which has said it all
            return
        self._failed.append(sending)
        self.needs_attention = True

    def give_up(self, error: PenstockError) -> None:
        """Whoever gives up is told, and is to hear no more of single messages."""
        self.final, self._is_given_up = error, True
        self.needs_attention = True

    def forget_failures(self) -> None:
        self._failed.clear()

    def failure(self, *, keep: bool) -> DeliveryFailed | None:
        """The first that nobody has looked at meanwhile; all are told of by it."""
        unseen = [each for each in self._failed if not each.is_seen]
        self._failed = unseen if keep else []
        self.needs_attention |= bool(self._failed)
        return unseen[0].failure(len(unseen)) if unseen else None
