"""Batches as other clients' own builders make them, read by us, and ours read by their readers."""

from __future__ import annotations

import warnings
from typing import Any

import aiokafka.codec
import pytest
from aiokafka.record import default_records as aiokafka_c
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy, _DefaultRecordBatchPy

from penstock.wire.batch import check
from penstock.wire.batch_builder import build_batch, check_records, end_marker, read_records
from penstock.wire.compression import Codec
from penstock.wire.records import Record

with warnings.catch_warnings():  # it reads its schemas by a call that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.codec
    from kafka.record import default_records as kafka_python

LIMIT = 1 << 20
NOW_MS = 1_760_000_000_000

CLIENTS: dict[str, tuple[Any, Any]] = {
    "kafka-python": (
        kafka_python.DefaultRecordBatchBuilder,
        kafka_python.DefaultRecordBatch,
    ),
    "aiokafka": (aiokafka_c.DefaultRecordBatchBuilder, aiokafka_c.DefaultRecordBatch),
    "aiokafka in Python": (_DefaultRecordBatchBuilderPy, _DefaultRecordBatchPy),
}

RECORDS = [
    Record(0, NOW_MS, b"key", b"value", ()),
    Record(1, NOW_MS + 70_000, None, b"x" * 40_000, ((b"h", b"v"), (b"n", None))),
    Record(2, NOW_MS - 5, b"tombstone", None, ()),
    Record(3, NOW_MS + 1, b"", b"", ((b"unicode \xc3\xa9", b""),)),
    *(Record(i, NOW_MS + i, b"k%d" % i, b"value %d" % i, ()) for i in range(4, 300)),
]


def cases() -> list[Any]:
    return [
        pytest.param(client, codec, id=f"{client} {codec.word}")
        for client in CLIENTS
        for codec in Codec
        if client != "kafka-python" or codec != Codec.SNAPPY or kafka.codec.has_snappy()
    ]


def headers_of(record: Any) -> list[tuple[str, bytes | None]]:
    return [(name.decode(), value) for name, value in record.headers]


@pytest.mark.parametrize(("client", "codec"), cases())
def test_we_read_what_they_build(client: str, codec: Codec) -> None:
    builder = CLIENTS[client][0](2, int(codec), 1, 44, 3, 17, 1 << 20)
    for each in RECORDS:
        builder.append(each.offset, each.timestamp, each.key, each.value, headers_of(each))
    batch = bytes(builder.build())
    header = check(batch)
    assert read_records(batch, LIMIT) == RECORDS
    assert (header.codec, header.is_transactional) == (codec, True)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (44, 3, 17)
    assert check_records(batch, LIMIT, keyed=False) == header.max_timestamp == NOW_MS + 70_000


@pytest.mark.parametrize(("client", "codec"), cases())
def test_they_read_what_we_build(client: str, codec: Codec) -> None:
    reader = CLIENTS[client][1](bytes(build_batch(RECORDS, codec=codec)))
    assert reader.validate_crc()
    found = list(reader)
    assert [(r.offset, r.timestamp, r.key, r.value) for r in found] == [
        (r.offset, r.timestamp, r.key, r.value) for r in RECORDS
    ]
    assert [list(r.headers) for r in found] == [headers_of(r) for r in RECORDS]


@pytest.mark.parametrize("client", CLIENTS)
def test_they_see_a_control_batch_in_our_marker(client: str) -> None:
    marker = end_marker(77, 5, commit=False, coordinator_epoch=1, timestamp_ms=NOW_MS)
    reader = CLIENTS[client][1](bytes(marker))
    assert reader.is_control_batch
    assert reader.is_transactional
    assert reader.producer_id == 77


def test_aiokafka_has_its_compiled_reader_here() -> None:
    """Otherwise two of the three clients above would be one."""
    assert aiokafka_c.DefaultRecordBatch is not _DefaultRecordBatchPy
    assert aiokafka.codec.has_snappy()
