"""A pipeline at work: its queries started, looked at, and ended after their batch."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.spark.errors import SparkError
from penstock.spark.pipelines.declaration import ONCE, DeclarationError, Pipeline, Source, check
from penstock.spark.pipelines.output import merged_by, shaped, sink_format, write_once
from penstock.spark.pipelines.preparing import claim, function_of, identity, make_topics
from penstock.spark.pipelines.progress import Progress
from penstock.spark.pipelines.sources import Place, load, load_dead_letters
from penstock.spark.pipelines.starting import with_starts
from penstock.spark.pipelines.state import STOPPED, Noted, State
from penstock.spark.pipelines.watching import OnProgress, Watch, line_of, stop_all
from penstock.spark.session import is_running, make_active, of_the_start, session
from penstock.spark.tables.results_sink import TableSink

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
STARTS = 5
_SLOW = "Python worker failed to connect back"

log = logging.getLogger(__name__)

Start = Callable[[Mapping[str, str]], SparkSession]
"""Is given what Spark takes only at the start of a session."""


@dataclass(frozen=True)
class Where:
    bootstrap: str
    checkpoint: Path
    folder: Path | None = None
    """In which a function's module is looked for first."""
    stop_at: str | None = None


def run(
    pipeline: Pipeline,
    *,
    spark: SparkSession | Start | None = None,
    once: bool = False,
    bootstrap: str | None = None,
    state: Path | None = None,
    file: Path | None = None,
    kind: str = "pipeline",
    stop_at: str | None = None,
    stop: threading.Event | None = None,
    on_progress: OnProgress = lambda _: None,
) -> Progress:
    """Until `stop` is set, or with `once` until all is done that is there now."""
    check(pipeline)
    kept = State(state)
    where = Where(
        bootstrap or pipeline.bootstrap or DEFAULT_BOOTSTRAP,
        Path(pipeline.checkpoint or kept.folder(pipeline.name) / "checkpoint"),
        file.absolute().parent if file else None,
        stop_at,
    )
    with kept.running(pipeline.name, kind, str(file.absolute()) if file else None) as noted:
        claim(where.checkpoint, pipeline)
        make_topics(where.bootstrap, pipeline)
        pipeline = with_starts(pipeline, where.bootstrap, where.checkpoint)
        started, settings = _started(spark, pipeline.settings)
        is_once = once or pipeline.trigger == ONCE
        work = Work(pipeline, where, started, settings, is_once=is_once)
        ended = stop or threading.Event()
        progress = work.run(ended, lambda told: _tell(noted, told, on_progress))
        noted.update(progress=progress, **({"told": STOPPED} if ended.is_set() else {}))
    return progress


def _tell(noted: Noted, progress: Progress, on_progress: OnProgress) -> None:
    noted.update(progress=progress)
    on_progress(progress)


def _started(
    spark: SparkSession | Start | None, settings: Mapping[str, str]
) -> tuple[SparkSession, dict[str, str]]:
    """The session, and the settings that it was not started with."""
    first = {} if is_running() else of_the_start(settings)
    rest = {name: text for name, text in settings.items() if name not in first}
    if spark is None:
        return session(settings=first), rest
    return spark(first) if callable(spark) else spark, rest


class Work:
    def __init__(
        self,
        pipeline: Pipeline,
        where: Where,
        spark: SparkSession,
        settings: Mapping[str, str],
        *,
        is_once: bool,
    ) -> None:
        self._pipeline = pipeline
        self._where = where
        self._is_once = is_once
        self._spark = spark
        self._given = settings
        spark.dataSource.register(TableSink)
        has_headers = pipeline.is_copy and bool(pipeline.sink.topic)
        self._place = Place(where.bootstrap, pipeline.name, where.stop_at, has_headers)

    def run(self, stop: threading.Event, on_progress: OnProgress) -> Progress:
        """Spark gives a process ten seconds to come up, and fails if the machine is too busy for
        that. Nothing is lost or doubled by another try."""
        watch = Watch(on_progress)
        for left in reversed(range(STARTS)):
            try:
                queries = self._started()
                return watch.run(queries, stop) if queries else Progress(batches=1)
            except SparkError as error:
                if _SLOW not in str(error) or not left or stop.is_set():
                    raise
                log.warning("%s The machine is busy; %s starts anew", error, self._pipeline.name)
        raise AssertionError

    def _started(self) -> list[StreamingQuery]:
        make_active(self._spark)
        try:
            with self._settings():
                return self._begin()
        except (PySparkException, Py4JJavaError) as error:
            raise SparkError(line_of(error)) from error

    @contextmanager
    def _settings(self) -> Iterator[None]:
        """A query keeps those that it was started with; the session is not the pipeline's."""
        conf = self._spark.conf
        before: dict[str, str | None] = {}
        try:
            for name, text in self._given.items():
                old = conf.get(name, None)
                if old != text:
                    self._set(name, text)
                    before[name] = old
            yield
        finally:
            for name, old in before.items():
                conf.unset(name) if old is None else conf.set(name, old)
            for name in self._pipeline.sources:
                self._spark.catalog.dropTempView(name)

    def _set(self, name: str, text: str) -> None:
        try:
            self._spark.conf.set(name, text)
        except PySparkException as error:
            if not (error.getCondition() or "").startswith("CANNOT_MODIFY"):
                raise
            raise DeclarationError(
                f"settings.{name}: Spark takes it only at the start of a session, and one is "
                "running: give it to that, or run the pipeline in a process of its own"
            ) from None

    def _begin(self) -> list[StreamingQuery]:
        """None where all was there, and is done."""
        rows = self._rows()
        if rows.isStreaming:
            return self._start(rows)
        pipeline = self._pipeline
        write_once(rows, pipeline.sink, self._where.bootstrap, is_copy=pipeline.is_copy)
        return []

    def _rows(self) -> DataFrame:
        sources = {
            name: load(self._spark, self._place, name, source)
            for name, source in self._pipeline.sources.items()
        }
        for name, rows in sources.items():
            rows.createOrReplaceTempView(name)
        if self._pipeline.sql:
            return self._spark.sql(self._pipeline.sql)
        if self._pipeline.function is None:
            return next(iter(sources.values()))
        function = function_of(self._pipeline.function, self._where.folder)
        made = function(self._spark, sources)
        if not isinstance(made, DataFrame):
            raise DeclarationError(f"function: it gave {type(made).__name__}, and not a DataFrame")
        return made

    def _start(self, rows: DataFrame) -> list[StreamingQuery]:
        """The one that counts is the first."""
        sink = self._pipeline.sink
        writer = shaped(rows, sink, is_copy=self._pipeline.is_copy).writeStream
        if sink.mode == "update":
            writer = writer.foreachBatch(merged_by(sink, identity(self._where.checkpoint)))
        else:
            name, options = sink_format(sink, self._where.bootstrap)
            writer = writer.format(name).options(**options)
        queries = [self._query(writer, "rows", sink.mode)]
        try:
            for source_name, source in self._pipeline.sources.items():
                queries += self._start_dead_letters(source_name, source)
        except BaseException:
            stop_all(queries)
            raise
        return queries

    def _start_dead_letters(self, name: str, source: Source) -> list[StreamingQuery]:
        """A query of its own, at its own pace: what fails holds up nothing."""
        rows = load_dead_letters(self._spark, self._place, name, source)
        if rows is None:
            return []
        counted = rows.observe(f"dead_letters_{name}", F.count(F.lit(1)).alias("dead_letters"))
        options = {
            "bootstrapServers": self._where.bootstrap,
            "topic": source.dead_letter_topic or "",
        }
        writer = counted.writeStream.format("penstock").options(**options)
        return [self._query(writer, f"dead-letters-{name}", "append")]

    def _query(self, writer: DataStreamWriter, part: str, mode: str) -> StreamingQuery:
        writer = (
            writer.outputMode(mode)
            .queryName(f"{self._pipeline.name}/{part}")
            .option("checkpointLocation", str(self._where.checkpoint / part))
        )
        if self._is_once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=self._pipeline.trigger)
        return writer.start()
