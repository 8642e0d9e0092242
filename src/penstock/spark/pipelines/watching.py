"""Queries at work: how far they are, and their end after a batch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.errors import SparkError
from penstock.spark.pipelines.progress import Progress, added, dead_letters_in
from penstock.spark.task_failure import cause_in

POLL_S = 0.2
STOP_S = 60.0
"""How long a batch may take to come to its end before it is cut off; it is run again then."""

OnProgress = Callable[[Progress], None]


class Watch:
    """Looks at queries until they end."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._queries: list[StreamingQuery] = []
        self._on_progress = on_progress
        self._seen: dict[int, int] = {}
        self._progress = Progress()

    def run(self, queries: list[StreamingQuery], stop: threading.Event) -> Progress:
        self._queries = queries
        self._seen = {}
        try:
            while any(each.isActive for each in self._queries):
                self._look()
                self._check()
                if stop.wait(POLL_S):
                    self._wait_for_batches()
                    break
            else:
                self._check()
        finally:
            stop_all(self._queries)
        self._look()
        return self._progress

    def _look(self) -> None:
        before = self._progress
        rows, *letters = [self._news(number) for number in range(len(self._queries))]
        progress = added(before, rows)
        dead = before.dead_letters + sum(map(dead_letters_in, letters))
        self._progress = Progress(
            progress.batches, progress.rows, progress.rows_a_second, progress.lag, dead
        )
        if rows or self._progress != before:
            self._on_progress(self._progress)

    def _news(self, number: int) -> list[dict[str, Any]]:
        """What has been told since the last look."""
        told = [_plain(each) for each in self._queries[number].recentProgress]
        last = self._seen.get(number, -1)
        news = [each for each in told if each["batchId"] > last]
        if news:
            self._seen[number] = news[-1]["batchId"]
        return news

    def _check(self) -> None:
        for each in self._queries:
            if not each.isActive and (error := each.exception()) is not None:
                raise SparkError(line_of(error))

    def _wait_for_batches(self) -> None:
        """Each query comes to the end of what it is doing, if that does not take too long."""
        deadline = time.monotonic() + STOP_S
        for each in self._queries:
            begun = _last_batch(each)
            while (
                each.isActive
                and each.status["isTriggerActive"]
                and _last_batch(each) == begun
                and time.monotonic() < deadline
            ):
                time.sleep(POLL_S / 10)
            each.stop()


def line_of(error: object) -> str:
    """Spark adds what it was about to do, over pages. Clients name --timeout of the command line;
    the queries of a pipeline have an option for that."""
    line = cause_in(str(error)).partition("\n")[0]
    return line.replace("with --timeout", "with the option timeoutMs of the source or the sink")


def _plain(told: Any) -> dict[str, Any]:
    return dict(told)


def _last_batch(query: StreamingQuery) -> int:
    told = query.lastProgress
    return -1 if told is None else int(told["batchId"])


def stop_all(queries: Iterable[StreamingQuery]) -> None:
    for each in queries:
        each.stop()
