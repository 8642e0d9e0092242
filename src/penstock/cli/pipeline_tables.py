"""`penstock pipeline compact|expire|vacuum`: looking after tables, which needs no Spark."""

from __future__ import annotations

import click

from penstock.cli.options import json_option
from penstock.cli.output import counted, size_text
from penstock.cli.pipeline_running import report, telling
from penstock.cli.times import DurationType


@click.command("compact")
@click.argument("folder", metavar="DIR")
@json_option
def compact_table(folder: str, as_json: bool) -> None:
    """Make large files of a table's small ones. What is in it stays the same."""
    with telling():
        from penstock.spark.tables.formats import open_table  # noqa: PLC0415
        from penstock.spark.tables.maintenance import compact  # noqa: PLC0415

        done = compact(open_table(folder))
    told = f"{counted(done.before, 'file')} before, {done.after} now"
    report({"files_before": done.before, "files": done.after}, told, as_json)


@click.command("vacuum")
@click.argument("folder", metavar="DIR")
@click.option(
    "--older-than",
    "age_ms",
    type=DurationType(),
    default="7d",
    show_default=True,
    metavar="DURATION",
    help="Younger files stay: somebody may be writing or reading them.",
)
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
@json_option
def vacuum_table(folder: str, age_ms: int, dry_run: bool, as_json: bool) -> None:
    """Remove files that are in a table's folder, but not in the table."""
    with telling():
        from penstock.spark.tables.formats import vacuum  # noqa: PLC0415

        gone = vacuum(folder, age_ms, is_trial=dry_run)
    told = f"{counted(len(gone), 'file')} {'would go' if dry_run else 'removed'}"
    report({"files": gone, "dry_run": dry_run}, told, as_json)


@click.command("expire")
@click.argument("folder", metavar="DIR")
@click.option(
    "--older-than",
    "age_ms",
    type=DurationType(),
    metavar="DURATION",
    help="Files all of whose records are older are dropped, such as 90d.",
)
@click.option(
    "--deleted",
    is_flag=True,
    help="Files all of whose records were deleted from the topic (`topic truncate`) are dropped.",
)
@json_option
def expire_table(folder: str, age_ms: int | None, deleted: bool, as_json: bool) -> None:
    """Drop old records from a table, whole files at a time. `vacuum` removes the files."""
    if age_ms is None and not deleted:
        raise click.UsageError("give --older-than, or --deleted, or both")
    with telling():
        from penstock.spark.tables import maintenance  # noqa: PLC0415
        from penstock.spark.tables.formats import open_table  # noqa: PLC0415

        table = open_table(folder)
        gone = maintenance.expire_deleted(table) if deleted else []
        if age_ms is not None:
            gone += maintenance.expire_older_than(table, age_ms)
    rows, size_bytes = sum(each.rows for each in gone), sum(each.size_bytes for each in gone)
    told = f"{counted(rows, 'record')} in {counted(len(gone), 'file')}, {size_text(size_bytes)}"
    document = {"records": rows, "files": [each.path for each in gone], "bytes": size_bytes}
    report(document, f"{told}, dropped", as_json)
