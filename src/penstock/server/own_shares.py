"""Shares whose coordinator this broker is itself, on the shortest way: no message is made.

A leader writes to a share whenever members have said something, so that has to be cheap. All that
is decided in one round of the loop is written to the disk together.
"""

from __future__ import annotations

from typing import Any

from penstock.api.outcome import Later
from penstock.api.replies import once_committed
from penstock.api.shard import Shard
from penstock.api.sharing.each_share import LATE, Decide
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import Share
from penstock.server.door import Door
from penstock.server.waits import awaited


class OwnShares:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._shares = door.broker.shares
        self._written: dict[Shard[Share], None] = {}
        """In this round."""

    async def decide(self, key: ShareKey, decide: Decide) -> Any:
        """What it comes to, once that is committed. Raises Refused."""
        name = key.name
        shard = self._shares.shard(name)
        answer, rest = shard.decide_part(name, decide)
        outcome = once_committed([rest], answer, LATE)
        if not isinstance(outcome, Later):
            return outcome
        self._write_soon(shard)
        given = await awaited(self._door.loop, self._door.deadlines, outcome)
        if isinstance(given, Exception):
            raise given
        return given

    def _write_soon(self, shard: Shard[Share]) -> None:
        if not self._written:
            self._door.loop.call_soon(self._write)
        self._written[shard] = None

    def _write(self) -> None:
        """What the disk has not taken is undone, and must not be waited for."""
        written, self._written = self._written, {}
        self._door.settle()
        for shard in written:
            if not (shard.is_over or shard.is_true):
                self._shares.load_again(shard)
