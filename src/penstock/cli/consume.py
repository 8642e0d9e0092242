"""`penstock consume`: records of a topic on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from penstock.cli.options import cluster_options, connect, json_option, topic_argument
from penstock.cli.output import counted
from penstock.cli.positions import PositionType
from penstock.client.positions import BEGINNING, Position

if TYPE_CHECKING:
    from penstock.cli.consume_format import Show
    from penstock.client.cluster import WireClient
    from penstock.client.reader import Arrived, Reader

_WAIT_MS = 500


@click.command("consume")
@topic_argument
@click.option(
    "--from",
    "start",
    type=PositionType(),
    default=BEGINNING,
    metavar="POSITION",
    help="beginning, end, an offset, or a time (ISO 8601, or ms since 1970). Default: beginning.",
)
@click.option("--partition", "partitions", type=int, multiple=True, help="Only these partitions.")
@click.option("--count", type=click.IntRange(min=1), help="Stop after so many records.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what is yet to come.")
@click.option(
    "--format",
    "template",
    metavar="TEMPLATE",
    help="A line made of {key} {value} {topic} {partition} {offset} {timestamp} {time} {headers} "
    "{size} {crc}; \\t and \\n mean what they do elsewhere.",
)
@json_option
@cluster_options
@click.pass_context
def command(
    ctx: click.Context,
    topic: str,
    start: Position,
    partitions: tuple[int, ...],
    count: int | None,
    follow: bool,
    template: str | None,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Print the records of TOPIC.

    Without --follow that is what the topic held when the command began. A partition that cannot be
    read is named on standard error; the others are read, and the exit code is 1.
    """
    from penstock.cli.consume_format import for_eyes, formatter  # noqa: PLC0415

    if as_json and template is not None:
        raise click.UsageError("--json and --format: give one of them")
    show = formatter(topic, as_json, template)
    if sys.stdout.isatty():
        show = for_eyes(show)
    reader: Reader | None = None
    with suppress(KeyboardInterrupt), connect(bootstrap, timeout_s) as client:
        reader, ends = _begin(client, topic, partitions, start)
        stops = None if follow else ends
        _print_all(reader, stops, count, show)
    if reader and reader.skipped:
        passed = counted(reader.skipped, "offset")
        click.echo(f"{passed} before the log's start were passed over", err=True)
    ctx.exit(1 if reader and reader.lost else 0)


def _begin(
    client: WireClient, topic: str, partitions: tuple[int, ...], start: Position
) -> tuple[Reader, dict[int, int]]:
    """A reader at its start, and where the partitions end now."""
    from penstock.client.locating import chosen_partitions  # noqa: PLC0415
    from penstock.client.offsets import LATEST, survey  # noqa: PLC0415
    from penstock.client.reader import Reader  # noqa: PLC0415

    chosen = chosen_partitions(client, topic, partitions)
    known = survey(client, topic, dict.fromkeys(chosen, LATEST))
    lasts, failures = known.offsets, dict(known.failures)
    if start.timestamp_ms is None:
        assert start.offset is not None
        if lasts and start.offset > (last := max(lasts.values())):
            raise click.ClickException(f"offset {start.offset} is past the end, {last}")
        positions = dict.fromkeys(lasts, start.offset)
    else:
        placed = survey(client, topic, dict.fromkeys(lasts, start.timestamp_ms))
        positions = {
            index: lasts[index] if offset < 0 else offset  # no record is so late
            for index, offset in placed.offsets.items()
        }
        failures |= placed.failures
    reader = Reader(client, topic, positions)
    for index, error in failures.items():
        reader.lose(index, error)
    return reader, lasts


def _print_all(reader: Reader, stops: dict[int, int] | None, count: int | None, show: Show) -> None:
    out = sys.stdout.buffer
    left = count
    told: set[int] = set()
    while True:
        if stops is not None:
            _drop_finished(reader, stops)
        _tell_lost(reader, told)
        if not reader.positions or left == 0:
            return
        for arrived in reader.poll(_WAIT_MS):
            left = _print_batch(arrived, stops, left, show, out.write)
            if left == 0:
                break
        out.flush()


def _drop_finished(reader: Reader, stops: dict[int, int]) -> None:
    for index, position in list(reader.positions.items()):
        if position >= stops[index]:
            del reader.positions[index]


def _tell_lost(reader: Reader, told: set[int]) -> None:
    """Of each partition that cannot be read, once."""
    for index in reader.lost.keys() - told:
        name, why = f"{reader.topic}-{index}", str(reader.lost[index])
        click.echo(f"cannot read {why if why.startswith(name) else f'{name}: {why}'}", err=True)
    told.update(reader.lost)


def _print_batch(
    arrived: Arrived,
    stops: dict[int, int] | None,
    left: int | None,
    show: Show,
    write: Callable[[bytes], object],
) -> int | None:
    """How many records are still wanted after this batch."""
    for record in arrived.records():
        if left == 0 or (stops is not None and record.offset >= stops[arrived.partition]):
            break
        write(show(arrived, record))
        left = None if left is None else left - 1
    return left
