"""A connection to another broker, as its client: one request at a time, and its answer.

Answers are looked at where they were received, as requests are: large ones are not copied.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeVar, cast

from penstock.errors import Malformed
from penstock.server.memory import Buffers
from penstock.wire.codec import Message, decode_response, encode_request
from penstock.wire.frames import FrameReader
from penstock.world.ports import Connection, Part

T = TypeVar("T")
M = TypeVar("M", bound=Message)

ANSWER_BYTES_MAX = 256 << 20
PIECES_FROM_BYTES = 64 << 10
"""Answers that are larger come in several pieces, which are to stay where they are received."""


class Peer:
    def __init__(
        self, connection: Connection, buffer: memoryview, buffers: Buffers, client_id: str
    ) -> None:
        """`buffer` is the one that all connections receive into."""
        self._connection = connection
        self._buffer = buffer
        self._buffers = buffers
        self._client_id = client_id
        self._frames = FrameReader(ANSWER_BYTES_MAX, buffers.take, PIECES_FROM_BYTES)
        self._unsent: deque[Part] = deque()
        self._correlation_id = 0
        self._take: Callable[[memoryview], object] | None = None
        self._done: asyncio.Future[object] | None = None
        self.is_open = True
        connection.on_readable(self._readable)

    async def ask(self, request: Message, version: int, kind: type[M], take: Callable[[M], T]) -> T:
        """What `take` makes of the answer. It runs at once, because the answer's bytes are used
        again as soon as it returns. Raises OSError when the connection is lost, and Malformed."""
        if not self.is_open:
            raise ConnectionError("the connection is closed")
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        expected = self._correlation_id

        def taken(frame: memoryview) -> T:
            number, answer = decode_response(kind, frame, version)
            if number != expected:
                raise Malformed(f"answer {number} came where {expected} was due")
            return take(answer)

        self._take = taken
        self._done = done = asyncio.get_running_loop().create_future()
        self._unsent.extend(encode_request(request, version, expected, self._client_id))
        self._send()
        try:
            return cast(T, await done)
        finally:
            if not done.done() or done.cancelled() or done.exception() is not None:
                self.close()

    def _send(self) -> None:
        try:
            sent = self._connection.send(list(self._unsent))
        except OSError as problem:
            self._fail(problem)
            return
        while sent:
            part = self._unsent.popleft()
            if len(part) > sent:
                self._unsent.appendleft(memoryview(part)[sent:])  # type: ignore[arg-type]
                break
            sent -= len(part)
        self._connection.on_writable(self._send if self._unsent else None)

    def _readable(self) -> None:
        try:
            while self._receive():
                pass
        except Exception as problem:
            self._fail(problem)

    def _receive(self) -> bool:
        """True if a large answer has begun: what has arrived of it is received where it belongs."""
        frames = self._frames
        is_own = frames.big_size > 0
        count = self._connection.recv_into(frames.space(self._buffer))
        if count is None:
            return False
        if count == 0:
            raise ConnectionError("the other broker has closed the connection")
        for frame in frames.feed(count):
            self._answered(frame)
            if is_own:
                self._buffers.give_back(frame)
        return frames.big_size > 0 and not is_own

    def _answered(self, frame: memoryview) -> None:
        take, done = self._take, self._done
        if take is None or done is None or done.done():
            raise Malformed("an answer that nobody asked for")
        self._take = None
        done.set_result(take(frame))

    def _fail(self, problem: Exception) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(problem)
        self.close()

    def expire(self) -> None:
        """The answer was waited for until now, and no longer."""
        self._fail(TimeoutError("it does not answer"))

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._connection.close()
            if self._done is not None and not self._done.done():
                self._done.set_exception(ConnectionError("the connection was closed"))
