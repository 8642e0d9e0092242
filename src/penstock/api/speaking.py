"""Who speaks for a producer, or a broker: the newest connection that has.

A client whose request seems to be lost opens another connection and sends it again. The first may
still arrive, and end the next transaction in place of the last. Clients that speak KIP-890 have a
new epoch by then; what others sent over a connection that is not their newest is dropped.

A broker that writes what has become of shared records does the same: what was said last is to
count, and a write that was given up may still arrive.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from penstock.api.call import Unanswerable
from penstock.api.trust import Client
from penstock.coordination.transaction.state import Identity

W = TypeVar("W", bound=Hashable)

SPEAKERS_MAX = 100_000


class Speakers(Generic[W]):
    """For requests of one sort: a client may have different connections for different sorts."""

    __slots__ = ("_newest",)

    def __init__(self) -> None:
        self._newest: OrderedDict[W, int] = OrderedDict()

    def check(self, writer: W, client: Client) -> None:
        """Raises Unanswerable if this comes too late."""
        newest = self._newest.get(writer, 0)
        if client.number < newest:
            raise Unanswerable(
                f"a newer connection speaks for {writer}: what comes over older ones is dropped"
            )

    def note(self, writer: W, client: Client) -> None:
        """It was let do what it asked for."""
        self._newest[writer] = max(client.number, self._newest.get(writer, 0))
        self._newest.move_to_end(writer)
        if len(self._newest) > SPEAKERS_MAX:
            self._newest.popitem(last=False)


class AllSpeakers:
    __slots__ = ("of_offsets", "of_records", "of_shares", "of_transactions")

    def __init__(self) -> None:
        self.of_transactions: Speakers[Identity] = Speakers()
        self.of_records: Speakers[Identity] = Speakers()
        self.of_offsets: Speakers[Identity] = Speakers()
        self.of_shares: Speakers[tuple[int, str]] = Speakers()
        """By broker and group."""
