"""Columns made of places: Arrow copies what lies there, and no row becomes an object of Python."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from penstock.wire.places import Places, Runs
from penstock.wire.records import Headers

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
TIME = pa.timestamp("us", tz="UTC")


def keys(places: Places, data: pa.Buffer) -> pa.Array:
    return _fields(places.keys, places.rows_of_null_keys, data)


def values(places: Places, data: pa.Buffer) -> pa.Array:
    return _fields(places.values, places.rows_of_null_values, data)


def _fields(bounds: list[int], rows_of_null: list[int], data: pa.Buffer) -> pa.Array:
    """To Arrow the bounds are those of fields and of what lies between them, in turn; the fields
    are taken out."""
    count = len(bounds)
    if len(rows_of_null) == count:
        return pa.nulls(count, pa.binary())
    (_, places) = pa.array(bounds, pa.int64()).buffers()
    all_of_it = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, places, data])
    taken = all_of_it.take(pa.arange(0, 2 * count - 1, 2))
    if not rows_of_null:
        return taken
    return pa.Array.from_buffers(
        pa.binary(), count, [_validity(count, rows_of_null), *taken.buffers()[1:]]
    )


def _validity(count: int, rows_of_null: Sequence[int]) -> pa.Buffer:
    is_there = [True] * count
    for row in rows_of_null:
        is_there[row] = False
    return pa.array(is_there, pa.bool_()).buffers()[1]


def offsets(places: Places) -> pa.Array:
    ahead = repeated(places.offsets_ahead, places.count, pa.int64())
    return pc.add(ahead, pa.arange(0, places.count))


def times(places: Places) -> pa.Array:
    return repeated(places.times_us, places.count, pa.int64()).view(TIME)


def repeated(runs: Runs, count: int, kind: pa.DataType) -> pa.Array:
    if len(runs.numbers) == 1:
        return pa.repeat(pa.scalar(runs.numbers[0], kind), count)
    ends = pa.array([*runs.starts[1:], count], pa.int32())
    numbers = pa.array(runs.numbers, kind)
    return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(ends, numbers))


def headers(told: Sequence[Headers]) -> pa.Array:
    """A record without any has null, as in Spark's Kafka source. Names are text there."""
    if not any(told):
        return pa.nulls(len(told), pa.list_(HEADER))
    named = [
        [{"key": name.decode(errors="replace"), "value": value} for name, value in row] or None
        for row in told
    ]
    return pa.array(named, pa.list_(HEADER))
