"""`penstock pipeline report`: topics and groups, as Spark's jobs see them, without Spark."""

from __future__ import annotations

from typing import Any

import click

from penstock.cli.options import cluster_options, connect, json_option
from penstock.cli.output import duration_text, emit_json, emit_table, size_text

_TABLES = ("topics", "partitions", "groups")


@click.command("report")
@click.argument("tables", nargs=-1, type=click.Choice(_TABLES), metavar="[TABLE]...")
@json_option
@cluster_options
def report_queue(tables: tuple[str, ...], as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Show sizes, rates and lag: of topics and groups, or of the TABLEs that are named.

    Those are topics, partitions and groups. Spark reads the same with
    format("penstock").option("table", "groups").
    """
    from penstock.spark.reports.queue import REPORTS  # noqa: PLC0415

    wanted = dict.fromkeys(tables or ("topics", "groups"))
    with connect(bootstrap, timeout_s) as client:
        found = {name: REPORTS[name][1](client) for name in wanted}
    if as_json:
        emit_json({name: [row._asdict() for row in rows] for name, rows in found.items()})
        return
    for number, (name, rows) in enumerate(found.items()):
        if number:
            click.echo()
        if rows:
            _show(rows)
        else:
            click.echo(f"there are no {name}", err=True)


def _show(rows: list[Any]) -> None:
    heads = [_head(field) for field in rows[0]._fields]
    emit_table(heads, [[_cell(*pair) for pair in row._asdict().items()] for row in rows])


_HEADS = {
    "lag_ms": "waiting",
    "records_per_second": "rate",
    "size_bytes": "size",
    "size_bytes_of_replicas": "with replicas",
}


def _head(field: str) -> str:
    return _HEADS.get(field, field.replace("_", " "))


def _cell(field: str, value: Any) -> object:
    if value is None:
        return None
    if field.startswith("size_bytes"):
        return size_text(value)
    if field == "lag_ms":
        return duration_text(value)
    if field == "records_per_second":
        return f"{value:.1f}/s"
    return value
