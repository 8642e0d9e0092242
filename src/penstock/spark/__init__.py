"""Topics as Spark's tables and streams: `format("penstock")`, archive, replay and pipelines."""

from penstock.spark.pipelines.declaration import Pipeline, Sink, Source

__all__ = ["Pipeline", "Sink", "Source"]
