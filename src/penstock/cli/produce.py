"""`penstock produce`: records from arguments, a file or standard input into a topic."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from penstock.cli.options import cluster_options, connect, pairs, topic_argument
from penstock.cli.output import counted, emit_json, size_text
from penstock.cli.schedule import id_text
from penstock.cli.times import DurationType, TimeType
from penstock.errors import Unusable

if TYPE_CHECKING:
    from penstock.cli.produce_input import Input
    from penstock.client.producer import Delivery, Producer

ACKS = {"0": 0, "1": 1, "all": -1}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
IDS_MAX = 20
"""That are told; `penstock schedule list` has all."""


@dataclass(slots=True)
class Tally:
    """What has been delivered so far."""

    records: int = 0
    size_bytes: int = 0
    last_offsets: dict[int, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    """Of the first messages, by which `penstock schedule` knows those that wait."""
    since_s: float = field(default_factory=time.monotonic)

    def add(self, delivery: Delivery) -> None:
        self.records += delivery.record_count
        self.size_bytes += delivery.size_bytes
        known = delivery.base_offset >= 0
        last = delivery.base_offset + delivery.record_count - 1 if known else -1
        self.last_offsets[delivery.partition] = last
        if known:
            room = IDS_MAX - len(self.ids)
            offsets = range(delivery.base_offset, last + 1)[:room]
            self.ids += [id_text(delivery.partition, offset) for offset in offsets]

    def emit(self, topic: str, as_json: bool, *, waiting: bool = False) -> None:
        elapsed_s = time.monotonic() - self.since_s
        if as_json:
            told = {
                "topic": topic,
                "records": self.records,
                "bytes": self.size_bytes,
                "seconds": round(elapsed_s, 3),
                "last_offsets": {str(k): v for k, v in sorted(self.last_offsets.items())},
            }
            emit_json({**told, "ids": self.ids} if waiting else told)
            return
        where = counted(len(self.last_offsets), "partition")
        click.echo(
            f"sent {counted(self.records, 'record')} to {topic} ({where}), "
            f"{size_text(self.size_bytes)} in {elapsed_s:.2f} s"
        )
        if waiting and self.ids:
            more = f" and {left} more" if (left := self.records - len(self.ids)) else ""
            ids = " ".join(self.ids)
            click.echo(f"to take back with `penstock schedule cancel {topic}`: {ids}{more}")


@click.command("produce")
@topic_argument
@click.argument("values", nargs=-1)
@click.option("--key", help="The key of every record.")
@click.option("--key-separator", metavar="SEP", help="Each line is a key, SEP, and the value.")
@click.option("--header", "headers", multiple=True, metavar="K=V", help="A header on every record.")
@click.option("--partition", type=click.IntRange(min=0), help="Where to, instead of by key.")
@click.option("--file", "path", metavar="FILE", help="Read lines from FILE, not standard input.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Lines are JSON objects (key, value, headers, partition, timestamp); so is the summary.",
)
@click.option(
    "--keep-partitions",
    is_flag=True,
    help="With --json: what `consume --json` printed goes to the partition it came from.",
)
@click.option(
    "--delay",
    "delay_ms",
    type=DurationType(),
    metavar="DURATION",
    help="Deliver so much later, such as 90s or 1h30m: for topics with delayed.delivery=true.",
)
@click.option(
    "--deliver-at",
    "deliver_at_ms",
    type=TimeType(),
    metavar="TIME",
    help="Deliver then: ISO 8601, UTC unless it says otherwise, or ms since 1970.",
)
@click.option(
    "--cron",
    metavar="FIELDS",
    help="Deliver again and again, in UTC: 'minute hour day-of-month month day-of-week'.",
)
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Records per second.")
@click.option("--acks", type=click.Choice(list(ACKS)), default="all", show_default=True)
@click.option("--compression", type=click.Choice(CODECS), default="none", show_default=True)
@click.option(
    "--idempotent/--no-idempotent",
    default=None,
    help="Whether repeated sends are kept from doubling records; on with --acks all.",
)
@cluster_options
def command(
    topic: str,
    values: tuple[str, ...],
    key: str | None,
    key_separator: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    path: str | None,
    as_json: bool,
    keep_partitions: bool,
    delay_ms: int | None,
    deliver_at_ms: int | None,
    cron: str | None,
    rate: float | None,
    acks: str,
    compression: str,
    idempotent: bool | None,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Send VALUES to TOPIC, a record each; without any, the lines of standard input.

    A topic that is not there is made, if the broker's auto.create.topics.enable allows it.
    """
    from penstock.cli.produce_input import Form, inputs  # noqa: PLC0415
    from penstock.cli.waiting import wait_header  # noqa: PLC0415
    from penstock.client.producer import Producer  # noqa: PLC0415
    from penstock.client.scheduling import check_delays  # noqa: PLC0415
    from penstock.wire.compression import Codec  # noqa: PLC0415

    if idempotent and acks != "all":
        raise click.UsageError("--idempotent needs --acks all")
    if key_separator == "":
        raise click.UsageError("--key-separator must not be empty")
    if key is not None and key_separator is not None:
        raise click.UsageError("--key and --key-separator: give one of them")
    if as_json and (key is not None or key_separator is not None):
        raise click.UsageError("--json: the key is in the JSON object")
    if keep_partitions and not as_json:
        raise click.UsageError("--keep-partitions needs --json")
    if values and path:
        raise click.UsageError("give values or --file, not both")
    wait = wait_header(delay_ms, deliver_at_ms, cron, pairs(headers))
    form = Form(as_json, key, key_separator, pairs(headers), partition, keep_partitions, wait)
    tally = Tally()
    with connect(bootstrap, timeout_s) as client:
        if wait:
            check_delays(client, topic)
        producer = Producer(
            client,
            topic,
            acks=ACKS[acks],
            codec=Codec[compression.upper()],
            idempotent=acks == "all" if idempotent is None else idempotent,
            on_delivery=tally.add,
        )
        try:
            typing = not values and not path and sys.stdin.isatty()
            _send_all(producer, inputs(form, values, path), rate, tally, typing)
        except KeyboardInterrupt:
            sent = counted(tally.records, "record")
            raise click.ClickException(f"stopped with {sent} acknowledged") from None
    tally.emit(topic, as_json, waiting=bool(wait))


def _send_all(
    producer: Producer,
    source: Iterator[Input | None],
    rate: float | None,
    tally: Tally,
    typing: bool,
) -> None:
    """None in the source is a moment without input: what was gathered goes out then."""
    from penstock.cli.progress import Progress  # noqa: PLC0415

    taken = 0
    begun_s = time.monotonic()
    with Progress("sent", typing=typing) as progress:
        for item in _until_wrong(source, producer, tally):
            if item is None:
                producer.flush()
                continue
            producer.send(item.value, item.key, item.headers, item.partition, item.timestamp_ms)
            taken += 1
            progress.show(tally.records, tally.size_bytes)
            if rate:
                _keep_to(rate, taken, begun_s, producer)
        producer.flush()


def _until_wrong(
    source: Iterator[Input | None], producer: Producer, tally: Tally
) -> Iterator[Input | None]:
    """What comes before a line that is no record is sent, and said to be."""
    try:
        yield from source
    except Unusable as error:
        producer.flush()
        if not tally.records:
            raise
        raise Unusable(f"{error}; before it, {counted(tally.records, 'record')} went out") from None


def _keep_to(rate: float, taken: int, begun_s: float, producer: Producer) -> None:
    """Waits until so many records may have been sent; nothing is held back meanwhile."""
    ahead_s = begun_s + taken / rate - time.monotonic()
    if ahead_s > 0:
        producer.flush()
        time.sleep(max(0.0, begun_s + taken / rate - time.monotonic()))
