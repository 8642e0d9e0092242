"""A round as a Spark job: tasks write files, and give only what there is to know of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from penstock.spark.archive.tasks import Job, run_task
from penstock.spark.rounds import JobReader, JobSource, Rounds
from penstock.spark.tables.files import DataFile
from penstock.spark.workers import keep_modules_out_of_collections

_KINDS = {"path": StringType(), "partition": IntegerType(), "log_id": StringType()}


class ArchiveReader(JobReader):
    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(len(Job.from_json(self._job).tasks))]

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        keep_modules_out_of_collections()
        return (tuple(file) for file in run_task(Job.from_json(self._job), partition.value))


class ArchiveSource(JobSource):
    called = "penstock-archive"
    columns = StructType(
        [StructField(name, _KINDS.get(name, LongType())) for name in DataFile._fields]
    )
    reads = ArchiveReader


class SparkJob(Rounds[DataFile]):
    source = ArchiveSource
    row = DataFile
