"""A share and a coordinator that stores all it is told, for tests that read like a day's work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.sharing.naive import Storage

from penstock.errors import ErrorCode, Refused
from penstock.sharing.acknowledging import Acknowledgement
from penstock.sharing.acquiring import Acquired, Wanted
from penstock.sharing.limits import Limits
from penstock.sharing.partition import SharePartition
from penstock.sharing.restoring import Extent, Stored, restore
from penstock.sharing.writes import Pending, Write

LOCK_MS = 30_000
ACCEPT, RELEASE, REJECT, RENEW, GAP = [1], [2], [3], [4], [0]


class QueueDesk:
    def __init__(self, **limits: Any) -> None:
        self.share = SharePartition(0, Limits(**limits))
        self.storage = Storage()
        self.now_ms = 0.0
        self.log_end = 100

    def take(
        self,
        member: str,
        most: int = 10,
        *,
        ends: Sequence[int] = (),
        missing: Sequence[tuple[int, int]] = (),
    ) -> list[Acquired]:
        """First, last, and how often they have been delivered."""
        first = self.share.next_offset(self.log_end)
        if first is None:
            return []
        wanted = Wanted(member, first, self.log_end, most, ends)
        return self.share.acquire(wanted, self.now_ms, missing)

    def say(self, member: str, first: int, last: int, types: list[int]) -> Pending:
        return self.share.acknowledge(member, [Acknowledgement(first, last, types)], self.now_ms)

    def store(self) -> Write | None:
        """Whatever there is."""
        write = self.share.take_write()
        if write is not None:
            self.storage.take(write)
            self.share.keep(write)
        return write

    def settle(self, member: str, first: int, last: int, types: list[int]) -> None:
        self.say(member, first, last, types)
        self.store()

    def wait(self, ms: float = LOCK_MS) -> int:
        """How many records were locked for too long."""
        self.now_ms += ms
        return self.share.expire(self.now_ms)

    def fail_over(self, **limits: Any) -> None:
        stored = Stored(0, self.storage.start, self.storage.batches())
        self.share = restore(stored, Limits(**limits), Extent(0, self.log_end), beginning=0)


def refusal(call: Callable[[], object]) -> ErrorCode:
    try:
        call()
    except Refused as refused:
        return refused.code
    return ErrorCode.NONE
