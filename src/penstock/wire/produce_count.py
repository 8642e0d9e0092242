"""How many partitions a Produce request is for, found out before any of it is decoded.

A large request is mostly batches, and those stay bytes. Of one that is mostly partitions, with next
to nothing for each, every hundred megabytes would take a minute to decode and to answer.
"""

from __future__ import annotations

from struct import error

from penstock.errors import Malformed
from penstock.wire.primitives import (
    read_compact_count,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_records,
    read_nullable_string,
    read_string,
    skip_tagged,
)
from penstock.wire.single_produce import FLEXIBLE_SINCE, TOPIC_IDS_SINCE, UUID_BYTES

ACKS_AND_TIMEOUT_BYTES = 6
INDEX_BYTES = 4


def check_partition_count(frame: memoryview, version: int, body: int, limit: int) -> None:
    """`body` is where the request begins behind its header. Raises Malformed."""
    walk = _walk_flexible if version >= FLEXIBLE_SINCE else _walk_classic
    try:
        walk(frame, version, body, limit)
    except (error, IndexError):
        raise Malformed("a Produce request ends too early") from None


def _walk_flexible(frame: memoryview, version: int, at: int, left: int) -> None:
    _, at = read_compact_nullable_string(frame, at)
    topics, at = read_compact_count(frame, at + ACKS_AND_TIMEOUT_BYTES, 1)
    for _ in range(topics):
        if version >= TOPIC_IDS_SINCE:
            at += UUID_BYTES
        else:
            _, at = read_compact_string(frame, at)
        partitions, at = read_compact_count(frame, at, 1)
        left = _less(left, partitions)
        for _ in range(partitions):
            _, at = read_compact_nullable_records(frame, at + INDEX_BYTES)
            at = skip_tagged(frame, at)
        at = skip_tagged(frame, at)


def _walk_classic(frame: memoryview, version: int, at: int, left: int) -> None:
    _, at = read_nullable_string(frame, at)
    topics, at = read_count(frame, at + ACKS_AND_TIMEOUT_BYTES, 1)
    for _ in range(topics):
        _, at = read_string(frame, at)
        partitions, at = read_count(frame, at, 1)
        left = _less(left, partitions)
        for _ in range(partitions):
            _, at = read_nullable_records(frame, at + INDEX_BYTES)


def _less(left: int, partitions: int) -> int:
    left -= partitions + 1  # a topic costs as much as a partition
    if left < 0:
        raise Malformed("a Produce request is for too many partitions")
    return left
