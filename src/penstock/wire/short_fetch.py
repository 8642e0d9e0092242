"""The commonest fetches, read by hand: of a session without changes, and of a single partition, by
consumers and followers.

Everything else, and everything odd about these, is left to the generated messages. What is read
here is only what they would have read; the tests hold the two together.
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ReplicaState,
)
from penstock.wire.primitives import NULL_UUID

FETCH = 1
LOWEST, FLEXIBLE_SINCE, TOPIC_IDS_SINCE, NO_REPLICA_ID_SINCE, HIGHEST = 11, 12, 13, 15, 17
ONE_BYTE_MAX = 0x7F
UUID_BYTES = 16

_INT16 = Struct(">h")
_HEADER = Struct(">hhih")
_CLASSIC_START = Struct(">iiiibiii")
"""Replica, times and sizes, isolation, session and epoch, how many topics."""
_CLASSIC_PARTITION = Struct(">iiiqqi")
"""One partition: index, leader epoch, offset, log start, size."""
_CLASSIC_END = Struct(">ih")
"""Nothing forgotten, the length of the rack."""
_FLEXIBLE_START = Struct(">BiiiibiiB")
_START_WITHOUT_REPLICA = Struct(">BiiibiiB")
_FLEXIBLE_PARTITION = Struct(">BiiqiqiBB")
"""One partition, as above with the last fetched epoch; no tags, and none of its topic."""
_FLEXIBLE_END = Struct(">BB")
_ONE_TAG = Struct(">BBBiqB")
"""A follower's, of one tag: how many, which, its length; replica and registration, no tags."""
_STATE_TAG, _STATE_BYTES = 1, 13

_NO_STATE = FetchRequest().replica_state


class ShortFetch(NamedTuple):
    version: int
    correlation_id: int
    client_id: str | None
    request: FetchRequest


def read_fetch(frame: memoryview) -> ShortFetch | None:
    """None for any other request, whole or broken."""
    try:
        if frame[1] != FETCH:
            return None
        key, version, correlation_id, client_bytes = _HEADER.unpack_from(frame)
        if key != FETCH or not LOWEST <= version <= HIGHEST or client_bytes < -1:
            return None
        client_id, at = None, _HEADER.size
        if client_bytes >= 0:
            client_id, at = _text(frame, at, at + client_bytes)
        read = _read_flexible if version >= FLEXIBLE_SINCE else _read_classic
        request = read(frame, at, version)
    except (error, IndexError, UnicodeDecodeError):
        return None
    if request is None:
        return None
    return ShortFetch(version, correlation_id, client_id, request)


def _text(frame: memoryview, at: int, end: int) -> tuple[str, int]:
    if end > len(frame):
        raise IndexError
    return frame[at:end].tobytes().decode(), end


def _read_flexible(frame: memoryview, at: int, version: int) -> FetchRequest | None:
    if version >= NO_REPLICA_ID_SINCE:
        start = _START_WITHOUT_REPLICA.unpack_from(frame, at)
        tags, wait_ms, least, most, isolation, session, epoch, topics = start
        at += _START_WITHOUT_REPLICA.size
        replica = -1
    else:
        start = _FLEXIBLE_START.unpack_from(frame, at)
        tags, replica, wait_ms, least, most, isolation, session, epoch, topics = start
        at += _FLEXIBLE_START.size
    if tags or not 1 <= topics <= 2:
        return None
    wanted: list[FetchTopic] = []
    if topics == 2:
        topic, at = _flexible_topic(frame, at, version)
        if topic is None:
            return None
        wanted.append(topic)
    forgotten, length = _FLEXIBLE_END.unpack_from(frame, at)
    if forgotten != 1 or not 1 <= length <= ONE_BYTE_MAX:
        return None
    rack, at = _text(frame, at + 2, at + 1 + length) if length > 1 else ("", at + 2)
    state: ReplicaState | None = _NO_STATE
    if frame[at]:
        state = _replica_state(frame, at) if version >= NO_REPLICA_ID_SINCE else None
    if state is None:
        return None
    return FetchRequest(
        None, replica, state, wait_ms, least, most, isolation, session, epoch, wanted, [], rack
    )


def _replica_state(frame: memoryview, at: int) -> ReplicaState | None:
    count, tag, size, replica, registration, tags = _ONE_TAG.unpack_from(frame, at)
    if (count, tag, size, tags) != (1, _STATE_TAG, _STATE_BYTES, 0):
        return None
    return ReplicaState(replica, registration)


def _flexible_topic(frame: memoryview, at: int, version: int) -> tuple[FetchTopic | None, int]:
    name, topic_id = "", NULL_UUID
    if version >= TOPIC_IDS_SINCE:
        topic_id = frame[at : at + UUID_BYTES].tobytes()
        at += UUID_BYTES
    else:
        length = frame[at]
        if not 1 <= length <= ONE_BYTE_MAX:
            return None, at
        name, at = _text(frame, at + 1, at + length)
    partition = _FLEXIBLE_PARTITION.unpack_from(frame, at)
    count, index, leader_epoch, offset, last_epoch, log_start, most, tags, topic_tags = partition
    if count != 2 or tags or topic_tags:
        return None, at
    wanted = FetchPartition(index, leader_epoch, offset, last_epoch, log_start, most)
    return FetchTopic(name, topic_id, [wanted]), at + _FLEXIBLE_PARTITION.size


def _read_classic(frame: memoryview, at: int, version: int) -> FetchRequest | None:
    start = _CLASSIC_START.unpack_from(frame, at)
    replica, wait_ms, least, most, isolation, session, epoch, topics = start
    at += _CLASSIC_START.size
    if not 0 <= topics <= 1:
        return None
    wanted: list[FetchTopic] = []
    if topics:
        topic, at = _classic_topic(frame, at)
        if topic is None:
            return None
        wanted.append(topic)
    forgotten, length = _CLASSIC_END.unpack_from(frame, at)
    if forgotten or length < 0:
        return None
    rack, _ = _text(frame, at + _CLASSIC_END.size, at + _CLASSIC_END.size + length)
    return FetchRequest(
        None, replica, _NO_STATE, wait_ms, least, most, isolation, session, epoch, wanted, [], rack
    )


def _classic_topic(frame: memoryview, at: int) -> tuple[FetchTopic | None, int]:
    (length,) = _INT16.unpack_from(frame, at)
    if length < 0:
        return None, at
    name, at = _text(frame, at + 2, at + 2 + length)
    partition = _CLASSIC_PARTITION.unpack_from(frame, at)
    count, index, leader_epoch, offset, log_start, most = partition
    if count != 1:
        return None, at
    wanted = FetchPartition(index, leader_epoch, offset, -1, log_start, most)
    return FetchTopic(name, NULL_UUID, [wanted]), at + _CLASSIC_PARTITION.size
