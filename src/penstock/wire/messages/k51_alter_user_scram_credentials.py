"""Generated from definitions/k51_alter_user_scram_credentials.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged,
    write_compact_bytes,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">b")
_PACKED_1 = Packed(">bi")
_PACKED_2 = Packed(">h")
_PACKED_3 = Packed(">i")


class ScramCredentialDeletion(Struct):
    name: str = ""
    mechanism: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ScramCredentialDeletion, int]:
        name, at = read_compact_string(buf, at)
        (mechanism,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ScramCredentialDeletion(name, mechanism), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        out += _PACKED_0.pack(self.mechanism)
        out.append(0)


class ScramCredentialUpsertion(Struct):
    name: str = ""
    mechanism: int = 0
    iterations: int = 0
    salt: bytes = b""
    salted_password: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ScramCredentialUpsertion, int]:
        name, at = read_compact_string(buf, at)
        mechanism, iterations = _PACKED_1.unpack_from(buf, at)
        at += 5
        salt, at = read_compact_bytes(buf, at)
        salted_password, at = read_compact_bytes(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ScramCredentialUpsertion(name, mechanism, iterations, salt, salted_password), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        out += _PACKED_1.pack(self.mechanism, self.iterations)
        write_compact_bytes(out, self.salt)
        write_compact_bytes(out, self.salted_password)
        out.append(0)


class AlterUserScramCredentialsResult(Struct):
    user: str = ""
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterUserScramCredentialsResult, int]:
        user, at = read_compact_string(buf, at)
        (error_code,) = _PACKED_2.unpack_from(buf, at)
        at += 2
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterUserScramCredentialsResult(user, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.user)
        out += _PACKED_2.pack(self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)


class AlterUserScramCredentialsRequest(Message):
    KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, ("list", ((0, 0, "string"), (0, 0, 1),))),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, 5), (0, 0, "bytes"), (0, 0, "bytes"),))),
    )
    deletions: list[ScramCredentialDeletion] = []
    upsertions: list[ScramCredentialUpsertion] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterUserScramCredentialsRequest, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        deletions: list[ScramCredentialDeletion] = []
        for _ in range(count):
            deletions_item, at = ScramCredentialDeletion.read(buf, at, version)
            deletions.append(deletions_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 9)
        upsertions: list[ScramCredentialUpsertion] = []
        for _ in range(count):
            upsertions_item, at = ScramCredentialUpsertion.read(buf, at, version)
            upsertions.append(upsertions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterUserScramCredentialsRequest(deletions, upsertions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.deletions))
        for deletions_item in self.deletions:
            deletions_item.write(out, version)
        write_compact_count(out, len(self.upsertions))
        for upsertions_item in self.upsertions:
            upsertions_item.write(out, version)
        out.append(0)


class AlterUserScramCredentialsResponse(Message):
    KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    results: list[AlterUserScramCredentialsResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterUserScramCredentialsResponse, int]:
        (throttle_time_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 5)
        results: list[AlterUserScramCredentialsResult] = []
        for _ in range(count):
            results_item, at = AlterUserScramCredentialsResult.read(buf, at, version)
            results.append(results_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterUserScramCredentialsResponse(throttle_time_ms, results), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.throttle_time_ms)
        write_compact_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        out.append(0)
