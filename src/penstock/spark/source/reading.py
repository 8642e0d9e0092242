"""What a task does: reads its ranges, one after the other, and gives them as Arrow."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from penstock.client.cluster import WireClient
from penstock.client.ranges import Gap, Range, RangeReader
from penstock.client.reader import Arrived
from penstock.predicate.predicate import parse
from penstock.spark.connected import Connected
from penstock.spark.errors import DataLossError
from penstock.spark.source.columns import ARROW, ARROW_WITH_HEADERS, Rows
from penstock.spark.source.history import History, Stopped, stop_at
from penstock.spark.source.options import SourceOptions

log = logging.getLogger(__name__)


class Ranges(InputPartition):
    """The ranges of one task."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        super().__init__([tuple(each) for each in ranges])

    @property
    def ranges(self) -> list[Range]:
        return [Range(*each) for each in self.value]


def read_rows(options: SourceOptions, ranges: Sequence[Range]) -> Iterator[pa.RecordBatch]:
    """Every record of these ranges, in their order."""
    with Connected(options.bootstrap, options.timeout_s).again() as client:
        if options.archive is not None:
            yield from _with_history(client, options, ranges)
            return
        on_gap = _fail if options.fail_on_data_loss else _warn
        where = None if options.where is None else parse(options.where)
        reader = RangeReader(client, on_gap, committed=options.committed, where=where)
        for each in ranges:
            yield from Rows(each, with_headers=options.headers).batches(reader.batches(each))


def _with_history(
    client: WireClient, options: SourceOptions, ranges: Sequence[Range]
) -> Iterator[pa.RecordBatch]:
    """What the broker has not any more comes from the table, in its place."""
    history = History(options.archive or "")
    on_gap = _fail_for_good if options.fail_on_data_loss else _warn
    reader = RangeReader(client, stop_at, committed=options.committed)
    columns = (ARROW_WITH_HEADERS if options.headers else ARROW).names
    for each in ranges:
        rest = each
        while rest.start < rest.end:
            gaps: list[Gap] = []
            arrived = _until_gap(reader.batches(rest), gaps)
            yield from Rows(rest, with_headers=options.headers).batches(arrived)
            if not gaps:
                break
            yield from history.rows(gaps[0], columns, on_gap)
            rest = rest._replace(start=gaps[0].end)


def _until_gap(arrived: Iterator[Arrived], gaps: list[Gap]) -> Iterator[Arrived]:
    """Ends at the first gap, and notes it: the rows that lie before it are given out first."""
    try:
        yield from arrived
    except Stopped as stopped:
        gaps.append(stopped.gap)


def _fail(gap: Gap) -> None:
    if gap.is_of_deleted:
        raise DataLossError(
            f"{gap} are not there any more: the topic was deleted, and may have been made anew. "
            "failOnDataLoss=false goes on without them"
        )
    raise DataLossError(
        f"{gap} are not there any more, by retention or DeleteRecords. failOnDataLoss=false goes "
        "on behind them; an archive keeps what retention removes (docs/spark.md)"
    )


def _fail_for_good(gap: Gap) -> None:
    raise DataLossError(
        f"{gap} are neither in the topic nor in its table. failOnDataLoss=false goes on behind them"
    )


def _warn(gap: Gap) -> None:
    log.warning("%s are not there any more, and are left out", gap)
