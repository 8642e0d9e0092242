"""A Spark session with all that the connector needs: Java, workers' Python, settings that count."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.spark.java import java_home

SETTINGS = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing"
        ".FileSystemBasedCheckpointFileManager"
    ),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


_FOR_QUERIES = "spark.sql."
_STATIC = frozenset(
    f"{_FOR_QUERIES}{name}"
    for name in (
        "cache.serializer",
        "catalogImplementation",
        "extensions",
        "globalTempDatabase",
        "queryExecutionListeners",
        "streaming.streamingQueryListeners",
        "warehouse.dir",
    )
)
"""Of queries by their name, and of the session all the same."""


def of_the_start(settings: Mapping[str, str]) -> dict[str, str]:
    """Those that Spark takes only when a session is started, such as spark.jars."""
    return {
        name: text
        for name, text in settings.items()
        if not name.startswith(_FOR_QUERIES) or name in _STATIC
    }


def is_running() -> bool:
    """Whether this process has a session, which all in it share."""
    return SparkContext._active_spark_context is not None


def prepare_environment() -> None:
    """Before the first session: Spark reads it when its Java is started."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ["JAVA_HOME"] = str(java_home())


def session(
    master: str = "local[*]", name: str = "penstock", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """One that runs, or a new one. What is given goes before what is set here."""
    prepare_environment()
    builder = SparkSession.builder.master(master).appName(name)
    for key, text in {**SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, text)
    made: SparkSession = builder.getOrCreate()
    return made


def make_active(spark: SparkSession) -> None:
    """In this thread. A stream finds the formats of the active session only, and Spark makes one
    active in the thread that it was made in."""
    spark._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
