"""`penstock pipeline`: topics into tables and back, on Spark.

Spark comes with an extra, so nothing of it is imported before a command needs it.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from penstock.cli.options import cluster_options, complete_topic, json_option, topic_argument
from penstock.cli.output import plain
from penstock.cli.pipeline_noted import noted
from penstock.cli.pipeline_progress import RoundsShown
from penstock.cli.pipeline_report import report_queue
from penstock.cli.pipeline_run import backfill, run_declared
from penstock.cli.pipeline_running import (
    master_option,
    report,
    start_spark,
    state_option,
    stopped_by,
    telling,
)
from penstock.cli.pipeline_state import list_all, status, stop
from penstock.cli.pipeline_tables import compact_table, expire_table, vacuum_table
from penstock.cli.times import TimeType
from penstock.wire.compression import Codec


@click.group("pipeline")
def command() -> None:
    """Topics into tables and back, on Spark."""


for each in (run_declared, list_all, status, stop, backfill, report_queue):
    command.add_command(each)
for each in (compact_table, expire_table, vacuum_table):
    command.add_command(each)


def _checked_id(ctx: click.Context, param: click.Parameter, given: str | None) -> str | None:
    if given is not None and not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", given):
        raise click.BadParameter("give up to 100 letters, digits, dots, dashes and underscores")
    return given


@command.command()
@topic_argument
@click.option("--to", "folder", required=True, metavar="DIR", help="The table; made if missing.")
@click.option(
    "--table-format",
    type=click.Choice(["delta", "iceberg"]),
    help="Of a table that is made: Delta by default, or Iceberg (`pip install penstock[iceberg]`).",
)
@click.option("--once", is_flag=True, help="End when all is archived that is there now.")
@click.option(
    "--skip-lost",
    is_flag=True,
    help="Go on behind records that retention has removed before they were archived.",
)
@click.option(
    "--rows-per-round",
    type=click.IntRange(1),
    default=1_000_000,
    show_default=True,
    help="At most so many records in one commit.",
)
@click.option(
    "--compact-every",
    type=click.IntRange(0),
    default=50,
    show_default=True,
    metavar="ROUNDS",
    help="Make large files of small ones, every so many rounds; 0 is never.",
)
@click.option(
    "--schema",
    metavar="SCHEMA",
    help="Decode values into columns: JSON by fields such as 'id STRING, amount DOUBLE', or Avro "
    "by the schema in a file, NAME.avsc.",
)
@click.option(
    "--schema-id",
    type=click.IntRange(0, 2**31 - 1),
    help="Values of Avro begin with Confluent's five bytes, and this id.",
)
@master_option
@state_option
@json_option
@cluster_options
def archive(
    topic: str,
    folder: str,
    table_format: str | None,
    once: bool,
    skip_lost: bool,
    rows_per_round: int,
    compact_every: int,
    schema: str | None,
    schema_id: int | None,
    master: str,
    state: Path | None,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Keep a topic as a Delta or an Iceberg table, each record exactly once.

    Goes on where the table ends, until Ctrl-C or, with --once, until it has all that was there.
    """
    if schema is None and schema_id is not None:
        raise click.UsageError("--schema-id goes with --schema NAME.avsc")
    with telling():
        from penstock.spark.archive.archiver import ArchiveOptions, Archiver  # noqa: PLC0415
        from penstock.spark.archive.spark_job import SparkJob  # noqa: PLC0415
        from penstock.spark.tables.topic_table import TableFormat  # noqa: PLC0415
        from penstock.spark.values.schema import given_schema  # noqa: PLC0415

        options = ArchiveOptions(
            bootstrap,
            topic,
            folder,
            once=once,
            skip_lost=skip_lost,
            rows_a_round=rows_per_round,
            compact_every=compact_every,
            timeout_s=timeout_s,
            values=None if schema is None else given_schema(schema, schema_id),
            form=None if table_format is None else TableFormat(table_format),
        )
        with (
            noted("archive", topic, folder, state) as notes,
            RoundsShown(f"archiving {topic}", as_json=as_json) as shown,
        ):
            job = SparkJob(lambda: start_spark(master, archiver.stop.set, f"archive {topic}"))
            archiver = Archiver(options, job, notes.after(shown))
            with stopped_by(archiver.stop.set):
                archiver.run()
            notes.ended(is_stopped=archiver.stop.is_set())
        told = f"archived {shown.told} of {plain(topic)} to {plain(folder)}"
        report({"topic": topic, "table": folder, **shown.document()}, told, as_json)


@command.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "--to",
    "topic",
    required=True,
    metavar="TOPIC",
    shell_complete=complete_topic,
    help="A topic that is there, with as many partitions as the table.",
)
@click.option("--by-key", is_flag=True, help="Choose partitions by the records' keys anew.")
@click.option(
    "--id",
    "identity",
    metavar="ID",
    callback=_checked_id,
    help="The name of this replay; by default, the same command goes on where it stood.",
)
@click.option("--from-offset", type=click.IntRange(0), help="Of each partition, from there on.")
@click.option("--to-offset", type=click.IntRange(0), help="Of each partition, before that.")
@click.option("--from-time", type=TimeType(), metavar="TIME", help="Only records of then or later.")
@click.option("--to-time", type=TimeType(), metavar="TIME", help="Only records of before.")
@click.option(
    "--compression",
    type=click.Choice([codec.name.lower() for codec in Codec]),
    default="none",
    show_default=True,
    help="Of the batches that are sent.",
)
@master_option
@state_option
@json_option
@cluster_options
def replay(
    folder: str,
    topic: str,
    by_key: bool,
    identity: str | None,
    from_offset: int | None,
    to_offset: int | None,
    from_time: int | None,
    to_time: int | None,
    compression: str,
    master: str,
    state: Path | None,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Send a table's records to a topic, in the order of each partition, each exactly once."""
    with telling():
        from penstock.spark.replay.plan import Wanted  # noqa: PLC0415
        from penstock.spark.replay.replayer import Replayer, ReplayOptions  # noqa: PLC0415
        from penstock.spark.replay.spark_job import SparkJob  # noqa: PLC0415

        options = ReplayOptions(
            bootstrap,
            folder,
            topic,
            identity,
            by_key,
            Codec[compression.upper()],
            Wanted(from_offset, to_offset, from_time, to_time),
            timeout_s=timeout_s,
        )
        with (
            noted("replay", topic, folder, state) as notes,
            RoundsShown(f"replaying into {topic}", as_json=as_json) as shown,
        ):
            job = SparkJob(lambda: start_spark(master, replayer.stop.set, f"replay {topic}"))
            replayer = Replayer(options, job, notes.after(shown))
            with stopped_by(replayer.stop.set):
                left = replayer.run()
            notes.ended(is_stopped=replayer.stop.is_set())
        told = f"replayed {shown.told} of {plain(folder)} to {plain(topic)}"
        told += _rest(left, shown.rounds, replayer.identity)
        document = {"topic": topic, "table": folder, "id": replayer.identity, **shown.document()}
        report({**document, "lag": left}, told, as_json)


def _rest(left: int, rounds: int, identity: str) -> str:
    if left:
        return f"; {left} to go: the same command goes on"
    if rounds:
        return ""
    return f": replay {identity} was complete; another needs an --id of its own"
