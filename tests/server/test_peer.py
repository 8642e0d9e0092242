"""The client's side of a connection between brokers, and an other side that may not behave."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any

import pytest
from tests.raw_client import framed
from tests.server.house import MemoryConnection

from penstock.errors import ErrorCode, Malformed, Refused
from penstock.server.memory import Buffers
from penstock.server.peer import ANSWER_BYTES_MAX, Peer
from penstock.wire.codec import encode_response
from penstock.wire.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)

VERSION = 2
BUFFER_BYTES = 4096


class Line:
    """A peer, and the other end of its connection."""

    def __init__(self, buffer_bytes: int = BUFFER_BYTES) -> None:
        self.connection = MemoryConnection()
        self.buffers = Buffers()
        buffer = memoryview(bytearray(buffer_bytes))
        self.peer = Peer(self.connection, buffer, self.buffers, "broker-1")

    def ask(
        self, take: Callable[[SaslAuthenticateResponse], Any] = lambda each: bytes(each.auth_bytes)
    ) -> asyncio.Task[Any]:
        request = SaslAuthenticateRequest(b"hello")
        return asyncio.ensure_future(
            self.peer.ask(request, VERSION, SaslAuthenticateResponse, take)
        )

    def give(self, data: bytes) -> None:
        self.connection.give(data)


@pytest.fixture
async def line() -> Line:
    return Line()


def answer(data: bytes, number: int = 1) -> bytes:
    message = SaslAuthenticateResponse(auth_bytes=data)
    return b"".join(bytes(part) for part in encode_response(message, VERSION, number))  # type: ignore[arg-type]


async def asked(line: Line, **more: Any) -> asyncio.Task[Any]:
    """Under way: the request has left."""
    task = line.ask(**more)
    await asyncio.sleep(0)
    assert line.connection.taken
    return task


async def test_an_answer_is_what_is_made_of_it(line: Line) -> None:
    for number in (1, 2, 3):
        task = await asked(line)
        line.give(answer(b"%d" % number, number))
        assert await task == b"%d" % number
    assert line.peer.is_open


async def test_an_answer_may_come_byte_by_byte(line: Line) -> None:
    task = await asked(line)
    for byte in answer(b"slow"):
        line.give(bytes([byte]))
    assert await task == b"slow"


async def test_an_answer_larger_than_the_buffer_is_received_whole(line: Line) -> None:
    content = bytes(range(256)) * 400
    for number in (1, 2):
        task = await asked(line)
        line.give(answer(content, number))
        assert await task == content


async def test_pieces_of_a_large_answer_stay_where_they_were_received() -> None:
    """Though there is room for all of it in the buffer, which others use in between."""
    line = Line(1 << 20)
    content = bytes(range(256)) * 400
    for number in (1, 2):
        task = await asked(line)
        data = answer(content, number)
        for start in range(0, len(data), 20_000):
            line.give(data[start : start + 20_000])
            assert not line.peer._frames.kept_size
        assert await task == content


async def test_a_request_is_sent_on_once_there_is_room(line: Line) -> None:
    line.connection.room = 3
    task = await asked(line)
    assert len(line.connection.taken) == 3
    line.connection.room = 1 << 20
    line.connection.step()
    assert len(line.connection.answers()) == 1
    line.give(answer(b"yes"))
    assert await task == b"yes"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(answer(b"other", 7), id="to another request"),
        pytest.param(framed(b""), id="empty"),
        pytest.param(framed(b"\x00\x00"), id="too short for its number"),
        pytest.param(framed(struct.pack(">i", 1) + b"\xff" * 40), id="nonsense"),
        pytest.param(struct.pack(">i", -1), id="of negative length"),
        pytest.param(struct.pack(">i", ANSWER_BYTES_MAX + 1), id="too long"),
        pytest.param(framed(answer(b"cut")[4:-3]), id="cut"),
    ],
)
async def test_what_is_no_answer_ends_the_connection(line: Line, data: bytes) -> None:
    task = await asked(line)
    line.give(data)
    with pytest.raises(Malformed):
        await task
    assert line.connection.is_closed
    with pytest.raises(ConnectionError):
        await line.ask()


async def test_an_answer_that_nobody_asked_for_ends_the_connection(line: Line) -> None:
    line.give(answer(b"!"))
    assert line.connection.is_closed


async def test_a_second_answer_to_one_request_ends_the_connection(line: Line) -> None:
    task = await asked(line)
    line.give(answer(b"once") + answer(b"twice"))
    assert await task == b"once"
    assert line.connection.is_closed


async def test_who_asks_is_told_when_the_other_side_goes_in_the_middle(line: Line) -> None:
    task = await asked(line)
    line.give(answer(b"half")[:9])
    line.connection.is_reset = True
    assert line.connection.readable is not None
    line.connection.readable()
    with pytest.raises(ConnectionError):
        await task
    assert line.connection.is_closed


async def test_who_asks_is_told_when_the_connection_is_closed_here(line: Line) -> None:
    task = await asked(line)
    line.peer.close()
    with pytest.raises(ConnectionError):
        await task


async def test_what_goes_wrong_with_an_answer_is_raised_where_it_was_asked_for(line: Line) -> None:
    def refuse(answer: SaslAuthenticateResponse) -> None:
        raise Refused(ErrorCode.STALE_BROKER_EPOCH, "no")

    task = await asked(line, take=refuse)
    line.give(answer(b""))
    with pytest.raises(Refused):
        await task
    assert line.connection.is_closed


async def test_a_question_that_is_given_up_ends_the_connection(line: Line) -> None:
    """Or its answer would be taken for that to the next one."""
    task = await asked(line)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert line.connection.is_closed


async def test_an_answer_that_is_waited_for_no_longer_ends_the_connection(line: Line) -> None:
    task = await asked(line)
    line.peer.expire()
    with pytest.raises(TimeoutError, match="does not answer"):
        await task
    assert line.connection.is_closed
