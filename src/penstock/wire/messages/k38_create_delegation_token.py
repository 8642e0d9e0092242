"""Generated from definitions/k38_create_delegation_token.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    read_bytes,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_string,
    skip_tagged,
    write_bytes,
    write_compact_bytes,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">q")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">qqq")
_PACKED_3 = Packed(">i")


class CreatableRenewers(Struct):
    principal_type: str = ""
    principal_name: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatableRenewers, int]:
        if version >= 2:
            principal_type, at = read_compact_string(buf, at)
        else:
            principal_type, at = read_string(buf, at)
        if version >= 2:
            principal_name, at = read_compact_string(buf, at)
        else:
            principal_name, at = read_string(buf, at)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreatableRenewers(principal_type, principal_name), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.principal_type)
        else:
            write_string(out, self.principal_type)
        if version >= 2:
            write_compact_string(out, self.principal_name)
        else:
            write_string(out, self.principal_name)
        if version >= 2:
            out.append(0)


class CreateDelegationTokenRequest(Message):
    KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (3, 3, "string"),
        (3, 3, "string"),
        (1, 3, ("list", ((1, 3, "string"), (1, 3, "string"),))),
        (1, 3, 8),
    )
    owner_principal_type: str | None = None
    owner_principal_name: str | None = None
    renewers: list[CreatableRenewers] = []
    max_lifetime_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreateDelegationTokenRequest, int]:
        owner_principal_type: str | None = None
        if version >= 3:
            owner_principal_type, at = read_compact_nullable_string(buf, at)
        owner_principal_name: str | None = None
        if version >= 3:
            owner_principal_name, at = read_compact_nullable_string(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 4)
        renewers: list[CreatableRenewers] = []
        for _ in range(count):
            renewers_item, at = CreatableRenewers.read(buf, at, version)
            renewers.append(renewers_item)
        (max_lifetime_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 8
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreateDelegationTokenRequest(
            owner_principal_type,
            owner_principal_name,
            renewers,
            max_lifetime_ms,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            write_compact_nullable_string(out, self.owner_principal_type)
        elif self.owner_principal_type is not None:
            raise absent(version, "owner_principal_type")
        if version >= 3:
            write_compact_nullable_string(out, self.owner_principal_name)
        elif self.owner_principal_name is not None:
            raise absent(version, "owner_principal_name")
        if version >= 2:
            write_compact_count(out, len(self.renewers))
        else:
            write_count(out, len(self.renewers))
        for renewers_item in self.renewers:
            renewers_item.write(out, version)
        out += _PACKED_0.pack(self.max_lifetime_ms)
        if version >= 2:
            out.append(0)


class CreateDelegationTokenResponse(Message):
    KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    error_code: int = 0
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""
    token_requester_principal_name: str = ""
    issue_timestamp_ms: int = 0
    expiry_timestamp_ms: int = 0
    max_timestamp_ms: int = 0
    token_id: str = ""
    hmac: bytes = b""
    throttle_time_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreateDelegationTokenResponse, int]:
        (error_code,) = _PACKED_1.unpack_from(buf, at)
        at += 2
        if version >= 2:
            principal_type, at = read_compact_string(buf, at)
        else:
            principal_type, at = read_string(buf, at)
        if version >= 2:
            principal_name, at = read_compact_string(buf, at)
        else:
            principal_name, at = read_string(buf, at)
        token_requester_principal_type: str = ""
        if version >= 3:
            token_requester_principal_type, at = read_compact_string(buf, at)
        token_requester_principal_name: str = ""
        if version >= 3:
            token_requester_principal_name, at = read_compact_string(buf, at)
        issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms = _PACKED_2.unpack_from(buf, at)
        at += 24
        if version >= 2:
            token_id, at = read_compact_string(buf, at)
        else:
            token_id, at = read_string(buf, at)
        if version >= 2:
            hmac, at = read_compact_bytes(buf, at)
        else:
            hmac, at = read_bytes(buf, at)
        (throttle_time_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreateDelegationTokenResponse(
            error_code,
            principal_type,
            principal_name,
            token_requester_principal_type,
            token_requester_principal_name,
            issue_timestamp_ms,
            expiry_timestamp_ms,
            max_timestamp_ms,
            token_id,
            hmac,
            throttle_time_ms,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.error_code)
        if version >= 2:
            write_compact_string(out, self.principal_type)
        else:
            write_string(out, self.principal_type)
        if version >= 2:
            write_compact_string(out, self.principal_name)
        else:
            write_string(out, self.principal_name)
        if version >= 3:
            write_compact_string(out, self.token_requester_principal_type)
        if version >= 3:
            write_compact_string(out, self.token_requester_principal_name)
        out += _PACKED_2.pack(self.issue_timestamp_ms, self.expiry_timestamp_ms, self.max_timestamp_ms)
        if version >= 2:
            write_compact_string(out, self.token_id)
        else:
            write_string(out, self.token_id)
        if version >= 2:
            write_compact_bytes(out, self.hmac)
        else:
            write_bytes(out, self.hmac)
        out += _PACKED_3.pack(self.throttle_time_ms)
        if version >= 2:
            out.append(0)
