"""Who speaks for a producer: the newest connection that has.

A client whose request seems to be lost opens another connection and sends it again. The first may
still arrive, and end the next transaction in place of the last. Clients that speak KIP-890 have a
new epoch by then; what others sent over a connection that is not their newest is dropped.
"""

from __future__ import annotations

from collections import OrderedDict

from penstock.api.call import Unanswerable
from penstock.api.trust import Client
from penstock.coordination.transaction.state import Identity

SPEAKERS_MAX = 100_000


class Speakers:
    """For requests of one sort: a client may have different connections for different sorts."""

    __slots__ = ("_newest",)

    def __init__(self) -> None:
        self._newest: OrderedDict[Identity, int] = OrderedDict()

    def check(self, writer: Identity, client: Client) -> None:
        """Raises Unanswerable if this comes too late."""
        newest = self._newest.get(writer, 0)
        if client.number < newest:
            raise Unanswerable(
                f"a newer connection speaks for producer {writer.producer_id}, "
                f"epoch {writer.epoch}: what comes over older ones is dropped"
            )

    def note(self, writer: Identity, client: Client) -> None:
        """It was let do what it asked for."""
        self._newest[writer] = max(client.number, self._newest.get(writer, 0))
        self._newest.move_to_end(writer)
        if len(self._newest) > SPEAKERS_MAX:
            self._newest.popitem(last=False)


class AllSpeakers:
    __slots__ = ("of_offsets", "of_records", "of_transactions")

    def __init__(self) -> None:
        self.of_transactions = Speakers()
        self.of_records = Speakers()
        self.of_offsets = Speakers()
