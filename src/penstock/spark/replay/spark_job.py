"""A round of a replay as a Spark job: a task for each partition of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import LongType, StructField, StructType

from penstock.spark.replay.tasks import Job, Sent, run_task
from penstock.spark.rounds import JobReader, JobSource, Rounds


class ReplayReader(JobReader):
    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(len(Job.from_json(self._job).shares))]

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        yield tuple(run_task(Job.from_json(self._job), partition.value))


class ReplaySource(JobSource):
    called = "penstock-replay"
    columns = StructType([StructField(name, LongType()) for name in Sent._fields])
    reads = ReplayReader


class SparkJob(Rounds[Sent]):
    source = ReplaySource
    row = Sent
