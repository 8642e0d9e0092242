"""Producer state in a file, as of an offset, so that a start need not read the whole log.

Kafka's format, which has each producer's last batch only. What is remembered of the batches before
that follows after it, where Kafka's readers do not look.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import count
from struct import Struct, error

from crc32c import crc32c

from penstock.errors import Unusable
from penstock.log.producer_state import (
    BATCHES_REMEMBERED,
    Producer,
    ProducerStates,
    WrittenBatch,
)
from penstock.log.steps import exhaust

VERSION = 1
PRODUCERS_A_SLICE = 500
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_MORE = Struct(">qi")
_BATCH = Struct(">iqiq")
_SEQUENCES = 0x7FFFFFFF


def encode(producers: Sequence[Producer]) -> bytes:
    body = b"".join(_pieces(producers))
    return _HEAD.pack(VERSION, crc32c(body)) + body


def encoded(producers: Sequence[Producer]) -> Generator[None, None, list[bytes]]:
    """The same in parts. It yields after each, which takes a few milliseconds."""
    parts, crc = [b""], 0
    for piece in _pieces(producers):
        parts.append(piece)
        crc = crc32c(piece, crc)
        yield
    parts[0] = _HEAD.pack(VERSION, crc)
    return parts


def _pieces(producers: Sequence[Producer]) -> Iterator[bytes]:
    yield _COUNT.pack(len(producers))
    for part in (_entry, _more):
        for start in range(0, len(producers), PRODUCERS_A_SLICE):
            yield b"".join(map(part, producers[start : start + PRODUCERS_A_SLICE]))


def _entry(producer: Producer) -> bytes:
    last = producer.batches[-1] if producer.batches else WrittenBatch(-1, -1, -1, -1, -1)
    return _ENTRY.pack(
        producer.id,
        producer.epoch,
        last.last_sequence,
        last.last_offset,
        last.last_offset - last.base_offset,
        producer.last_timestamp,
        producer.coordinator_epoch,
        producer.txn_first_offset,
    )


def _more(producer: Producer) -> bytes:
    head = _MORE.pack(producer.id, len(producer.batches))
    return head + b"".join(map(_batch, producer.batches))


def _batch(batch: WrittenBatch) -> bytes:
    _, last_sequence, base_offset, last_offset, timestamp = batch
    return _BATCH.pack(last_sequence, last_offset, last_offset - base_offset, timestamp)


def decode(data: bytes, path: str) -> ProducerStates | None:
    """None if the snapshot is not whole; Unusable if it is of a newer version."""
    return exhaust(decoded(data, path))


def decoded(data: bytes, path: str) -> Generator[None, None, ProducerStates | None]:
    """The same. It yields after each slice of producers, which takes a few milliseconds."""
    if len(data) < _HEAD.size + _COUNT.size:
        return None
    version, crc = _HEAD.unpack_from(data)
    if crc32c(data[_HEAD.size :]) != crc:
        return None
    if version != VERSION:
        raise Unusable(f"{path} has version {version}, this release reads version {VERSION}")
    try:
        return (yield from _decode_body(data))
    except (error, KeyError):
        return None


def _decode_body(data: bytes) -> Generator[None, None, ProducerStates]:
    states = ProducerStates()
    position, before, is_sorted = _HEAD.size + _COUNT.size, -1, True
    for number in range(1, _COUNT.unpack_from(data, _HEAD.size)[0] + 1):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator, first = (
            _ENTRY.unpack_from(data, position)
        )
        producer = Producer(producer_id, epoch)
        producer.coordinator_epoch, producer.txn_first_offset = coordinator, first
        producer.last_timestamp = timestamp
        if sequence >= 0:
            producer.batches = (_written(sequence, offset, delta, timestamp),)
            is_sorted &= before <= offset
            before = offset
        states.put(producer)
        position += _ENTRY.size
        if number % PRODUCERS_A_SLICE == 0:
            yield
    yield from _decode_more(data, position, states)
    if is_sorted:
        states.sort_open()
    else:
        states.sort()
    return states


def _decode_more(data: bytes, position: int, states: ProducerStates) -> Iterator[None]:
    for number in count(1):
        if position >= len(data):
            return
        producer_id, batch_count = _MORE.unpack_from(data, position)
        position += _MORE.size
        batches: list[WrittenBatch] = []
        for _ in range(batch_count):
            batches.append(_written(*_BATCH.unpack_from(data, position)))
            position += _BATCH.size
        states.producers[producer_id].batches = tuple(batches[-BATCHES_REMEMBERED:])
        if number % PRODUCERS_A_SLICE == 0:
            yield


def _written(sequence: int, offset: int, delta: int, timestamp: int) -> WrittenBatch:
    first_sequence = (sequence - delta) & _SEQUENCES
    return WrittenBatch(first_sequence, sequence, offset - delta, offset, timestamp)
