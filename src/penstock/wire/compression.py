"""What the five codecs of a record batch do to its records, in the forms Kafka's clients send.

Nothing here makes more than `limit` bytes out of what a client sent: each codec is read through a
stream that stops there, or tells its size before a buffer is made. Zstandard's one-shot call is not
used, since it believes the size that a frame states and ignores the limit given to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import Protocol

import cramjam
import lz4.frame
import zstandard

from penstock.errors import ErrorCode, Refused
from penstock.world.ports import Buffer

_INT32 = Struct(">i")

_GZIP_WINDOW = 31
"""zlib's word for a window of 32 KiB within a gzip header and trailer."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01" * 2
"""Version 1, readable from version 1 on: what snappy-java writes, and with it the Java client."""
_XERIAL_BLOCK_BYTES = 32 * 1024

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_HEADER_BYTES_MAX = 18
_ZSTD_CHECKSUM_FLAG = 0x04
_ZSTD_REPEATED_BYTE = 1

DECOMPRESSED_BYTES_MAX = 256 << 20
"""Of one batch, for who looks into what is stored: no producer gets more of it past the broker."""

_FRAMES_MAX = 64
"""Clients send one gzip member or lz4 frame; each further one costs a copy of what comes after."""


class Codec(IntEnum):
    """By the number in a batch's attributes; `word` is the one in `compression.type`."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def word(self) -> str:
        return self.name.lower()


def codec_of(number: int) -> Codec:
    try:
        return Codec(number)
    except ValueError:
        reason = f"there is no compression type {number}"
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason) from None


def decompress(codec: int, data: Buffer, limit: int) -> bytes:
    """The bytes that were compressed, or Refused: they are damaged, or more than the limit."""
    return _DECOMPRESS[codec_of(codec)](data, limit)


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """What every Kafka client can read. A level is the codec's own; snappy has none."""
    return _COMPRESS[codec_of(codec)](data, level)


def _corrupt(reason: str) -> Refused:
    return Refused(ErrorCode.CORRUPT_MESSAGE, reason)


def _too_large(limit: int) -> Refused:
    return Refused(ErrorCode.MESSAGE_TOO_LARGE, f"the records take more than {limit} bytes")


def _plain(data: Buffer, limit: int) -> bytes:
    if len(data) > limit:
        raise _too_large(limit)
    return bytes(data)


class _Stream(Protocol):
    """What zlib's and lz4's decompressors have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...
    def decompress(self, data: Buffer, max_length: int, /) -> bytes: ...


def _streamed(new_stream: Callable[[], _Stream], data: Buffer, limit: int) -> bytes:
    """Frame after frame, each asked for one byte more than there may still be."""
    pieces: list[bytes] = []
    left = limit
    for _ in range(_FRAMES_MAX):
        stream = new_stream()
        piece = stream.decompress(data, left + 1)
        if len(piece) > left:
            raise _too_large(limit)
        if not stream.eof:
            raise _corrupt("the compressed records end too early")
        pieces.append(piece)
        left -= len(piece)
        data = stream.unused_data or b""
        if not data:
            return b"".join(pieces)
    raise _corrupt(f"more than {_FRAMES_MAX} compressed frames in a batch")


def _gunzip(data: Buffer, limit: int) -> bytes:
    try:
        return _streamed(lambda: zlib.decompressobj(_GZIP_WINDOW), data, limit)
    except zlib.error as error:
        raise _corrupt(f"gzip: {error}") from None


def _unlz4(data: Buffer, limit: int) -> bytes:
    try:
        return _streamed(lz4.frame.LZ4FrameDecompressor, data, limit)
    except RuntimeError as error:
        raise _corrupt(f"lz4: {error}") from None


def _unzstd(data: Buffer, limit: int) -> bytes:
    try:
        if not _zstd_is_whole(memoryview(data)):
            raise _corrupt("zstd: the compressed records end too early")
        reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
        records = reader.read(limit + 1)
    except zstandard.ZstdError as error:
        raise _corrupt(f"zstd: {error}") from None
    if len(records) > limit:
        raise _too_large(limit)
    return records


def _zstd_is_whole(data: memoryview) -> bool:
    """Whether each frame goes on to its last block: the reader takes a cut for an end."""
    at = 0
    while at < len(data):
        header = bytes(data[at : at + _ZSTD_HEADER_BYTES_MAX])
        if not header.startswith(_ZSTD_MAGIC):
            return False
        at += zstandard.frame_header_size(header)
        is_last = False
        while not is_last:
            if at + 3 > len(data):
                return False
            block = int.from_bytes(data[at : at + 3], "little")
            is_last = bool(block & 1)
            at += 3 + (1 if block >> 1 & 3 == _ZSTD_REPEATED_BYTE else block >> 3)
        if header[4] & _ZSTD_CHECKSUM_FLAG:
            at += 4
    return at == len(data) > 0


def _unsnappy(data: Buffer, limit: int) -> bytes:
    """Either one raw block, as librdkafka sends, or snappy-java's frame of many."""
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _unsnappy_block(view, limit)
    pieces: list[bytes] = []
    left = limit
    at = len(_XERIAL_HEADER)
    if len(view) < at:
        raise _corrupt("snappy: the frame's header is cut off")
    while at < len(view):
        if at + 4 > len(view):
            raise _corrupt("snappy: the compressed records end too early")
        size = _INT32.unpack_from(view, at)[0]
        at += 4
        if not 0 < size <= len(view) - at:
            raise _corrupt(f"snappy: a block of {size} bytes, where {len(view) - at} are left")
        pieces.append(_unsnappy_block(view[at : at + size], left))
        left -= len(pieces[-1])
        at += size
    return b"".join(pieces)


def _unsnappy_block(block: memoryview, limit: int) -> bytes:
    """A block begins with the size that it will have, for which a buffer is made: look first."""
    try:
        if cramjam.snappy.decompress_raw_len(block) > limit:
            raise _too_large(limit)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise _corrupt(str(error)) from None


def _gzip(data: Buffer, level: int | None) -> bytes:
    chosen = zlib.Z_DEFAULT_COMPRESSION if level is None else level
    return zlib.compress(data, chosen, _GZIP_WINDOW)


def _snappy(data: Buffer, _: int | None) -> bytes:
    view = memoryview(data)
    pieces = [_XERIAL_HEADER]
    for at in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[at : at + _XERIAL_BLOCK_BYTES]))
        pieces += (_INT32.pack(len(block)), block)
    return b"".join(pieces)


def _lz4(data: Buffer, level: int | None) -> bytes:
    """Blocks must not refer to earlier ones: the Java client reads no linked blocks."""
    return bytes(
        lz4.frame.compress(
            data,
            compression_level=level or 0,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            store_size=False,
        )
    )


def _zstd(data: Buffer, level: int | None) -> bytes:
    return zstandard.ZstdCompressor(3 if level is None else level).compress(data)


_DECOMPRESS: dict[Codec, Callable[[Buffer, int], bytes]] = {
    Codec.NONE: _plain,
    Codec.GZIP: _gunzip,
    Codec.SNAPPY: _unsnappy,
    Codec.LZ4: _unlz4,
    Codec.ZSTD: _unzstd,
}

_COMPRESS: dict[Codec, Callable[[Buffer, int | None], bytes]] = {
    Codec.NONE: lambda data, _: bytes(data),
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
