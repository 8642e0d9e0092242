"""Generated from definitions/k41_describe_delegation_token.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_bytes,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_string,
    read_count,
    read_nullable_count,
    read_string,
    skip_tagged,
    write_bytes,
    write_compact_bytes,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">qqq")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">i")


class DescribeDelegationTokenOwner(Struct):
    principal_type: str = ""
    principal_name: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeDelegationTokenOwner, int]:
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
        return DescribeDelegationTokenOwner(principal_type, principal_name), at

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


class DescribedDelegationTokenRenewer(Struct):
    principal_type: str = ""
    principal_name: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribedDelegationTokenRenewer, int]:
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
        return DescribedDelegationTokenRenewer(principal_type, principal_name), at

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


class DescribedDelegationToken(Struct):
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""
    token_requester_principal_name: str = ""
    issue_timestamp: int = 0
    expiry_timestamp: int = 0
    max_timestamp: int = 0
    token_id: str = ""
    hmac: bytes = b""
    renewers: list[DescribedDelegationTokenRenewer] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribedDelegationToken, int]:
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
        issue_timestamp, expiry_timestamp, max_timestamp = _PACKED_0.unpack_from(buf, at)
        at += 24
        if version >= 2:
            token_id, at = read_compact_string(buf, at)
        else:
            token_id, at = read_string(buf, at)
        if version >= 2:
            hmac, at = read_compact_bytes(buf, at)
        else:
            hmac, at = read_bytes(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 4)
        renewers: list[DescribedDelegationTokenRenewer] = []
        for _ in range(count):
            renewers_item, at = DescribedDelegationTokenRenewer.read(buf, at, version)
            renewers.append(renewers_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribedDelegationToken(
            principal_type,
            principal_name,
            token_requester_principal_type,
            token_requester_principal_name,
            issue_timestamp,
            expiry_timestamp,
            max_timestamp,
            token_id,
            hmac,
            renewers,
        ), at

    def write(self, out: Sink, version: int) -> None:
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
        out += _PACKED_0.pack(self.issue_timestamp, self.expiry_timestamp, self.max_timestamp)
        if version >= 2:
            write_compact_string(out, self.token_id)
        else:
            write_string(out, self.token_id)
        if version >= 2:
            write_compact_bytes(out, self.hmac)
        else:
            write_bytes(out, self.hmac)
        if version >= 2:
            write_compact_count(out, len(self.renewers))
        else:
            write_count(out, len(self.renewers))
        for renewers_item in self.renewers:
            renewers_item.write(out, version)
        if version >= 2:
            out.append(0)


class DescribeDelegationTokenRequest(Message):
    KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (1, 3, ("list", ((1, 3, "string"), (1, 3, "string"),))),
    )
    owners: list[DescribeDelegationTokenOwner] | None = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeDelegationTokenRequest, int]:
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_nullable_count(buf, at, 3)
        else:
            count, at = read_nullable_count(buf, at, 4)
        owners: list[DescribeDelegationTokenOwner] | None = None
        if count >= 0:
            owners = []
            for _ in range(count):
                owners_item, at = DescribeDelegationTokenOwner.read(buf, at, version)
                owners.append(owners_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeDelegationTokenRequest(owners), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_count(out, -1 if self.owners is None else len(self.owners))
        else:
            write_count(out, -1 if self.owners is None else len(self.owners))
        for owners_item in self.owners or ():
            owners_item.write(out, version)
        if version >= 2:
            out.append(0)


class DescribeDelegationTokenResponse(Message):
    KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    error_code: int = 0
    tokens: list[DescribedDelegationToken] = []
    throttle_time_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeDelegationTokenResponse, int]:
        (error_code,) = _PACKED_1.unpack_from(buf, at)
        at += 2
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 30)
        else:
            count, at = read_count(buf, at, 38)
        tokens: list[DescribedDelegationToken] = []
        for _ in range(count):
            tokens_item, at = DescribedDelegationToken.read(buf, at, version)
            tokens.append(tokens_item)
        (throttle_time_ms,) = _PACKED_2.unpack_from(buf, at)
        at += 4
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.error_code)
        if version >= 2:
            write_compact_count(out, len(self.tokens))
        else:
            write_count(out, len(self.tokens))
        for tokens_item in self.tokens:
            tokens_item.write(out, version)
        out += _PACKED_2.pack(self.throttle_time_ms)
        if version >= 2:
            out.append(0)
