"""Cutting a stream into frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Malformed
from penstock.wire.frames import FrameReader


def reader_of(limit: int) -> FrameReader:
    return FrameReader(limit, lambda size: memoryview(bytearray(size)))


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def receive(reader: FrameReader, shared: memoryview, stream: bytes, most: int) -> list[bytes]:
    """Feed a stream through as a socket would, in pieces of at most so many bytes."""
    found: list[bytes] = []
    position = 0
    while position < len(stream):
        space = reader.space(shared)
        piece = stream[position : position + min(most, len(space))]
        space[: len(piece)] = piece
        found += map(bytes, reader.feed(len(piece)))
        position += len(piece)
    return found


@given(st.lists(st.binary(min_size=1, max_size=300)), st.integers(1, 400), st.integers(8, 512))
def test_frames_come_out_as_they_went_in_however_they_were_cut(
    bodies: list[bytes], most: int, buffer_size: int
) -> None:
    reader = reader_of(1000)
    shared = memoryview(bytearray(buffer_size))
    assert receive(reader, shared, framed(*bodies), most) == bodies
    assert reader.is_between_frames


def test_a_frame_within_the_buffer_is_not_copied() -> None:
    reader = reader_of(1000)
    shared = memoryview(bytearray(64))
    space = reader.space(shared)
    space[:7] = framed(b"abc")
    (frame,) = reader.feed(7)
    shared[4:5] = b"X"
    assert bytes(frame) == b"Xbc"


def test_a_large_frame_takes_no_memory_before_space_is_asked_for() -> None:
    reader = reader_of(1 << 30)
    shared = memoryview(bytearray(64))
    reader.space(shared)[:8] = (1 << 29).to_bytes(4, "big") + b"abcd"
    assert reader.feed(8) == []
    assert reader.big_size == 1 << 29
    assert not reader.is_between_frames


@pytest.mark.parametrize("length", [0, -1, -(2**31), 1001, 2**31 - 1])
def test_an_absurd_length_is_refused_before_anything_is_allocated(length: int) -> None:
    reader = reader_of(1000)
    reader.space(memoryview(bytearray(64)))[:4] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(Malformed, match=f"{length} bytes"):
        reader.feed(4)


def test_frames_before_an_absurd_length_are_lost_with_the_connection() -> None:
    reader = reader_of(1000)
    stream = framed(b"good") + b"\xff\xff\xff\xff"
    reader.space(memoryview(bytearray(64)))[: len(stream)] = stream
    with pytest.raises(Malformed):
        reader.feed(len(stream))
