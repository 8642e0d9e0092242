"""What a task does: sends its rows, and hands on the transaction that they are in."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.open_transaction import OpenTransaction
from penstock.client.producer import Producer
from penstock.spark.connected import Connected
from penstock.spark.sink.columns import rows_of
from penstock.spark.sink.decisions import Decisions
from penstock.spark.sink.options import SinkOptions
from penstock.spark.sink.transactions import NAMES, is_over, open_two_phase

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Share:
    """Of which batch a task writes a part."""

    query: str
    run: str
    batch: int
    may_be_decided: bool
    """Whether the batch may have been written before: by a driver that was killed since."""


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    share: Share
    transaction: OpenTransaction | None
    """None if there was nothing to write, or all is written already."""


def write_share(
    options: SinkOptions, share: Share, batches: Iterator[pa.RecordBatch]
) -> OpenTransaction | None:
    """Nothing is asked of a broker if there are no rows."""
    full = (batch for batch in batches if batch.num_rows)
    first = next(full, None)
    if first is None:
        return None
    with Connected(options.bootstrap, options.timeout_s).again() as client:
        rows = chain([first], full)
        if not options.is_exactly_once:
            _send(client, options, rows, None)
            return None
        if share.may_be_decided and Decisions(client).last(share.query).is_decided(share.batch):
            log.info("batch %d of query %s is written already", share.batch, share.query)
            for _ in full:
                pass
            return None
        return _send_in_transaction(client, options, share, rows)


def _send_in_transaction(
    client: WireClient, options: SinkOptions, share: Share, rows: Iterable[pa.RecordBatch]
) -> OpenTransaction:
    opened = open_two_phase(client, NAMES.take(share.query, share.batch))
    try:
        _send(client, options, rows, opened)
    except BaseException:
        _give_up(client, opened)
        raise
    return opened


def _send(
    client: WireClient,
    options: SinkOptions,
    batches: Iterable[pa.RecordBatch],
    transaction: OpenTransaction | None,
) -> None:
    producers: dict[str, Producer] = {}
    for batch in batches:
        for row in rows_of(batch, options.topic):
            producer = producers.get(row.topic)
            if producer is None:
                producer = Producer(client, row.topic, codec=options.codec, transaction=transaction)
                producers[row.topic] = producer
            producer.send(row.value, row.key, row.headers, row.partition, row.timestamp_ms)
    for producer in producers.values():
        producer.flush()


def _give_up(client: WireClient, opened: OpenTransaction) -> None:
    """At once, lest readers wait until the driver sees to it."""
    try:
        is_over(client, opened, is_commit=False)
    except ClientError as error:
        log.warning("%s is left to the driver: %s", opened.name, error.said)
