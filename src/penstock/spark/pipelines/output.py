"""What a pipeline makes, on its way to the sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.spark.pipelines.declaration import DeclarationError, Sink
from penstock.spark.tables.results_sink import TableSink

_RECORD = ("key", "headers")
"""Of which a record is made besides its value."""


def shaped(rows: DataFrame, sink: Sink, *, is_copy: bool = False) -> DataFrame:
    """For a topic: a column `value` is sent as it is; without one, all other columns as JSON.

    The partition that a record was read from means nothing in another topic, so a copy has those of
    its keys. Where somebody has chosen the columns, the partition is meant.
    """
    if sink.table:
        return rows
    if sink.key is not None:
        if sink.key not in rows.columns:
            there = ", ".join(rows.columns)
            raise DeclarationError(f"sink.key: there is no column {sink.key}, only {there}")
        rows = rows.withColumn("key", F.col(f"`{sink.key}`").cast("string"))
    if "value" in rows.columns:
        return rows.drop("partition") if is_copy else rows
    fields = [F.col(f"`{name}`") for name in rows.columns if name not in _RECORD]
    given = [F.col(name) for name in _RECORD if name in rows.columns]
    return rows.select(F.to_json(F.struct(*fields)).alias("value"), *given)


def sink_format(sink: Sink, bootstrap: str) -> tuple[str, dict[str, str]]:
    """The name of the format, and its options."""
    if sink.table:
        options = {"folder": sink.table, "keys": ",".join(sink.keys), **sink.options}
        return TableSink.name(), options
    return "penstock", {"bootstrapServers": bootstrap, "topic": sink.topic or "", **sink.options}


def merged_by(sink: Sink, query: str) -> Callable[[DataFrame, int], None]:
    """Spark lets no sink of this kind take updates, so each batch is written as a job. The table
    tells by the query and the number of the batch whether it has it already."""
    name, options = sink_format(sink, "")

    def write(rows: DataFrame, number: int) -> None:
        given = {**options, "query": query, "batch": str(number)}
        rows.write.format(name).options(**given).mode("append").save()

    return write


def write_once(rows: DataFrame, sink: Sink, bootstrap: str, *, is_copy: bool = False) -> None:
    """Rows that are no stream: into a topic besides what is there, as a table in place of it."""
    name, options = sink_format(sink, bootstrap)
    mode: Any = "overwrite" if sink.table and sink.mode != "update" else "append"
    shaped(rows, sink, is_copy=is_copy).write.format(name).options(**options).mode(mode).save()
