"""Orders above an amount, copied from topic to topic by a PySpark job, each exactly once.

python examples/large_orders.py 127.0.0.1:9092 CHECKPOINT
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.spark.session import session


def main(spark: SparkSession, bootstrap: str, checkpoint: str) -> None:
    orders = (
        spark.readStream.format("penstock")
        .option("bootstrapServers", bootstrap)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .load()
    )
    amount = F.get_json_object(F.col("value").cast("string"), "$.amount").try_cast("double")
    large = orders.where(amount > 100).select("key", "value")
    query = (
        large.writeStream.format("penstock")
        .option("bootstrapServers", bootstrap)
        .option("topic", "large-orders")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(session("local[2]", "large orders"), *sys.argv[1:3])
