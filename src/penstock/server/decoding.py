"""Requests, from bytes to calls: those that take long off the loop, one after the other."""

from __future__ import annotations

from penstock.api.call import Call
from penstock.api.dispatch import Large, read_call, read_large
from penstock.world.ports import Disk

WAITING_MAX = 16
"""Large requests whose bytes are kept until it is their turn: 16 MiB. Those that come while there
are so many are decoded on the loop, which bounds the memory whatever a crowd sends."""


class Decoding:
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._waiting = 0

    def read(self, frame: memoryview, peer: str, now_ms: int) -> Call:
        """Raises Malformed or Unanswerable, or Large where `read_apart` is to do it."""
        try:
            return read_call(frame, peer, now_ms)
        except Large:
            if self._waiting < WAITING_MAX:
                raise
            return read_large(frame, peer, now_ms)

    async def read_apart(self, frame: memoryview, peer: str, now_ms: int) -> Call:
        """The frame is to stay as it is meanwhile."""
        self._waiting += 1
        try:
            return await self._disk.offload_large(lambda: read_large(frame, peer, now_ms))
        finally:
            self._waiting -= 1
