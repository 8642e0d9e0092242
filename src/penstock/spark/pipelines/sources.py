"""Sources as Spark's tables and streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.spark.pipelines.declaration import DeclarationError, Source
from penstock.spark.pipelines.decoding import dead_letters, decoded
from penstock.spark.tables.results import read_table


class Place(NamedTuple):
    """Where a pipeline reads: what its declaration does not say of itself."""

    bootstrap: str
    pipeline: str
    stop_at: str | None = None
    """Where a topic's stream ends, as JSON: for a backfill."""
    has_headers: bool = False
    """Records go on into another topic, and what they have goes with them."""


def load(spark: SparkSession, place: Place, name: str, source: Source) -> DataFrame:
    read = {"topic": _topic, "files": _files, "jdbc": _jdbc, "table": _table}[source.kind]
    rows = read(spark, place, name, source)
    if source.lateness:
        column, duration = source.lateness
        if column not in rows.columns:
            there = ", ".join(rows.columns)
            raise DeclarationError(
                f"sources.{name}.watermark: there is no column {column}, only {there}"
            )
        rows = rows.withWatermark(column, duration)
    return rows


def load_dead_letters(
    spark: SparkSession, place: Place, name: str, source: Source
) -> DataFrame | None:
    schema = schema_of(name, source)
    if source.dead_letter_topic is None or schema is None:
        return None
    rows = _records(spark, place, source, {"includeHeaders": "true"})
    return dead_letters(rows, source, schema)


def schema_of(name: str, source: Source) -> StructType | None:
    if source.schema is None:
        return None
    try:
        found = StructType.fromDDL(source.schema)
    except PySparkException as error:
        said = str(error).strip().partition("\n")[0]
        raise DeclarationError(f"sources.{name}.schema: {said}") from None
    if not isinstance(found, StructType):
        raise DeclarationError(f"sources.{name}.schema: give fields, as in id string, at timestamp")
    check_names(f"sources.{name}.schema", found)
    return found


def check_names(place: str, schema: StructType) -> None:
    """Spark takes names for the same that differ in their case only."""
    seen: set[str] = set()
    for field in schema:
        if field.name.lower() in seen:
            raise DeclarationError(f"{place}: {field.name} is there twice; give each one name")
        seen.add(field.name.lower())


def _topic(spark: SparkSession, place: Place, name: str, source: Source) -> DataFrame:
    group = source.group
    if group is None and not place.stop_at:  # what has an end has no lag to be looked after
        group = f"penstock-pipeline-{place.pipeline}"
    rows = _records(spark, place, source, {"groupId": group} if group else {})
    return decoded(rows, source, schema_of(name, source))


def _records(
    spark: SparkSession, place: Place, source: Source, more: Mapping[str, str]
) -> DataFrame:
    options = {
        "bootstrapServers": place.bootstrap,
        "subscribe": source.topic or "",
        "startingOffsets": source.starting,
        "includeHeaders": str(place.has_headers).lower(),
        **source.options,
        **more,
    }
    if place.stop_at:
        options["stopAtOffsets"] = place.stop_at
    return spark.readStream.format("penstock").options(**options).load()


def _files(spark: SparkSession, place: Place, name: str, source: Source) -> DataFrame:
    reader = spark.read if source.static else spark.readStream
    schema = schema_of(name, source)
    assert schema is not None
    return (
        reader.format(source.format or "")
        .schema(schema)
        .options(**source.options)
        .load(source.files)
    )


def _jdbc(spark: SparkSession, place: Place, name: str, source: Source) -> DataFrame:
    options = {"url": source.jdbc or "", **source.options}
    if source.table:
        options["dbtable"] = source.table
    return spark.read.format("jdbc").options(**options).load()


def _table(spark: SparkSession, place: Place, name: str, source: Source) -> DataFrame:
    return read_table(spark, source.table or "")
