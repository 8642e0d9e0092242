"""`format("penstock")`: what Spark finds under that name."""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from penstock.spark.errors import OptionError
from penstock.spark.reports.reading import ReportReader, report_of, report_schema
from penstock.spark.sink.batch import BatchWriter
from penstock.spark.sink.columns import check_columns
from penstock.spark.sink.options import sink_options
from penstock.spark.sink.stream import StreamWriter
from penstock.spark.source.batch import BatchReader
from penstock.spark.source.columns import SPARK, SPARK_WITH_HEADERS
from penstock.spark.source.options import source_options
from penstock.spark.source.stream import StreamReader


class PenstockDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "penstock"

    def schema(self) -> StructType:
        if report := report_of(self.options):
            return report_schema(report)
        with_headers = str(self.options.get("includeHeaders", "false")).lower() == "true"
        return SPARK_WITH_HEADERS if with_headers else SPARK

    def reader(self, schema: StructType) -> DataSourceReader:
        if report := report_of(self.options):
            return ReportReader(report, self.options)
        return BatchReader(source_options(self.options, is_stream=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if report_of(self.options):
            raise OptionError("a report is read with spark.read: it is no stream")
        return StreamReader(source_options(self.options, is_stream=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        if overwrite:
            raise OptionError("a topic is only written on: give mode append, not overwrite")
        options = sink_options(self.options)
        check_columns(schema, options.topic)
        return BatchWriter(options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """`overwrite` stands for the output mode complete: each result is written as a whole."""
        options = sink_options(self.options)
        check_columns(schema, options.topic)
        return StreamWriter(options)
