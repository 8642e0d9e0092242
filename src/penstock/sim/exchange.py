"""Requests and answers of a simulated client over one connection, several under way at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, TypeVar

from penstock.sim.connection import SimConnection
from penstock.sim.loop import VirtualLoop
from penstock.wire.codec import Message, decode_response, encode_request
from penstock.world.ports import Connection

M = TypeVar("M", bound=Message)

_LENGTH = Struct(">i")
RECEIVE_BYTES = 1 << 16


class Exchange:
    def __init__(self, loop: VirtualLoop, connection: Connection, client_id: str) -> None:
        self._loop = loop
        self._connection = connection
        self._client_id = client_id
        self._space = memoryview(bytearray(RECEIVE_BYTES))
        self._received = bytearray()
        self._unsent = bytearray()
        self._asked: deque[tuple[asyncio.Future[Any], Callable[[bytes], tuple[int, Any]], int]]
        self._asked = deque()
        self._count = 0
        self.is_open = True
        connection.on_readable(self._readable)

    def ask(self, request: Message, version: int, kind: type[M]) -> asyncio.Future[M]:
        """The answer, or ConnectionError. Answers come in the order of the requests."""
        answer: asyncio.Future[M] = self._loop.create_future()
        if not self.is_open:
            answer.set_exception(ConnectionError("the connection is closed"))
            return answer
        self._count += 1
        self._asked.append(
            (answer, lambda frame: decode_response(kind, frame, version), self._count)
        )
        for part in encode_request(request, version, self._count, self._client_id):
            self._unsent += part  # type: ignore[arg-type]
        self._send()
        return answer

    def hold_up(self, seconds: float, *, answers: bool = False) -> None:
        """Requests from now on arrive late, or only their answers do."""
        assert isinstance(self._connection, SimConnection)
        end = self._connection.other if answers else self._connection
        end.hold_up(seconds)

    def _send(self) -> None:
        try:
            sent = self._connection.send([bytes(self._unsent)]) if self._unsent else 0
        except OSError:
            self.close()
            return
        del self._unsent[:sent]
        self._connection.on_writable(self._send if self._unsent else None)

    def _readable(self) -> None:
        count = self._connection.recv_into(self._space)
        if count is None:
            return
        if count == 0:
            self.close()
            return
        self._received += self._space[:count]
        while self.is_open and len(self._received) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                break
            frame = bytes(self._received[_LENGTH.size : end])
            del self._received[:end]
            self._answered(frame)

    def _answered(self, frame: bytes) -> None:
        answer, decode, expected = self._asked.popleft()
        number, message = decode(frame)
        if number != expected:
            raise AssertionError(f"answer {number} came where {expected} was due")
        if not answer.done():
            answer.set_result(message)

    def close(self) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self._connection.close()
        for answer, _, _ in self._asked:
            if not answer.done():
                answer.set_exception(ConnectionError("the connection was lost"))
        self._asked.clear()
