"""Rounds of an archive or a replay as Spark jobs: a task for each part, a row for each result."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, Generic, Protocol, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from penstock.spark.task_failure import task_failed

Row = TypeVar("Row")


class Job(Protocol):
    def to_json(self) -> str: ...


class JobReader(DataSourceReader):
    """Gives each task its part of a job."""

    def __init__(self, job: str) -> None:
        self._job = job


class JobSource(DataSource):
    """Read once for each round, by `Rounds` alone."""

    called: ClassVar[str]
    columns: ClassVar[StructType]
    reads: ClassVar[type[JobReader]]

    @classmethod
    def name(cls) -> str:
        return cls.called

    def schema(self) -> StructType:
        return self.columns

    def reader(self, schema: StructType) -> DataSourceReader:
        return self.reads(self.options["job"])


class Rounds(Generic[Row]):
    """Runs them on whatever the session's tasks run."""

    source: type[JobSource]
    row: Callable[..., Row]

    def __init__(self, start: Callable[[], SparkSession]) -> None:
        """Spark takes seconds to start, and is started when there is something to do."""
        self._start = start

    @cached_property
    def _spark(self) -> SparkSession:
        spark = self._start()
        spark.dataSource.register(self.source)
        return spark

    @property
    def width(self) -> int:
        return int(self._spark.sparkContext.defaultParallelism)

    def __call__(self, job: Job) -> list[Row]:
        reader = self._spark.read.format(self.source.name()).option("job", job.to_json())
        try:
            return [self.row(*each) for each in reader.load().collect()]
        except PySparkException as error:
            raise task_failed(error) from error
