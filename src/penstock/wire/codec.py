"""Messages as bytes: what every message can do, and the headers that go before them."""

from __future__ import annotations

from struct import Struct, error
from typing import Any, ClassVar, Final, Self, TypeVar

import msgspec

from penstock.errors import Malformed
from penstock.wire.messages import APIS, ApiKey
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    read_nullable_string,
    skip_tagged,
    write_nullable_string,
)
from penstock.world.ports import Buffer, Part

__all__ = [
    "NULL_UUID",
    "Message",
    "RequestHeader",
    "Shape",
    "Sink",
    "decode_response",
    "encode_request",
    "encode_response",
    "request_header",
]

_SIZE: Final = Struct(">i")
_REQUEST_START: Final = Struct(">hhi")
_RESPONSE_START: Final = Struct(">ii")
_CONTROLLED_SHUTDOWN: Final = 7


Shape = tuple[tuple[int, int, Any], ...]
"""What a request is made of, field by field: `definitions/shape.py` says how."""


class Message(msgspec.Struct):
    """What every request and response can do. The generated classes say how."""

    KEY: ClassVar[int]
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_SINCE: ClassVar[int]
    SHAPE: ClassVar[Shape] = ()
    """Of requests: to pass over them before they are decoded."""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Any, int]:
        raise TypeError("only generated messages can be decoded")

    def write(self, out: Sink, version: int) -> None:
        raise TypeError("only generated messages can be encoded")

    @classmethod
    def decode(cls, data: Buffer, version: int, at: int = 0) -> Self:
        """The message that begins at a position. Bytes after it are nobody's business."""
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise Malformed(f"{cls.__name__} has no version {version}")
        try:
            buf = data if type(data) is memoryview else memoryview(data)
            message: Self = cls.read(buf, at, version)[0]
        except (IndexError, error, UnicodeDecodeError) as broken:
            raise Malformed(f"{cls.__name__} version {version}: {broken}") from broken
        return message

    def encode(self, version: int) -> bytes:
        out = self.encode_after(Sink(), version)
        return b"".join(out.parts()) if out.cuts else bytes(out)  # type: ignore[arg-type]

    def encode_parts(self, version: int) -> list[Part]:
        """The same in pieces, so that big records are not copied, and may be still in a file."""
        return self.encode_after(Sink(), version).parts()

    def encode_after(self, out: Sink, version: int) -> Sink:
        if not self.MIN_VERSION <= version <= self.MAX_VERSION:
            raise ValueError(f"{type(self).__name__} has no version {version}")
        self.write(out, version)
        return out


class RequestHeader(msgspec.Struct):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def request_header(data: Buffer) -> tuple[RequestHeader, int]:
    """The header of a request, and where its body begins.

    An API that we do not know gets the old header: all that is left to do is to refuse it.
    """
    buf = memoryview(data)
    try:
        key, version, correlation_id = _REQUEST_START.unpack_from(buf, 0)
        if key == _CONTROLLED_SHUTDOWN and version == 0:
            return RequestHeader(key, version, correlation_id, None), 8
        # The client id is no compact string even in the flexible header, so that a broker can read
        # it before it knows the version.
        client_id, at = read_nullable_string(buf, 8)
        api = APIS.get(key)
        if api and version >= api.flexible_since:
            at = skip_tagged(buf, at) if buf[at] else at + 1
    except (IndexError, error, UnicodeDecodeError) as broken:
        raise Malformed(f"request header: {broken}") from broken
    return RequestHeader(key, version, correlation_id, client_id), at


def encode_request(
    message: Message, version: int, correlation_id: int, client_id: str | None
) -> list[Part]:
    """A request as it goes over the wire, its size first."""
    out = Sink(4)
    out += _REQUEST_START.pack(message.KEY, version, correlation_id)
    write_nullable_string(out, client_id)
    if version >= message.FLEXIBLE_SINCE:
        out.append(0)
    message.encode_after(out, version)
    _SIZE.pack_into(out, 0, len(out) + out.beside - 4)
    return out.parts()


def encode_response(message: Message, version: int, correlation_id: int) -> list[Part]:
    """A response as it goes over the wire, its size first."""
    out = Sink(_RESPONSE_START.pack(0, correlation_id))
    if _has_flexible_header(message, version):
        out.append(0)
    message.encode_after(out, version)
    _SIZE.pack_into(out, 0, len(out) + out.beside - 4)
    return out.parts()


M = TypeVar("M", bound=Message)


def decode_response(kind: type[M], data: Buffer, version: int) -> tuple[int, M]:
    """The correlation id and the message in a response, given without its size."""
    buf = memoryview(data)
    try:
        (correlation_id,) = _SIZE.unpack_from(buf, 0)
        at = skip_tagged(buf, 4) if _has_flexible_header(kind, version) else 4
    except (IndexError, error) as broken:
        raise Malformed(f"response header: {broken}") from broken
    return correlation_id, kind.decode(buf, version, at)


def _has_flexible_header(kind: Message | type[Message], version: int) -> bool:
    """Who asks for the versions cannot know yet which of them the answer has: never that one."""
    return version >= kind.FLEXIBLE_SINCE and kind.KEY != ApiKey.API_VERSIONS
