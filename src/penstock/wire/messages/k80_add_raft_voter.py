"""Generated from definitions/k80_add_raft_voter.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    absent,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">H")
_PACKED_1 = Packed(">ii16s")
_PACKED_2 = Packed(">?")
_PACKED_3 = Packed(">ih")


class Listener(Struct):
    name: str = ""
    host: str = ""
    port: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Listener, int]:
        name, at = read_compact_string(buf, at)
        host, at = read_compact_string(buf, at)
        (port,) = _PACKED_0.unpack_from(buf, at)
        at += 2
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Listener(name, host, port), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_string(out, self.host)
        out += _PACKED_0.pack(self.port)
        out.append(0)


class AddRaftVoterRequest(Message):
    KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 1, "string"),
        (0, 1, 24),
        (0, 1, ("list", ((0, 1, "string"), (0, 1, "string"), (0, 1, 2),))),
        (1, 1, 1),
    )
    cluster_id: str | None = ""
    timeout_ms: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = NULL_UUID
    listeners: list[Listener] = []
    ack_when_committed: bool = True

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddRaftVoterRequest, int]:
        cluster_id, at = read_compact_nullable_string(buf, at)
        timeout_ms, voter_id, voter_directory_id = _PACKED_1.unpack_from(buf, at)
        at += 24
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 5)
        listeners: list[Listener] = []
        for _ in range(count):
            listeners_item, at = Listener.read(buf, at, version)
            listeners.append(listeners_item)
        ack_when_committed: bool = True
        if version >= 1:
            (ack_when_committed,) = _PACKED_2.unpack_from(buf, at)
            at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AddRaftVoterRequest(
            cluster_id,
            timeout_ms,
            voter_id,
            voter_directory_id,
            listeners,
            ack_when_committed,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_nullable_string(out, self.cluster_id)
        out += _PACKED_1.pack(self.timeout_ms, self.voter_id, self.voter_directory_id)
        write_compact_count(out, len(self.listeners))
        for listeners_item in self.listeners:
            listeners_item.write(out, version)
        if version >= 1:
            out += _PACKED_2.pack(self.ack_when_committed)
        elif not self.ack_when_committed:
            raise absent(version, "ack_when_committed")
        out.append(0)


class AddRaftVoterResponse(Message):
    KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddRaftVoterResponse, int]:
        throttle_time_ms, error_code = _PACKED_3.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AddRaftVoterResponse(throttle_time_ms, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)
