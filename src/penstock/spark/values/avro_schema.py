"""Avro's schemas: which columns they make, and how their values are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.spark.errors import OptionError
from penstock.spark.values import avro_reading as reading
from penstock.spark.values.avro_reading import Read

_DIGITS_MAX = 38
_TIME = pa.timestamp("us", tz="UTC")


class Kind(NamedTuple):
    arrow: pa.DataType
    read: Read
    nullable: bool = False


_PLAIN = {
    "boolean": Kind(pa.bool_(), reading.boolean),
    "int": Kind(pa.int32(), reading.int32),
    "long": Kind(pa.int64(), reading.int64),
    "float": Kind(pa.float32(), reading.float32),
    "double": Kind(pa.float64(), reading.float64),
    "bytes": Kind(pa.binary(), reading.binary),
    "string": Kind(pa.string(), reading.text),
}
_LOGICAL = {
    ("int", "date"): Kind(pa.date32(), reading.int32),
    ("long", "timestamp-millis"): Kind(_TIME, reading.milliseconds),
    ("long", "timestamp-micros"): Kind(_TIME, reading.int64),
}


def parsed(text: str) -> Kind:
    """Of a record. Raises OptionError for what is no schema, or none that makes columns."""
    try:
        told = json.loads(text)
        found = _Schema().kind(told, "")
    except OptionError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise OptionError(f"the Avro schema cannot be read: {error or 'it is too deep'}") from None
    if not pa.types.is_struct(found.arrow) or found.nullable:
        raise _wrong("the value is no record, and only a record has columns")
    return found


class _Schema:
    def __init__(self) -> None:
        self._named: dict[str, Kind | None] = {}
        """None of those that are being read: they would lie in themselves."""

    def kind(self, told: Any, space: str) -> Kind:
        if isinstance(told, list):
            return self._union(told, space)
        if isinstance(told, str):
            return _PLAIN[told] if told in _PLAIN else self._known(told, space)
        if not isinstance(told, dict) or "type" not in told:
            raise _wrong(f"{json.dumps(told)[:40]} is no type")
        name = told["type"]
        if not isinstance(name, str):
            return self.kind(name, space)
        if name in ("record", "error", "enum", "fixed"):
            return self._define(told, space)
        if name == "array":
            return _list(self.kind(told.get("items"), space))
        if name == "map":
            return _map(self.kind(told.get("values"), space))
        if name == "bytes" and told.get("logicalType") == "decimal":
            return _decimal(told, reading.binary)
        return _LOGICAL.get((name, told.get("logicalType", ""))) or self.kind(name, space)

    def _known(self, name: str, space: str) -> Kind:
        for full in (f"{space}.{name}", name):
            if full in self._named:
                found = self._named[full]
                if found is None:
                    raise _wrong(f"{name} lies in itself, which columns cannot")
                return found
        raise _wrong(f"there is no type {name}")

    def _define(self, told: Mapping[str, Any], space: str) -> Kind:
        name = str(told.get("name", ""))
        space = str(told.get("namespace") or (name.rpartition(".")[0] or space))
        full = f"{space}.{name.rpartition('.')[2]}" if space else name
        self._named[full] = None
        made = self._named[full] = self._named_kind(told, space)
        return made

    def _named_kind(self, told: Mapping[str, Any], space: str) -> Kind:
        if told["type"] == "enum":
            symbols = [str(each) for each in told.get("symbols") or ()]
            return Kind(pa.string(), reading.enum(symbols))
        if told["type"] == "fixed":
            size = told.get("size")
            if not isinstance(size, int) or size < 0:
                raise _wrong(f"fixed {told.get('name')} needs a size")
            read = reading.fixed(size)
            is_decimal = told.get("logicalType") == "decimal"
            return _decimal(told, read) if is_decimal else Kind(pa.binary(), read)
        fields = [(str(each["name"]), self._field(each, space)) for each in _fields(told)]
        names = [name.lower() for name, _ in fields]
        if not names or len(set(names)) < len(names):
            raise _wrong(f"record {told.get('name')} has no fields, or two of one name")
        arrow = pa.struct([(name, kind.arrow) for name, kind in fields])
        return Kind(arrow, reading.record([(name, kind.read) for name, kind in fields]))

    def _field(self, told: Mapping[str, Any], space: str) -> Kind:
        return self.kind(told.get("type"), space)

    def _union(self, told: list[Any], space: str) -> Kind:
        kinds = [None if each == "null" else self.kind(each, space) for each in told]
        real = [each for each in kinds if each is not None]
        if len(real) != 1:
            raise _wrong(f"{json.dumps(told)[:60]}: a column has one type, and may be null")
        reads = [reading.null if each is None else each.read for each in kinds]
        return Kind(real[0].arrow, reading.union(reads), nullable=None in kinds)


def _fields(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    fields = told.get("fields")
    if not isinstance(fields, list) or not all(
        isinstance(each, dict) and "name" in each for each in fields
    ):
        raise _wrong(f"record {told.get('name')} needs a list of fields with names")
    return fields


def _list(item: Kind) -> Kind:
    return Kind(pa.list_(item.arrow), reading.array(item.read))


def _map(item: Kind) -> Kind:
    return Kind(pa.map_(pa.string(), item.arrow), reading.mapping(item.read))


def _decimal(told: Mapping[str, Any], read: Read) -> Kind:
    digits, scale = told.get("precision"), told.get("scale", 0)
    if not (isinstance(digits, int) and isinstance(scale, int) and 0 <= scale <= digits):
        raise _wrong("a decimal has a precision, and a scale of no more than that")
    if not 1 <= digits <= _DIGITS_MAX:
        raise _wrong(f"decimals of more than {_DIGITS_MAX} digits are no columns")
    return Kind(pa.decimal128(digits, scale), reading.decimal(read, digits, scale))


def _wrong(problem: str) -> OptionError:
    return OptionError(f"the Avro schema does not do: {problem}")
