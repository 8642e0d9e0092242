"""A record that a member of a share group has, and what it says of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any
from weakref import ref

from penstock.client.errors import ClientError
from penstock.errors import ErrorCode
from penstock.sharing.acknowledging import Answer
from penstock.wire.records import Record

Place = tuple[bytes, int]
"""Topic id and partition."""


class Phase(Enum):
    """What has become of a record that we were given."""

    WAITING = "waits to be handed out"
    OUT = "is being worked on"
    SAID = "was spoken of, and that is on its way"
    DONE = "was spoken of"
    LOST = "is ours no more"


class Held:
    __slots__ = (
        "deliveries",
        "is_renewing",
        "keeper",
        "link",
        "locked_until_s",
        "may_renew",
        "phase",
        "place",
        "record",
        "since_s",
    )

    def __init__(
        self, link: object, place: Place, record: Record, deliveries: int, locked_until_s: float
    ) -> None:
        self.link = link
        """The way that it came: what is said of it goes back the same way, or not at all."""
        self.place = place
        self.record = record
        self.deliveries = deliveries
        self.locked_until_s = locked_until_s
        self.phase = Phase.WAITING
        self.since_s = 0.0
        """It is waiting, or out."""
        self.keeper: ref[Any] | None = None
        """What works on it, set by who has taken it. Without it, or once that is gone, the lock is
        not renewed: whoever was interrupted on the way does not keep a record for ever."""
        self.may_renew = True
        self.is_renewing = False

    @property
    def is_kept(self) -> bool:
        return self.keeper is not None and self.keeper() is not None

    def is_dropped(self, now: float) -> bool:
        has_ended = self.phase is Phase.OUT and self.locked_until_s < now
        return has_ended and not (self.is_renewing or self.is_kept)


OnDone = Callable[[ClientError | None], None]


class Ack:
    """What is said of one record, and who is to hear what came of it."""

    __slots__ = ("answer", "delay_ms", "held", "on_done")

    def __init__(self, held: Held, answer: Answer, delay_ms: int, on_done: OnDone) -> None:
        self.held = held
        self.answer = answer
        self.delay_ms = delay_ms
        self.on_done = on_done

    @property
    def is_final(self) -> bool:
        return self.answer is not Answer.RENEW


class LockLost(ClientError):
    """The record was not the member's any more when it spoke of it."""

    def __init__(self, message: str, *, may_be_stored: bool = False) -> None:
        super().__init__(ErrorCode.INVALID_RECORD_STATE, message)
        self.may_be_stored = may_be_stored
        """The connection was lost before the answer had come, or the leader before it could say:
        nobody knows."""
