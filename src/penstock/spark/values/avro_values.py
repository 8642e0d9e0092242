"""Avro into columns, value by value: each by itself, or behind the five bytes of Confluent's."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.spark.values.avro_schema import Kind
from penstock.spark.values.json_values import Decoded, shortened

_MAGIC = 0
_FRAME = struct.Struct(">bi")


class AvroValues:
    def __init__(self, kind: Kind, schema_id: int | None) -> None:
        self._kind = kind
        self._schema_id = schema_id

    def decode(self, values: Sequence[bytes | None]) -> Decoded:
        rows: list[dict[str, Any] | None] = []
        errors: list[str | None] = []
        for value in values:
            row, error = (None, None) if value is None else self._row(value)
            rows.append(row)
            errors.append(error)
        return pa.array(rows, self._kind.arrow), errors

    def _row(self, value: bytes) -> tuple[dict[str, Any] | None, str | None]:
        try:
            row, end = self._kind.read(value, self._begin(value))
        except (IndexError, struct.error):
            return None, "it ends too soon"
        except ValueError as error:
            return None, shortened(str(error))
        if end != len(value):
            return None, f"{len(value) - end} bytes follow it"
        return row, None

    def _begin(self, value: bytes) -> int:
        """Written by another schema, bytes would be read as something that they are not."""
        if self._schema_id is None:
            return 0
        magic, found = _FRAME.unpack_from(value)
        if magic != _MAGIC:
            raise ValueError("it does not begin with a schema's id")
        if found != self._schema_id:
            raise ValueError(f"it is of schema {found}, and not of {self._schema_id}")
        return _FRAME.size
