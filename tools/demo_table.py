"""The part of the demo in which a topic becomes a table, and Spark is asked about it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

QUERY = """
  select string(key) as customer, count(*) as orders,
         max(int(get_json_object(string(value), '$.order'))) as last
  from messages group by key order by customer limit 5
"""


def ask(folder: Path, wanted: int, console: Console) -> bool:
    """Whether the table has every message once."""
    from penstock.spark.session import session  # noqa: PLC0415  # starts a Java
    from penstock.spark.tables.results import read_table  # noqa: PLC0415

    spark = session("local[2]", "demo")
    spark.sparkContext.setLogLevel("ERROR")
    messages = read_table(spark, folder)
    messages.createOrReplaceTempView("messages")
    found = spark.sql(QUERY)
    _show(found.columns, found.collect(), console)
    rows = messages.count()
    places = messages.select("partition", "offset").distinct().count()
    console.print(f"  {rows:,} rows, {places:,} different places in the topic")
    spark.stop()
    return rows == places == wanted


def _show(columns: list[str], rows: list[tuple[object, ...]], console: Console) -> None:
    table = Table(*columns)
    for row in rows:
        table.add_row(*map(str, row))
    console.print(table)
