"""Generated from definitions/k81_remove_raft_voter.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    read_compact_nullable_string,
    skip_tagged,
    write_compact_nullable_string,
)

_PACKED_0 = Packed(">i16s")
_PACKED_1 = Packed(">ih")


class RemoveRaftVoterRequest(Message):
    KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, "string"),
        (0, 0, 20),
    )
    cluster_id: str | None = ""
    voter_id: int = 0
    voter_directory_id: bytes = NULL_UUID

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[RemoveRaftVoterRequest, int]:
        cluster_id, at = read_compact_nullable_string(buf, at)
        voter_id, voter_directory_id = _PACKED_0.unpack_from(buf, at)
        at += 20
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return RemoveRaftVoterRequest(cluster_id, voter_id, voter_directory_id), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_nullable_string(out, self.cluster_id)
        out += _PACKED_0.pack(self.voter_id, self.voter_directory_id)
        out.append(0)


class RemoveRaftVoterResponse(Message):
    KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[RemoveRaftVoterResponse, int]:
        throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return RemoveRaftVoterResponse(throttle_time_ms, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)
