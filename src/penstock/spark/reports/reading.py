"""`format("penstock").option("table", "groups")`: a report as a table of Spark's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_type_hints

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import (
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from penstock.spark.connected import Connected
from penstock.spark.errors import OptionError
from penstock.spark.given_options import GivenOptions
from penstock.spark.reports.queue import REPORTS

TABLE = "table"
WAIT_S = 30.0
_TYPES: dict[Any, DataType] = {str: StringType(), int: LongType(), float: DoubleType()}


def report_of(options: Mapping[str, str]) -> str | None:
    """Which one is asked for; None if it is a topic that is to be read."""
    wanted = options.get(TABLE)
    if wanted is not None and wanted.lower() not in REPORTS:
        raise OptionError(f"option {TABLE}={wanted}: give one of {', '.join(REPORTS)}")
    return None if wanted is None else wanted.lower()


def report_schema(name: str) -> StructType:
    row, _ = REPORTS[name]
    hints = get_type_hints(row)
    return StructType([StructField(field, _type(hints[field])) for field in row._fields])


def _type(hint: Any) -> DataType:
    kinds = [each for each in getattr(hint, "__args__", (hint,)) if each is not type(None)]
    return _TYPES[kinds[0]]


class ReportReader(DataSourceReader):
    """Asked once, by one task, so that what it tells belongs together."""

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        given = GivenOptions(options)
        given.text(TABLE)
        self._name = name
        wait_s = (given.number("timeoutMs") or int(WAIT_S * 1000)) / 1000
        self._connected = Connected(given.bootstrap(), wait_s)
        given.check_rest()

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        _, report = REPORTS[self._name]
        with self._connected.another() as client:
            return iter([tuple(row) for row in report(client)])
