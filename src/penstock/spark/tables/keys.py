"""Rows that are known by the values of some columns: which of others have the same ones."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.errors import SparkError


class Keys:
    """Those of some rows. Nothing is equal to nothing here, as for `is not distinct from`.

    Each column's values become numbers, and the numbers of two columns one: so any count of columns
    is looked up as one, without an object in Python for each row.
    """

    def __init__(self, rows: pa.Table, names: Sequence[str]) -> None:
        self.names = list(names)
        self._known: list[pa.Array] = []
        """Of each column the values that there are, and of each but the first the pairs."""
        columns = _plain(rows.select(self.names))
        codes = self._learn(columns[0])
        for column in columns[1:]:
            codes = self._learn(_paired(codes, self._learn(column), len(self._known[-1])))
        self.count = len(self._known[-1])

    def _learn(self, values: pa.Array) -> pa.Array:
        self._known.append(pc.unique(values))
        return _code(values, self._known[-1])

    def among(self, rows: pa.RecordBatch | pa.Table) -> pa.Array:
        """Whether each row has one of them."""
        known = iter(self._known)
        first, *rest = _plain(pa.table(rows.select(self.names)))
        codes = _code(first, next(known))
        for column in rest:
            values = next(known)
            codes = _code(_paired(codes, _code(column, values), len(values)), next(known))
        return pc.is_valid(codes)


def _plain(rows: pa.Table) -> list[pa.Array]:
    """Columns that can be compared: a struct is its fields."""
    while any(pa.types.is_struct(field.type) for field in rows.schema):
        rows = rows.flatten()
    for field in rows.schema:
        if pa.types.is_nested(field.type):
            raise SparkError(f"rows cannot be known by {field.name}, which is a {field.type}")
    return [column.combine_chunks() for column in rows.columns]


def _code(values: pa.Array, known: pa.Array) -> pa.Array:
    """The place of each among those that are known, or null."""
    return pc.index_in(values, value_set=known).cast(pa.int64())


def _paired(first: pa.Array, second: pa.Array, count: int) -> pa.Array:
    return pc.add(pc.multiply(first, count), second)
