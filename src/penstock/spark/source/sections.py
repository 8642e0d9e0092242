"""Where the records of a batch lie as plain bytes: in what was received, if they can stay there."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from penstock.client.reader import UNCOMPRESSED_BYTES_MAX, Arrived
from penstock.wire.batch import HEADER_SIZE
from penstock.wire.batch_builder import records_of
from penstock.wire.compression import Codec


class Section(NamedTuple):
    """From `start` to before `stop`."""

    data: bytes
    start: int
    stop: int


def section_of(arrived: Arrived) -> Section:
    """What is not compressed stays where it was received; Refused where the rest is too large."""
    received = arrived.data.obj
    if arrived.header.codec != Codec.NONE or not isinstance(received, bytes):
        records = records_of(arrived.data, UNCOMPRESSED_BYTES_MAX)
        return Section(records, 0, len(records))
    at = pa.py_buffer(arrived.data).address - pa.py_buffer(received).address
    return Section(received, at + HEADER_SIZE, at + len(arrived.data))
