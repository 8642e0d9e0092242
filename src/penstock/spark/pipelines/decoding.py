"""Values of a topic as columns, and what cannot be decoded as dead letters.

A row fails if its value is no such text, has a field of another type, or lacks one that the schema
says is `not null`. A record without a value has nothing to decode: its fields are null, which
fails only where one of them must not be.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    StringType,
    StructField,
    StructType,
)

from penstock.spark.pipelines.declaration import Source
from penstock.spark.pipelines.far_decimals import FAR, without_far, without_far_json

RECORD = ("key", "topic", "partition", "offset", "timestamp")
"""Columns beside those of the value. One whose name the value has, too, is `record_` that name."""
HEADER = "__dlq.errors."
_BROKEN = "_penstock_broken"
_WHOLE = "_penstock_whole"
_END = "_penstock_end"
_DECODED = "_penstock_decoded"
_CAUSE = "_penstock_cause"


def decoded(rows: DataFrame, source: Source, schema: StructType | None) -> DataFrame:
    """Those that can be decoded."""
    if source.format is None:
        return rows
    if source.format == "text" or schema is None:
        return rows.withColumn("value", F.col("value").cast("string"))
    told = _with_cause(rows, source, schema).where(F.col(_CAUSE).isNull())
    fields = [F.col(f"{_DECODED}.`{field.name}`").alias(field.name) for field in schema]
    taken = {field.name.lower() for field in schema}
    record = [F.col(name).alias(f"record_{name}" if name in taken else name) for name in RECORD]
    return told.select(*fields, *record)


def dead_letters(rows: DataFrame, source: Source, schema: StructType) -> DataFrame:
    """The others, as they came, with the cause and the place that they were read at."""
    told = _with_cause(rows, source, schema).where(F.col(_CAUSE).isNotNull())
    origin = [
        _header(name, F.col(name).cast("string")) for name in ("topic", "partition", "offset")
    ]
    ours = F.array(*origin, _header("message", F.col(_CAUSE)))
    headers = F.concat(F.coalesce(F.col("headers"), F.array_repeat(ours[0], 0)), ours)
    return told.select("key", "value", "timestamp", headers.alias("headers"))


def _header(name: str, text: Column) -> Column:
    return F.struct(F.lit(f"{HEADER}{name}").alias("key"), text.cast("binary").alias("value"))


def _with_cause(rows: DataFrame, source: Source, schema: StructType) -> DataFrame:
    text = F.col("value").cast("string")
    if source.format == "pattern":
        fields, broken = _by_pattern(text, source.pattern or "", schema)
    elif source.format == "json":
        fields, broken = _by_json(text, schema, source.parsing)
    else:
        fields, broken = _by_csv(text, schema, source.parsing)
    is_text = F.expr("is_valid_utf8(cast(value as string))")
    cause = (
        F.when(F.col("value").isNull(), F.lit(None).cast("string"))
        .when(~is_text, F.lit("the value is no UTF-8 text"))
        .when(broken, F.lit(f"the value is not as the schema says ({source.format})"))
    )
    told = rows.withColumn(_DECODED, fields)
    return told.withColumn(_CAUSE, F.coalesce(cause, *_missing(schema)))


def _missing(schema: StructType) -> list[Column]:
    return [
        F.when(F.col(f"{_DECODED}.`{field.name}`").isNull(), F.lit(f"{field.name} is missing"))
        for field in schema
        if not field.nullable
    ]


def _by_json(text: Column, schema: StructType, options: dict[str, str]) -> tuple[Column, Column]:
    """Spark stops at the end of the first object, whatever comes behind it. So the value is parsed
    as the first of a list with a last one that is ours: between them nothing else has room. It
    stands in a line of its own, lest a comment swallow it."""
    text = without_far_json(text, schema, lambda rough: _first(_json_list(text, rough, options)))
    parsed = _json_list(text, schema, options)
    value, last = _first(parsed), F.get(parsed.getField(_WHOLE), F.lit(1))
    is_broken = parsed.getField(_BROKEN).isNotNull()
    return value, is_broken | value.isNull() | last.getField(_END).isNull()


def _json_list(text: Column, schema: StructType, options: dict[str, str]) -> Column:
    element = StructType([*_nullable(schema), StructField(_END, BooleanType())])
    whole = StructType([StructField(_WHOLE, ArrayType(element)), _BROKEN_FIELD])
    listed = F.concat(F.lit(f'{{"{_WHOLE}": ['), text, F.lit(f'\n, {{"{_END}": true}}]}}'))
    return F.from_json(listed, whole, _permissive(options))


def _first(parsed: Column) -> Column:
    return F.get(parsed.getField(_WHOLE), F.lit(0))


def _by_csv(text: Column, schema: StructType, options: dict[str, str]) -> tuple[Column, Column]:
    text = without_far(text, schema, lambda rough: _csv(text, rough, options))
    parsed = _csv(text, schema, options)
    return parsed, parsed.isNull() | parsed.getField(_BROKEN).isNotNull()


def _csv(text: Column, schema: StructType, options: dict[str, str]) -> Column:
    fields = [*_nullable(schema), _BROKEN_FIELD]
    return F.from_csv(text, ", ".join(map(_ddl, fields)), _permissive(options))


def _nullable(schema: StructType) -> list[StructField]:
    return [StructField(each.name, each.dataType) for each in schema]


def _permissive(options: dict[str, str]) -> dict[str, str]:
    """Spark keeps the text of what it could not parse in a field that it is told of."""
    return {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN}


_BROKEN_FIELD = StructField(_BROKEN, StringType())


def _ddl(field: StructField) -> str:
    return f"`{field.name}` {field.dataType.simpleString()}"


def _by_pattern(text: Column, pattern: str, schema: StructType) -> tuple[Column, Column]:
    """A group that is empty is null; one that is there must be of its field's type."""
    groups = [
        F.nullif(F.regexp_extract(text, pattern, number), F.lit(""))
        for number in range(1, len(schema) + 1)
    ]
    cast = [
        _cast(group, field.dataType).alias(field.name)
        for group, field in zip(groups, schema, strict=True)
    ]
    broken = ~text.rlike(pattern)
    for group, made in zip(groups, cast, strict=True):
        broken = broken | (group.isNotNull() & made.isNull())
    return F.struct(*cast), broken


def _cast(group: Column, kind: DataType) -> Column:
    if isinstance(kind, DecimalType):
        group = F.when(~group.rlike(FAR), group)
    return group.try_cast(kind)
