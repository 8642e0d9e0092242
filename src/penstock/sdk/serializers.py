"""Between values and the bytes that messages carry."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, overload

import msgspec

In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)
T = TypeVar("T")


class Serializer(Protocol[In_contra]):
    """One's own needs this method only. It raises anything for what it does not take."""

    def serialize(self, value: In_contra, /) -> bytes: ...


class Deserializer(Protocol[Out_co]):
    """The other way round."""

    def deserialize(self, data: bytes, /) -> Out_co: ...


class Serde(Protocol[T]):
    """Both, as a queue needs it. All of ours are that."""

    def serialize(self, value: T, /) -> bytes: ...

    def deserialize(self, data: bytes, /) -> T: ...


Text = str | bytes | int
"""What is sent as text."""


class _Text:
    """UTF-8. Bytes are taken for text that is encoded already, and whole numbers as digits."""

    def serialize(self, value: Text, /) -> bytes:
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, bytes):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return b"%d" % value
        raise TypeError("text, bytes or a whole number is needed")

    deserialize: Callable[[bytes], str] = staticmethod(bytes.decode)


class _Raw:
    """Bytes as they are."""

    def serialize(self, value: Any, /) -> bytes:
        if isinstance(value, str | int):
            raise TypeError("bytes are needed")
        return bytes(value)

    deserialize: Callable[[bytes], bytes] = staticmethod(bytes)


text = _Text()
raw = _Raw()


class Json(Generic[T]):
    """JSON by msgspec. What is read is checked against the type: a dataclass, a msgspec.Struct,
    `dict[str, int]` and the like."""

    serialize: Callable[[T], bytes]
    deserialize: Callable[[bytes], T]

    @overload
    def __init__(self: Json[Any]) -> None: ...

    @overload
    def __init__(self, kind: type[T]) -> None: ...

    @overload
    def __init__(self: Json[Any], kind: object) -> None: ...

    def __init__(self, kind: Any = Any) -> None:
        self.serialize = msgspec.json.Encoder().encode
        self.deserialize = msgspec.json.Decoder(kind).decode


class Int64:
    """Eight bytes, the highest first, as Java's LongSerializer has them."""

    _form = struct.Struct(">q")

    def serialize(self, value: int, /) -> bytes:
        return self._form.pack(value)

    def deserialize(self, data: bytes, /) -> int:
        return int(self._form.unpack(data)[0])


class Float64:
    """Eight bytes, as Java's DoubleSerializer has them."""

    _form = struct.Struct(">d")

    def serialize(self, value: float, /) -> bytes:
        return self._form.pack(value)

    def deserialize(self, data: bytes, /) -> float:
        return float(self._form.unpack(data)[0])
