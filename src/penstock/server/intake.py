"""What arrives on one connection, cut into requests, within the memory that there is for it.

A request that fits into the shared buffer is handled where it lies. A larger one gets memory of its
own, and is received only once the budget of all connections has room for it: until then nothing is
read, and the client waits. The beginnings of requests, which are held meanwhile, are bounded too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.errors import Malformed
from penstock.wire.frames import FrameReader
from penstock.world.ports import Connection

if TYPE_CHECKING:
    from penstock.server.door import Door

KEPT_MAX = 32 << 20
"""What the beginnings of requests may take on all connections before larger ones are budgeted."""
SHORT_OF_MEMORY_BYTES = 8 << 10
"""Received at once while memory is short: the beginning of a large request is held too."""


class Ended(Exception):
    """The client has closed the connection."""


class Intake:
    __slots__ = ("_door", "_frames", "_granted", "_resume", "frame_since_ms")

    def __init__(self, door: Door, resume: Callable[[], None]) -> None:
        """`resume` is called when there may be room for a request that was not received."""
        self._door = door
        self._frames = FrameReader(door.config.max_request_bytes, door.buffers.take)
        self._granted = 0
        self._resume = resume
        self.frame_since_ms: float | None = None
        """Since when a request has been arriving; None also while it is us who do not read."""

    @property
    def is_receiving_big(self) -> bool:
        return self._frames.big_size > 0

    @property
    def is_granted(self) -> bool:
        """Whether the request at hand is in the budget."""
        return self._granted > 0

    @property
    def is_between_frames(self) -> bool:
        return self._frames.is_between_frames

    def has_room(self) -> bool:
        """For what has been announced. If not, `resume` is called."""
        size = self._frames.big_size
        if not size or self._granted:
            return True
        if self._door.budget.take(size, self._resume):
            self._granted = size
            return True
        return False

    def receive(self, connection: Connection) -> list[memoryview] | None:
        """The requests that are complete now; None if nothing has arrived.

        Raises Ended, and Malformed if these bytes can be no request.
        """
        frames = self._frames
        count = connection.recv_into(self._space())
        if count is None:
            return None
        if count == 0:
            raise Ended
        kept = frames.kept_size
        whole = frames.feed(count)
        self._note_kept(kept)
        if frames.is_between_frames:
            self.frame_since_ms = None
        elif whole or self.frame_since_ms is None:
            self.frame_since_ms = self._door.clock.monotonic_ms()
        return whole

    def _space(self) -> memoryview:
        frames, door = self._frames, self._door
        kept = frames.kept_size
        try:
            space = frames.space(door.buffer)
        except OSError as error:  # the system has no memory for it
            raise Malformed(
                f"a request of {frames.big_size} bytes cannot be received: {error}"
            ) from error
        self._note_kept(kept)
        frames.is_frugal = door.kept > KEPT_MAX
        if (frames.is_frugal or door.budget.is_short) and not frames.big_size:
            return space[:SHORT_OF_MEMORY_BYTES]
        return space

    def _note_kept(self, before: int) -> None:
        self._door.kept += self._frames.kept_size - before

    def start_clock(self) -> None:
        """We read again: from now on it is the client who lets us wait for the rest."""
        if not self._frames.is_between_frames:
            self.frame_since_ms = self._door.clock.monotonic_ms()

    def stop_clock(self) -> None:
        self.frame_since_ms = None

    def release(self) -> None:
        """The memory of a large request that has been handled; not that of one just begun."""
        if self._granted and not self._frames.big_size:
            self._give_back()

    def close(self) -> None:
        self._door.kept -= self._frames.kept_size
        self._give_back()
        self._door.budget.forget(self._resume)
        self._resume = _nothing  # it is the session's, which holds this: nobody would part them

    def _give_back(self) -> None:
        granted, self._granted = self._granted, 0
        self._door.budget.give_back(granted)


def _nothing() -> None:
    pass
