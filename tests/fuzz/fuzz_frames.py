"""Any bytes as a stream from a client: frames, request headers, the short ways of two APIs.

python tests/fuzz/fuzz_frames.py -max_total_time=60
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["penstock.wire"]):
    from penstock.errors import Malformed
    from penstock.wire.codec import request_header
    from penstock.wire.frames import FrameReader
    from penstock.wire.messages.k00_produce import ProduceRequest
    from penstock.wire.messages.k01_fetch import FetchRequest
    from penstock.wire.short_fetch import read_fetch
    from penstock.wire.single_produce import read_single

LIMIT = 4096
BUFFER = memoryview(bytearray(512))


def memory(size: int) -> memoryview:
    assert size <= LIMIT
    return memoryview(bytearray(size))


def frames_of(provider: atheris.FuzzedDataProvider) -> list[bytes]:
    """The stream arrives in pieces, as a socket gives it."""
    reader = FrameReader(LIMIT, memory)
    found: list[bytes] = []
    while provider.remaining_bytes():
        space = reader.space(BUFFER)
        piece = provider.ConsumeBytes(provider.ConsumeIntInRange(1, 64))[: len(space)]
        space[: len(piece)] = piece
        found += map(bytes, reader.feed(len(piece)))
    return found


def look_at(frame: bytes) -> None:
    header, body = request_header(frame)
    fetch = read_fetch(memoryview(frame))
    if fetch is not None:
        assert fetch.request == FetchRequest.decode(frame, header.api_version, body)
        assert (fetch.version, fetch.client_id) == (header.api_version, header.client_id)
    single = read_single(memoryview(frame))
    if single is None:
        return
    request = ProduceRequest.decode(frame, header.api_version, body)
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    assert (request.acks, request.transactional_id or "") == (single.acks, single.transaction)
    assert single.topic in (topic.name.encode(), topic.topic_id)
    assert (partition.index, partition.records) == (single.partition, single.batch)


def fuzz(data: bytes) -> None:
    try:
        for frame in frames_of(atheris.FuzzedDataProvider(data)):
            look_at(frame)
    except Malformed:
        return


def main() -> None:
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
