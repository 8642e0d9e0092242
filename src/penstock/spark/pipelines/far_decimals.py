"""Numbers that Spark must not make a decimal of.

A number such as 1e99999999 has a few characters, and as many digits as it says once Spark writes
it out to see whether it fits: that takes minutes, or all memory. One value like that would keep a
pipeline from ever getting on. So where text looks like one, decimals are read as text first. Of
numbers in JSON that stand for themselves, Spark does not tell the text: such a one counts wherever
it is, and is too large or too small for every other type as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
)

FAR = "[0-9.][eE][+-]?[0-9]{5,}"
"""Four digits of an exponent take no time."""
FAR_IN_JSON = rf"[:\[,]\s*+[+-]?[0-9.]*{FAR}\s*+(?:[,}}\]]|\z)"
"""Not in quotes; also where the text ends with it, since more is put behind that."""


def without_far(text: Column, schema: StructType, parse: Callable[[StructType], Column]) -> Column:
    """The text, or null where `parse` finds such a number in the place of a decimal."""
    if not has_decimals(schema):
        return text
    rough = parse(StructType([_as_text(each) for each in schema]))
    return F.when(~(text.rlike(FAR) & (rough.isNull() | _is_far(rough, schema))), text)


def without_far_json(
    text: Column, schema: StructType, parse: Callable[[StructType], Column]
) -> Column:
    if not has_decimals(schema):
        return text
    return F.when(~text.rlike(FAR_IN_JSON), without_far(text, schema, parse))


def has_decimals(kind: DataType) -> bool:
    return "decimal(" in kind.simpleString()


def _as_text(field: StructField) -> StructField:
    return StructField(field.name, _text_of(field.dataType))


def _text_of(kind: DataType) -> DataType:
    if isinstance(kind, DecimalType):
        return StringType()
    if isinstance(kind, StructType):
        return StructType([_as_text(each) for each in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(_text_of(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _text_of(kind.valueType))
    return kind


def _is_far(column: Column, kind: DataType) -> Column:
    """Never null."""
    found = F.lit(False)
    if isinstance(kind, DecimalType):
        found = column.rlike(FAR)
    elif isinstance(kind, StructType):
        inner = [each for each in kind if has_decimals(each.dataType)]
        return reduce(or_, (_is_far(column.getField(each.name), each.dataType) for each in inner))
    elif isinstance(kind, ArrayType):
        found = F.exists(column, lambda each: _is_far(each, kind.elementType))
    elif isinstance(kind, MapType):
        found = F.exists(F.map_values(column), lambda each: _is_far(each, kind.valueType))
    return F.coalesce(found, F.lit(False))
