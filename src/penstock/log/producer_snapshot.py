"""Producer state in a file, as of an offset, so that a start need not read the whole log.

Kafka's format, which has each producer's last batch only. What is remembered of the batches before
that follows after it, where Kafka's readers do not look.
"""

from __future__ import annotations

from struct import Struct, error

from crc32c import crc32c

from penstock.errors import Unusable
from penstock.log.producer_state import (
    BATCHES_REMEMBERED,
    Producer,
    ProducerStates,
    WrittenBatch,
)

VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_MORE = Struct(">qi")
_BATCH = Struct(">iqiq")
_SEQUENCES = 0x7FFFFFFF


def encode(states: ProducerStates) -> bytes:
    producers = states.producers
    parts = [_COUNT.pack(len(producers))]
    parts += [_entry(producer_id, producer) for producer_id, producer in producers.items()]
    for producer_id, producer in producers.items():
        parts.append(_MORE.pack(producer_id, len(producer.batches)))
        parts += [_batch(batch) for batch in producer.batches]
    body = b"".join(parts)
    return _HEAD.pack(VERSION, crc32c(body)) + body


def _entry(producer_id: int, producer: Producer) -> bytes:
    last = producer.batches[-1] if producer.batches else WrittenBatch(-1, -1, -1, -1, -1)
    return _ENTRY.pack(
        producer_id,
        producer.epoch,
        last.last_sequence,
        last.last_offset,
        last.last_offset - last.base_offset,
        producer.last_timestamp,
        producer.coordinator_epoch,
        producer.txn_first_offset,
    )


def _batch(batch: WrittenBatch) -> bytes:
    delta = batch.last_offset - batch.base_offset
    return _BATCH.pack(batch.last_sequence, batch.last_offset, delta, batch.timestamp)


def decode(data: bytes, path: str) -> ProducerStates | None:
    """None if the snapshot is not whole; Unusable if it is of a newer version."""
    if len(data) < _HEAD.size + _COUNT.size:
        return None
    version, crc = _HEAD.unpack_from(data)
    if crc32c(data[_HEAD.size :]) != crc:
        return None
    if version != VERSION:
        raise Unusable(f"{path} has version {version}, this release reads version {VERSION}")
    try:
        return _decode_body(data)
    except (error, KeyError):
        return None


def _decode_body(data: bytes) -> ProducerStates:
    states = ProducerStates()
    position = _HEAD.size + _COUNT.size
    for _ in range(_COUNT.unpack_from(data, _HEAD.size)[0]):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator, first = (
            _ENTRY.unpack_from(data, position)
        )
        producer = Producer(epoch)
        producer.coordinator_epoch, producer.txn_first_offset = coordinator, first
        producer.last_timestamp = timestamp
        if sequence >= 0:
            producer.batches = (_written(sequence, offset, delta, timestamp),)
        states.put(producer_id, producer)
        position += _ENTRY.size
    _decode_more(data, position, states)
    states.sort_open()
    return states


def _decode_more(data: bytes, position: int, states: ProducerStates) -> None:
    while position < len(data):
        producer_id, count = _MORE.unpack_from(data, position)
        position += _MORE.size
        batches: list[WrittenBatch] = []
        for _ in range(count):
            batches.append(_written(*_BATCH.unpack_from(data, position)))
            position += _BATCH.size
        states.producers[producer_id].batches = tuple(batches[-BATCHES_REMEMBERED:])


def _written(sequence: int, offset: int, delta: int, timestamp: int) -> WrittenBatch:
    first_sequence = (sequence - delta) & _SEQUENCES
    return WrittenBatch(first_sequence, sequence, offset - delta, offset, timestamp)
