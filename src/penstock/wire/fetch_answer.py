"""Answers to fetches, written by hand, as long as there is nothing unusual in them.

What is written here is byte for byte what the generated messages would have written, at half the
cost for each partition; the tests hold the two together.
"""

from __future__ import annotations

from struct import Struct

from penstock.wire.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from penstock.wire.primitives import write_uvarint
from penstock.wire.short_fetch import FLEXIBLE_SINCE, HIGHEST, LOWEST, TOPIC_IDS_SINCE
from penstock.world.ports import FileRange, Part

_LENGTH = Struct(">i")
_CLASSIC_START = Struct(">iiihii")
"""Length, correlation id, throttle time, error, session, how many topics."""
_FLEXIBLE_START = Struct(">iiBihi")
_CLASSIC_PARTITION = Struct(">ihqqqiii")
"""Index, error, offsets, no aborted transactions, preferred replica, the length of the records."""
_FLEXIBLE_PARTITION = Struct(">ihqqqBi")
_PLAIN = PartitionData()


def encode_fetched(answer: FetchResponse, version: int, correlation_id: int) -> list[Part] | None:
    """The answer, its length first; None if there is something in it that is seldom there."""
    if answer.node_endpoints or not LOWEST <= version <= HIGHEST:
        return None
    out = _begin(answer, version, correlation_id)
    parts: list[Part] = [out]
    first, size = out, 0
    is_flexible = version >= FLEXIBLE_SINCE
    no_tags = b"\0" if is_flexible else b""
    write = _write_flexible if is_flexible else _write_classic
    for topic in answer.responses:
        _write_topic(out, topic, version)
        for data in topic.partitions:
            records = data.records
            if records is None or _is_unusual(data):
                return None
            write(out, data, len(records))
            if isinstance(records, FileRange):
                size += len(out) + records.length
                out = bytearray()
                parts += (records, out)
            else:
                out += records
            out += no_tags
        out += no_tags
    out += no_tags
    if not out:
        parts.pop()
    _LENGTH.pack_into(first, 0, size + len(out) - 4)
    return parts


def _is_unusual(data: PartitionData) -> bool:
    return (
        bool(data.aborted_transactions)
        or data.deleted_to >= 0
        or data.diverging_epoch is not _PLAIN.diverging_epoch
        or data.current_leader is not _PLAIN.current_leader
        or data.snapshot_id is not _PLAIN.snapshot_id
    )


def _begin(answer: FetchResponse, version: int, correlation_id: int) -> bytearray:
    throttle_ms, code, session = answer.throttle_time_ms, answer.error_code, answer.session_id
    topics = len(answer.responses)
    if version < FLEXIBLE_SINCE:
        start = _CLASSIC_START.pack(0, correlation_id, throttle_ms, code, session, topics)
        return bytearray(start)
    out = bytearray(_FLEXIBLE_START.pack(0, correlation_id, 0, throttle_ms, code, session))
    write_uvarint(out, topics + 1)
    return out


def _write_topic(out: bytearray, topic: FetchableTopicResponse, version: int) -> None:
    count = len(topic.partitions)
    if version >= TOPIC_IDS_SINCE:
        out += topic.topic_id
        write_uvarint(out, count + 1)
        return
    name = topic.topic.encode()
    if version >= FLEXIBLE_SINCE:
        write_uvarint(out, len(name) + 1)
        out += name
        write_uvarint(out, count + 1)
    else:
        out += b"%b%b%b" % (len(name).to_bytes(2, "big"), name, count.to_bytes(4, "big"))


def _write_flexible(out: bytearray, data: PartitionData, size: int) -> None:
    out += _FLEXIBLE_PARTITION.pack(
        data.partition_index,
        data.error_code,
        data.high_watermark,
        data.last_stable_offset,
        data.log_start_offset,
        0 if data.aborted_transactions is None else 1,
        data.preferred_read_replica,
    )
    write_uvarint(out, size + 1)


def _write_classic(out: bytearray, data: PartitionData, size: int) -> None:
    out += _CLASSIC_PARTITION.pack(
        data.partition_index,
        data.error_code,
        data.high_watermark,
        data.last_stable_offset,
        data.log_start_offset,
        -1 if data.aborted_transactions is None else 0,
        data.preferred_read_replica,
        size,
    )
