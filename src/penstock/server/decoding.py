"""Requests from bytes to calls, and answers to bytes: what takes long off the loop, one after the
other."""

from __future__ import annotations

import asyncio

from penstock.api.call import Call
from penstock.api.dispatch import Large, read_call, read_large
from penstock.wire.codec import Message
from penstock.world.ports import Disk, Part

WAITING_MAX = 16
"""Large requests whose bytes are kept until it is their turn: 16 MiB. Those that come while there
are so many are decoded on the loop, which bounds the memory whatever a crowd sends; so it is with
answers."""


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
        return await self._disk.offload_large(lambda: read_large(frame, peer, now_ms))

    def count(self, task: asyncio.Task[None]) -> None:
        """One that is to read a large request, until it is over, even if it never begins."""
        self._waiting += 1
        task.add_done_callback(self._uncount)

    def _uncount(self, _: object) -> None:
        self._waiting -= 1

    async def encoded(self, call: Call, answer: Message) -> list[Part]:
        """Nothing else may change the answer meanwhile."""
        if self._waiting < WAITING_MAX and call.is_long(answer):
            self._waiting += 1
            try:
                return await self._disk.offload_large(lambda: call.encode(answer))
            finally:
                self._waiting -= 1
        return call.encode(answer)
