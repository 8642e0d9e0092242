"""Generated from definitions/k50_describe_user_scram_credentials.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">bi")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">ih")


class UserName(Struct):
    name: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[UserName, int]:
        name, at = read_compact_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return UserName(name), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        out.append(0)


class CredentialInfo(Struct):
    mechanism: int = 0
    iterations: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CredentialInfo, int]:
        mechanism, iterations = _PACKED_0.unpack_from(buf, at)
        at += 5
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return CredentialInfo(mechanism, iterations), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.mechanism, self.iterations)
        out.append(0)


class DescribeUserScramCredentialsResult(Struct):
    user: str = ""
    error_code: int = 0
    error_message: str | None = None
    credential_infos: list[CredentialInfo] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeUserScramCredentialsResult, int]:
        user, at = read_compact_string(buf, at)
        (error_code,) = _PACKED_1.unpack_from(buf, at)
        at += 2
        error_message, at = read_compact_nullable_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 6)
        credential_infos: list[CredentialInfo] = []
        for _ in range(count):
            credential_infos_item, at = CredentialInfo.read(buf, at, version)
            credential_infos.append(credential_infos_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeUserScramCredentialsResult(
            user,
            error_code,
            error_message,
            credential_infos,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.user)
        out += _PACKED_1.pack(self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_count(out, len(self.credential_infos))
        for credential_infos_item in self.credential_infos:
            credential_infos_item.write(out, version)
        out.append(0)


class DescribeUserScramCredentialsRequest(Message):
    KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, ("list", ((0, 0, "string"),))),
    )
    users: list[UserName] | None = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeUserScramCredentialsRequest, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 2)
        users: list[UserName] | None = None
        if count >= 0:
            users = []
            for _ in range(count):
                users_item, at = UserName.read(buf, at, version)
                users.append(users_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeUserScramCredentialsRequest(users), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, -1 if self.users is None else len(self.users))
        for users_item in self.users or ():
            users_item.write(out, version)
        out.append(0)


class DescribeUserScramCredentialsResponse(Message):
    KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    results: list[DescribeUserScramCredentialsResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeUserScramCredentialsResponse, int]:
        throttle_time_ms, error_code = _PACKED_2.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 6)
        results: list[DescribeUserScramCredentialsResult] = []
        for _ in range(count):
            results_item, at = DescribeUserScramCredentialsResult.read(buf, at, version)
            results.append(results_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeUserScramCredentialsResponse(
            throttle_time_ms,
            error_code,
            error_message,
            results,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        out.append(0)
