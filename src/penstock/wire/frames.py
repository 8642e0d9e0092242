"""Cuts a stream of bytes into frames: four bytes of length, then so many bytes of request.

The reader knows no socket. It says where the next bytes should go, so that a frame which fits into
the receive buffer is never copied, and a large one is received straight into memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from penstock.errors import Malformed

_LENGTH = Struct(">i")
LENGTH_SIZE = 4
FRUGAL_FROM = 16 << 10
AFTER_BIG = 8192
"""A large frame is mostly followed by another. Only the beginning of that is received into the
shared buffer, because it has to be copied from there."""


class FrameReader:
    """The unfinished end of one stream. Finished frames are handed out and not kept."""

    __slots__ = (
        "_big",
        "_big_from",
        "_filled",
        "_kept",
        "_limit",
        "_memory",
        "_shared",
        "_was_big",
        "big_size",
        "is_frugal",
    )

    def __init__(
        self, limit: int, memory: Callable[[int], memoryview], big_from: int | None = None
    ) -> None:
        """`memory` gives as many writable bytes as it is asked for, whatever is in them. From
        `big_from` bytes on a frame gets some; from half of the shared buffer on, if not given."""
        self._limit = limit
        self._big_from = big_from
        self._memory = memory
        self._kept = b""
        self._big: memoryview | None = None
        self._filled = 0
        self._shared = memoryview(b"")
        self._was_big = False
        self.big_size = 0
        """The size of a started frame too large for the shared buffer. Its memory is taken at the
        next call of `space`: the caller decides when."""
        self.is_frugal = False
        """Whether frames count as large from a smaller size on, so that little is kept here."""

    @property
    def kept_size(self) -> int:
        """Bytes of a started frame that are held here, and have been asked of nobody."""
        return len(self._kept)

    @property
    def is_between_frames(self) -> bool:
        return not self._kept and not self.big_size

    def space(self, shared: memoryview) -> memoryview:
        """Where to receive next: into `shared`, which is free again once the frames of `feed` have
        been handled, or into a large frame's own memory."""
        if self.big_size:
            return self._big_space()
        self._shared = shared
        end = AFTER_BIG if self._was_big else len(shared)
        kept = len(self._kept)
        if kept:
            shared[:kept] = self._kept
            return shared[kept : max(end, kept + LENGTH_SIZE)]
        return shared[:end]

    def _big_space(self) -> memoryview:
        if self._big is None:
            self._big = self._memory(self.big_size)
            self._filled = len(self._kept) - LENGTH_SIZE
            self._big[: self._filled] = memoryview(self._kept)[LENGTH_SIZE:]
            self._kept = b""
        return self._big[self._filled :]

    def feed(self, count: int) -> list[memoryview]:
        """The frames, without their lengths, that `count` more bytes in `space` complete."""
        if self._big is not None:
            self._filled += count
            if self._filled < self.big_size:
                return []
            whole, self._big, self.big_size = self._big, None, 0
            self._was_big = True
            return [whole]
        data = self._shared[: len(self._kept) + count]
        return self._cut(data)

    def _cut(self, data: memoryview) -> list[memoryview]:
        frames = []
        self._was_big = False
        position, end = 0, len(data)
        length = 0
        while end - position >= LENGTH_SIZE:
            length = _LENGTH.unpack_from(data, position)[0]
            if not 0 < length <= self._limit:
                raise Malformed(
                    f"a request of {length} bytes was announced, the limit is {self._limit}"
                )
            start = position + LENGTH_SIZE
            if start + length > end:
                if length >= self._least_big():
                    self.big_size = length
                break
            position = start + length
            frames.append(data[start:position])
        self._kept = bytes(data[position:])
        return frames

    def _least_big(self) -> int:
        if self.is_frugal:
            return FRUGAL_FROM
        half = len(self._shared) // 2
        return half if self._big_from is None else min(self._big_from, half)
