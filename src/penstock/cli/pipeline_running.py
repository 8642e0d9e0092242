"""What all commands of `penstock pipeline` share that run Spark."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.output import emit_json
from penstock.spark.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTRA = frozenset({"pyspark", "pyarrow", "deltalake", "py4j"})

master_option = click.option(
    "--master",
    default="local[*]",
    show_default=True,
    metavar="URL",
    help="Where Spark runs: in this process, or such as spark://HOST:7077.",
)

state_option = click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="PENSTOCK_STATE",
    show_envvar=True,
    metavar="DIR",
    help="Where pipelines note how they are; by default in the user's own state folder.",
)


@contextmanager
def telling() -> Iterator[None]:
    """What goes wrong in one line, and what to install where Spark is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise click.ClickException(
            f"{error.name} is not installed: `pip install penstock[spark]` brings all of it"
        ) from None
    except SparkError as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def stopped_by(stop: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM end the work after its round."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: stop())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def start_spark(
    master: str,
    stop: Callable[[], None],
    name: str,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Quiet, and without a say in what Ctrl-C does."""
    from penstock.spark.session import session  # noqa: PLC0415

    spark = session(master, name, settings)
    spark.sparkContext.setLogLevel("ERROR")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # we tell it ourselves
    signal.signal(signal.SIGINT, lambda *_: stop())  # Spark has taken it for itself
    return spark


def report(document: dict[str, Any], told: str, as_json: bool) -> None:
    if as_json:
        emit_json(document)
    else:
        click.echo(told)
