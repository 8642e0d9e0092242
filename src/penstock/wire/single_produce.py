"""The commonest request, read and answered without building messages: one batch for one partition.

Everything else, and everything odd about this one, is left to the generated messages. What is read
here is only what they would have read, byte for byte the same; the tests hold the two together.
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

PRODUCE = 0
LOWEST, FLEXIBLE_SINCE, TOPIC_IDS_SINCE, HIGHEST = 3, 9, 13, 13
ACKS_LEADER, ACKS_ALL = 1, -1
ACKS_ANSWERED = (ACKS_LEADER, ACKS_ALL)
NO_TAGS = b"\0\0\0"
ONE_BYTE_MAX = 0x7F
UUID_BYTES = 16

_HEADER = Struct(">hhih")
_CLASSIC_START = Struct(">hhiih")
"""The length of the transactional id, mostly null; acks, timeout, one topic, the length of its
name."""
_CLASSIC_REST = Struct(">hiih")
"""The same behind a transactional id."""
_CLASSIC_PARTITION = Struct(">iii")
"""One partition, its index, the length of its batch."""
_FLEXIBLE_START = Struct(">BBhiB")
"""No tags in the header, the length of the transactional id, mostly null; acks, timeout, one
topic."""
_FLEXIBLE_REST = Struct(">hiB")
_FLEXIBLE_PARTITION = Struct(">Bi")

_LENGTH_AND_ID = Struct(">ii")
_CODE = Struct(">h")
_CODE_AT = {True: 5, False: 8}
"""Behind the number of partitions, which is one byte in flexible versions, and the index."""
_ANSWER_V9 = Struct(">BihqqqHBBiB")
"""One partition: index, no error, offsets; no record errors, no message; tags; throttle time."""
_ANSWER_V8 = Struct(">iihqqqihi")
_ANSWER_V5 = Struct(">iihqqqi")
_ANSWER_V3 = Struct(">iihqqi")


class SingleProduce(NamedTuple):
    """A Produce request that wants an answer, for one partition."""

    acks: int
    timeout_ms: int
    version: int
    correlation_id: int
    topic: bytes
    """The name, as UTF-8; from version 13 on the id."""
    partition: int
    batch: memoryview
    transaction: str = ""
    """The transactional id, if it has one."""


def read_single(frame: memoryview) -> SingleProduce | None:
    """None for any other request, whole or broken."""
    try:
        key, version, correlation_id, client_bytes = _HEADER.unpack_from(frame)
        if key != PRODUCE or not LOWEST <= version <= HIGHEST or client_bytes < -1:
            return None
        at = _HEADER.size + (client_bytes if client_bytes > 0 else 0)
        if version >= FLEXIBLE_SINCE:
            return _read_flexible(frame, at, version, correlation_id)
        return _read_classic(frame, at, version, correlation_id)
    except (error, IndexError, UnicodeDecodeError):
        return None


def _read_flexible(
    frame: memoryview, at: int, version: int, correlation_id: int
) -> SingleProduce | None:
    tags, length, acks, timeout_ms, topics = _FLEXIBLE_START.unpack_from(frame, at)
    transaction = ""
    if length:
        if not 2 <= length <= ONE_BYTE_MAX:
            return None
        transaction, at = _text(frame, at + 2, length - 1), at + length - 1
        acks, timeout_ms, topics = _FLEXIBLE_REST.unpack_from(frame, at + 2)
    if tags or acks not in ACKS_ANSWERED or topics != 2:
        return None
    at += _FLEXIBLE_START.size
    if version >= TOPIC_IDS_SINCE:
        end = at + UUID_BYTES
    else:
        length = frame[at]
        if not 1 <= length <= ONE_BYTE_MAX:
            return None
        at += 1
        end = at + length - 1
    topic = bytes(frame[at:end])
    partitions, partition = _FLEXIBLE_PARTITION.unpack_from(frame, end)
    size, at = _uvarint(frame, end + 5)
    end = at + size - 1
    if partitions != 2 or size < 1 or bytes(frame[end:]) != NO_TAGS:
        return None
    batch = frame[at:end]
    return SingleProduce(
        acks, timeout_ms, version, correlation_id, topic, partition, batch, transaction
    )


def _text(frame: memoryview, at: int, length: int) -> str:
    return str(frame[at : at + length], "utf-8")


def _uvarint(frame: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = frame[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 28:
            raise IndexError


def _read_classic(
    frame: memoryview, at: int, version: int, correlation_id: int
) -> SingleProduce | None:
    named, acks, timeout_ms, topics, length = _CLASSIC_START.unpack_from(frame, at)
    transaction = ""
    if named != -1:
        if named < 1:
            return None
        transaction, at = _text(frame, at + 2, named), at + named
        acks, timeout_ms, topics, length = _CLASSIC_REST.unpack_from(frame, at + 2)
    if acks not in ACKS_ANSWERED or topics != 1 or length < 0:
        return None
    at += _CLASSIC_START.size
    end = at + length
    topic = bytes(frame[at:end])
    partitions, partition, size = _CLASSIC_PARTITION.unpack_from(frame, end)
    at = end + _CLASSIC_PARTITION.size
    if partitions != 1 or size < 0 or at + size != len(frame):
        return None
    batch = frame[at:]
    return SingleProduce(
        acks, timeout_ms, version, correlation_id, topic, partition, batch, transaction
    )


def answer_single(
    asked: SingleProduce, offset: int, time_ms: int, start: int, code: int = 0
) -> bytes:
    """The answer to one request, with its length before it."""
    _, _, version, correlation_id, topic, partition, _, _ = asked
    if version >= FLEXIBLE_SINCE:
        tail = _ANSWER_V9.pack(2, partition, code, offset, time_ms, start, 0x100, 0, 0, 0, 0)
        name = topic if version >= TOPIC_IDS_SINCE else b"%c%b" % (len(topic) + 1, topic)
        body = b"\0\2%b%b" % (name, tail)
    else:
        if version >= 8:
            tail = _ANSWER_V8.pack(1, partition, code, offset, time_ms, start, 0, -1, 0)
        elif version >= 5:
            tail = _ANSWER_V5.pack(1, partition, code, offset, time_ms, start, 0)
        else:
            tail = _ANSWER_V3.pack(1, partition, code, offset, time_ms, 0)
        body = b"\0\0\0\1%b%b%b" % (len(topic).to_bytes(2, "big"), topic, tail)
    return b"%b%b" % (_LENGTH_AND_ID.pack(len(body) + 4, correlation_id), body)


def with_error(answer: bytes, version: int, code: int) -> bytes:
    """The same answer, but that the append did not end well after all."""
    after_topic = len(answer) - _tail_bytes(version)
    changed = bytearray(answer)
    _CODE.pack_into(changed, after_topic + _CODE_AT[version >= FLEXIBLE_SINCE], code)
    return bytes(changed)


def _tail_bytes(version: int) -> int:
    if version >= FLEXIBLE_SINCE:
        return _ANSWER_V9.size
    if version >= 8:
        return _ANSWER_V8.size
    return _ANSWER_V5.size if version >= 5 else _ANSWER_V3.size
