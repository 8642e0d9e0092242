"""Lines of logs in a topic, counted by minute, level and service into a table, which is queried.

python examples/log_aggregation.py 127.0.0.1:9092 FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.spark.pipelines.templates import log_aggregation
from penstock.spark.session import session
from penstock.spark.tables.results import read_table


def main(spark: SparkSession, bootstrap: str, folder: str) -> None:
    table = f"{folder}/logs-by-minute"
    pipeline = log_aggregation("logs", table, window="1 minute")
    pipeline.run(spark=spark, once=True, bootstrap=bootstrap, state=Path(folder) / "state")
    counts = read_table(spark, table)
    counts.groupBy("level").sum("lines").orderBy("level").show()


if __name__ == "__main__":
    main(session("local[2]", "logs"), *sys.argv[1:3])
