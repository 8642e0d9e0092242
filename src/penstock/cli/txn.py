"""`penstock txn`: look at transactions, and end those that nobody ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import cluster_options, confirm, connect, json_option, yes_option
from penstock.cli.output import duration_text, emit_json, emit_table, time_text
from penstock.cli.times import DurationType
from penstock.coordination.transaction.phases import Phase

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient
    from penstock.client.hanging import OpenHere
    from penstock.client.transactions import Described, Listed

_STATES = [phase.value for phase in Phase]
_IDLE_MS = 15 * 60_000
"""As the client has it, which is not imported before it is needed."""

_idle_option = click.option(
    "--idle-for",
    type=DurationType(),
    metavar="DURATION",
    default=_IDLE_MS,
    show_default="15m",
    help="What has been written to for less long does not hang.",
)


@click.group("txn")
def command() -> None:
    """Work with transactions."""


@command.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES, case_sensitive=False),
    help="Only transactions in this state.",
)
@click.option(
    "--open-for",
    type=DurationType(),
    metavar="DURATION",
    help="Only those that have been open for so long, such as 5m.",
)
@click.option(
    "--hanging",
    is_flag=True,
    help="What is open in partitions, and no coordinator is going to end.",
)
@_idle_option
@json_option
@cluster_options
def list_all(
    states: tuple[str, ...],
    open_for: int | None,
    hanging: bool,
    idle_for: int,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """List transactional ids, and the brokers that look after them."""
    from penstock.client.hanging import coordinators  # noqa: PLC0415
    from penstock.client.transactions import list_transactions  # noqa: PLC0415

    if hanging and (states or open_for is not None):
        raise click.UsageError("--hanging goes without other filters")
    with connect(bootstrap, timeout_s) as client:
        if hanging:
            _list_hanging(client, idle_for, as_json)
            return
        found = list_transactions(client, states, -1 if open_for is None else open_for)
        _show_list(found, as_json)
        coordinators(client)  # raises if some of them could not be asked


def _show_list(found: list[Listed], as_json: bool) -> None:
    rows = [(each.name, each.state, each.producer_id, each.coordinator) for each in found]
    heads = ("transactional id", "state", "producer", "coordinator")
    if as_json:
        keys = ("transactional_id", "state", "producer_id", "coordinator")
        emit_json([dict(zip(keys, row, strict=True)) for row in rows])
    elif rows:
        emit_table(heads, rows)
    else:
        click.echo("there are no such transactions", err=True)


def _list_hanging(client: WireClient, idle_ms: int, as_json: bool) -> None:
    from penstock.client.hanging import hanging_in  # noqa: PLC0415

    found = hanging_in(client, sorted(client.metadata().stored), idle_ms)
    if as_json:
        emit_json([each._asdict() for each in found])
    elif found:
        emit_table(
            ("topic", "partition", "producer", "epoch", "since offset", "last write"),
            [_hanging_row(each) for each in found],
        )
        click.echo("end one with `penstock txn abort --topic T --partition P --producer N`")
    else:
        click.echo("no transaction hangs", err=True)


def _hanging_row(each: OpenHere) -> tuple[object, ...]:
    last = time_text(each.last_ms) if each.last_ms >= 0 else None
    return (each.topic, each.partition, each.producer_id, each.epoch, each.first_offset, last)


@command.command("describe")
@click.argument("transactional_id")
@json_option
@cluster_options
def describe(transactional_id: str, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Show where the transaction of TRANSACTIONAL_ID is."""
    from penstock.client.transactions import describe_transaction  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        found = describe_transaction(client, transactional_id)
    if as_json:
        emit_json(_document(found))
    else:
        _show(found)


def _document(found: Described) -> dict[str, Any]:
    return {
        "transactional_id": found.name,
        "state": found.state,
        "coordinator": found.coordinator,
        "producer_id": found.producer_id,
        "producer_epoch": found.epoch,
        "timeout_ms": found.timeout_ms,
        "started_ms": found.started_ms,
        "partitions": found.partitions,
    }


def _show(found: Described) -> None:
    click.echo(f"transactional id {found.name}  state {found.state}")
    click.echo(
        f"producer {found.producer_id}  epoch {found.epoch}  "
        f"timeout {duration_text(found.timeout_ms)}  coordinator {found.coordinator}"
    )
    if found.started_ms is not None:
        open_ms = max(int(time.time() * 1000) - found.started_ms, 0)
        click.echo(f"open since {time_text(found.started_ms)} ({duration_text(open_ms)})")
    rows = [(topic, indexes) for topic, indexes in sorted(found.partitions.items())]
    if rows:
        emit_table(("topic", "partitions"), rows)


@command.command("abort")
@click.argument("transactional_id", required=False)
@click.option("--topic", help="Of a transaction that hangs: where it is open.")
@click.option("--partition", type=click.IntRange(0), help="The partition of that topic.")
@click.option("--producer", type=click.IntRange(0), help="The id of the producer that opened it.")
@_idle_option
@yes_option
@json_option
@cluster_options
def abort(
    transactional_id: str | None,
    topic: str | None,
    partition: int | None,
    producer: int | None,
    idle_for: int,
    yes: bool,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Abort the transaction of TRANSACTIONAL_ID, whose producer is shut out; or one that hangs.

    What hangs is named by topic, partition and producer, as `txn list --hanging` shows them.
    """
    place = (topic, partition, producer)
    if transactional_id is not None and place == (None, None, None):
        question = f"abort what {transactional_id} has open, and shut out its producer?"
        confirm(question, yes)
        _abort_named(transactional_id, as_json, bootstrap, timeout_s)
    elif transactional_id is None and topic and partition is not None and producer is not None:
        confirm(f"abort what producer {producer} has open in {topic}-{partition}?", yes)
        with connect(bootstrap, timeout_s) as client:
            _abort_hanging(client, topic, partition, producer, idle_for)
        if as_json:
            emit_json({"topic": topic, "partition": partition, "producer_id": producer})
        else:
            click.echo(f"aborted what producer {producer} had open in {topic}-{partition}")
    else:
        raise click.UsageError(
            "give a transactional id, or --topic, --partition and --producer of one that hangs"
        )


def _abort_named(name: str, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    from penstock.client.transactions import abort_transaction  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        abort_transaction(client, name)
    if as_json:
        emit_json({"transactional_id": name, "aborted": True})
    else:
        click.echo(f"{name} has nothing open any more, and its producer is shut out")


def _abort_hanging(
    client: WireClient, topic: str, partition: int, producer: int, idle_ms: int
) -> None:
    from penstock.client.hanging import abort_here, find_open, hanging_in  # noqa: PLC0415

    found = find_open(client, topic, partition, producer)
    named = f"the transaction of producer {producer} in {topic}-{partition}"
    if not found.is_idle(idle_ms):
        raise click.ClickException(
            f"{named} was written to less than {duration_text(idle_ms)} ago; if you know that "
            "nobody is going to end it, say so with --idle-for 0s"
        )
    if found not in hanging_in(client, [topic], idle_ms):
        raise click.ClickException(
            f"{named} does not hang: its coordinator knows it, and ends it in time; `penstock txn "
            "list` shows its id"
        )
    abort_here(client, found)
