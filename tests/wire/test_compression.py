"""Every codec reads what clients write, and none makes more than it may out of anything."""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import sys
import warnings
import zlib
from collections.abc import Callable

import aiokafka.codec
import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ErrorCode, Refused
from penstock.wire.compression import Codec, codec_of, compress, decompress

with warnings.catch_warnings():  # it reads its schemas by a call that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.codec

LIMIT = 1 << 20
TEXT = b"".join(b"line %d of something that repeats itself; " % i for i in range(4_000))
COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def outcome(codec: int, data: bytes, limit: int = LIMIT) -> bytes | ErrorCode:
    try:
        return decompress(codec, data, limit)
    except Refused as refused:
        return refused.code


@pytest.mark.parametrize("codec", Codec)
@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=2_000).map(lambda data: data * 40))
def test_what_is_compressed_comes_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), len(data)) == data


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_will_do(codec: Codec, kind: Callable[[bytes], bytes]) -> None:
    packed = compress(codec, kind(TEXT))
    assert decompress(codec, kind(packed), LIMIT) == TEXT


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_level_is_the_codecs_own(codec: Codec) -> None:
    for level in (1, 9):
        assert decompress(codec, compress(codec, TEXT, level), LIMIT) == TEXT


def test_codecs_are_named_as_in_compression_type() -> None:
    assert [codec.word for codec in Codec] == ["none", "gzip", "snappy", "lz4", "zstd"]
    assert [codec_of(number) for number in range(5)] == list(Codec)


@pytest.mark.parametrize("number", [5, 7, -1])
def test_an_unknown_codec_is_unsupported(number: int) -> None:
    assert outcome(number, b"x") == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    with pytest.raises(Refused):
        compress(number, b"x")


def xerial(blocks: list[bytes]) -> bytes:
    head = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def raw_snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def zstd_stream(data: bytes) -> bytes:
    """As the Java client writes it: no size in the header, flushed in pieces, checked."""
    out = io.BytesIO()
    with zstandard.ZstdCompressor(write_checksum=True).stream_writer(out, closefd=False) as writer:
        for at in range(0, len(data), 50_000):
            writer.write(data[at : at + 50_000])
            writer.flush()
    return out.getvalue()


FOREIGN = {
    "gzip by the standard library": (Codec.GZIP, gzip.compress(TEXT)),
    "gzip by kafka-python": (Codec.GZIP, kafka.codec.gzip_encode(TEXT)),
    "gzip in two members": (Codec.GZIP, gzip.compress(TEXT[:999]) + gzip.compress(TEXT[999:])),
    "snappy, one raw block": (Codec.SNAPPY, raw_snappy(TEXT)),
    "snappy by aiokafka": (Codec.SNAPPY, aiokafka.codec.snappy_encode(TEXT)),
    "snappy in blocks": (Codec.SNAPPY, xerial([raw_snappy(TEXT[:7]), raw_snappy(TEXT[7:])])),
    "lz4 by kafka-python": (Codec.LZ4, kafka.codec.lz4_encode(TEXT)),
    "lz4 with all its options": (
        Codec.LZ4,
        lz4.frame.compress(TEXT, content_checksum=True, block_checksum=True, block_linked=True),
    ),
    "lz4 in two frames": (
        Codec.LZ4,
        lz4.frame.compress(TEXT[:999]) + lz4.frame.compress(TEXT[999:]),
    ),
    "zstd by kafka-python": (Codec.ZSTD, kafka.codec.zstd_encode(TEXT)),
    "zstd without a size": (Codec.ZSTD, zstd_stream(TEXT)),
    "zstd in two frames": (Codec.ZSTD, zstd_stream(TEXT[:999]) + compress(4, TEXT[999:])),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_others_wrote_is_read(what: str) -> None:
    codec, data = FOREIGN[what]
    assert decompress(codec, data, LIMIT) == TEXT
    assert decompress(codec, data, len(TEXT)) == TEXT
    assert outcome(codec, data, len(TEXT) - 1) == ErrorCode.MESSAGE_TOO_LARGE
    assert outcome(codec, data, 0) == ErrorCode.MESSAGE_TOO_LARGE


def test_others_read_what_we_write() -> None:
    assert gzip.decompress(compress(Codec.GZIP, TEXT)) == TEXT
    assert aiokafka.codec.snappy_decode(compress(Codec.SNAPPY, TEXT)) == TEXT
    assert kafka.codec.lz4_decode(compress(Codec.LZ4, TEXT)) == TEXT
    assert kafka.codec.zstd_decode(compress(Codec.ZSTD, TEXT)) == TEXT


def test_lz4_blocks_stand_alone_as_the_java_client_asks() -> None:
    info = lz4.frame.get_frame_info(compress(Codec.LZ4, TEXT))
    assert not info["block_linked"]
    assert info["block_size"] == 64 * 1024


@pytest.mark.parametrize(
    "what",
    [
        "gzip by the standard library",
        "snappy by aiokafka",
        "lz4 by kafka-python",
        "zstd by kafka-python",
        "zstd without a size",
    ],
)
def test_what_is_cut_off_is_corrupt(what: str) -> None:
    codec, data = FOREIGN[what]
    whole = len(data)
    ends = {*range(min(200, whole)), *range(0, whole, 97), *range(whole - 50, whole)}
    for end in ends:
        found = outcome(codec, data[:end])
        if codec == Codec.SNAPPY and isinstance(found, bytes):
            assert TEXT.startswith(found)  # its frame has no end mark: the walker will miss records
        else:
            assert found == ErrorCode.CORRUPT_MESSAGE


def test_a_raw_snappy_block_cut_off_is_corrupt() -> None:
    data = raw_snappy(TEXT)
    for end in range(0, len(data), 61):
        assert outcome(Codec.SNAPPY, data[:end]) == ErrorCode.CORRUPT_MESSAGE


SKIPPABLE = b"\x50\x2a\x4d\x18" + struct.pack("<i", 4) + b"skip"


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("data", [b"", b"\x01", b"garbage that is nothing at all", b"\xff" * 40])
def test_garbage_is_corrupt(codec: Codec, data: bytes) -> None:
    assert outcome(codec, data) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", COMPRESSED)
def test_garbage_after_the_end_is_corrupt(codec: Codec) -> None:
    assert outcome(codec, compress(codec, TEXT) + b"\x07junk") == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (Codec.SNAPPY, xerial([b""])),
        (Codec.SNAPPY, xerial([])[:12]),
        (Codec.SNAPPY, xerial([]) + struct.pack(">i", -1)),
        (Codec.SNAPPY, xerial([]) + struct.pack(">i", 2**31 - 1) + b"x"),
        (Codec.SNAPPY, xerial([b"\x80\x80\x80\x80\x80\x80\x80"])),
        (Codec.ZSTD, SKIPPABLE),
        (Codec.ZSTD, compress(Codec.ZSTD, TEXT) + SKIPPABLE),
        (Codec.GZIP, gzip.compress(b"") * 1_000),
        (Codec.LZ4, lz4.frame.compress(b"") * 1_000),
    ],
)
def test_frames_that_no_client_writes_are_corrupt(codec: Codec, data: bytes) -> None:
    assert outcome(codec, data) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", COMPRESSED)
@settings(deadline=None, max_examples=150)
@given(st.data())
def test_damage_is_refused_or_harmless(codec: Codec, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, TEXT[:3_000]))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    found = outcome(codec, bytes(packed))
    if isinstance(found, bytes):
        assert len(found) <= LIMIT
    else:
        assert found in {ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE}


BOMB_BYTES = 256 << 20


def gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = bytes(1 << 20)
    return b"".join(packer.compress(piece) for _ in range(BOMB_BYTES >> 20)) + packer.flush()


def zstd_block(last: bool) -> bytes:
    """128 KiB of one byte in four."""
    return ((128 * 1024) << 3 | 1 << 1 | int(last)).to_bytes(3, "little") + b"\x00"


def zstd_bomb(states_size: bool) -> bytes:
    blocks = BOMB_BYTES // (128 * 1024)
    body = zstd_block(False) * (blocks - 1) + zstd_block(True)
    window = b"\x38"  # 128 KiB
    if states_size:
        return b"\x28\xb5\x2f\xfd\xc0" + window + struct.pack("<Q", BOMB_BYTES) + body
    return b"\x28\xb5\x2f\xfd\x00" + window + body


def snappy_claim(size: int) -> bytes:
    out = bytearray()
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes([*out, size]) + b"\x00a"


BOMBS: dict[str, tuple[Codec, Callable[[], bytes]]] = {
    "gzip": (Codec.GZIP, gzip_bomb),
    "lz4": (Codec.LZ4, lambda: bytes(lz4.frame.compress(bytes(BOMB_BYTES), store_size=False))),
    "lz4 stating its size": (Codec.LZ4, lambda: bytes(lz4.frame.compress(bytes(BOMB_BYTES)))),
    "zstd": (Codec.ZSTD, lambda: zstd_bomb(False)),
    "zstd stating its size": (Codec.ZSTD, lambda: zstd_bomb(True)),
    "zstd of many frames": (Codec.ZSTD, lambda: compress(Codec.ZSTD, bytes(LIMIT)) * 256),
    "raw snappy": (Codec.SNAPPY, lambda: snappy_claim(2**32 - 1)),
    "framed snappy": (Codec.SNAPPY, lambda: xerial([raw_snappy(bytes(64 * 1024))] * 4_000)),
    "framed snappy claiming": (Codec.SNAPPY, lambda: xerial([snappy_claim(2**31)])),
}


DEFUSE = """
import re, sys
from pathlib import Path
from penstock.errors import Refused
from penstock.wire.compression import decompress
def peak_kib():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
codec, limit, bomb = int(sys.argv[1]), int(sys.argv[2]), sys.stdin.buffer.read()
before = peak_kib()
try:
    decompress(codec, bomb, limit)
except Refused as refused:
    print(refused.code.name, peak_kib() - before)
"""


@pytest.mark.parametrize("what", BOMBS)
def test_a_bomb_is_refused_within_the_limit(what: str) -> None:
    """In a process of its own, whose highest use of memory is not that of making the bomb."""
    codec, make = BOMBS[what]
    limit = 4 * LIMIT
    told = subprocess.run(
        [sys.executable, "-c", DEFUSE, str(int(codec)), str(limit)],
        input=make(),
        capture_output=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    name, grown_kib = told.stdout.split()
    assert name == b"MESSAGE_TOO_LARGE"
    assert int(grown_kib) << 10 < 3 * limit
