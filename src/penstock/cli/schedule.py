"""`penstock schedule`: messages that wait for their time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import cluster_options, connect, json_option, topic_argument
from penstock.cli.output import duration_text, emit_json, emit_table, size_text, time_text
from penstock.client.positions import OFFSET_MAX

if TYPE_CHECKING:
    from penstock.client.scheduling import Place, Scheduled

LIMIT = 100


class IdType(click.ParamType[tuple[int, int]]):
    """PARTITION:OFFSET, of where a message was sent to."""

    name = "id"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        partition, _, offset = value.partition(":")
        numbers = [int(each) for each in (partition, offset) if each.isdecimal()]
        if len(numbers) != 2 or max(numbers) > OFFSET_MAX:
            self.fail(
                f"{value!r} is no id: give PARTITION:OFFSET, as `penstock schedule list` shows it",
                param,
                ctx,
            )
        return numbers[0], numbers[1]


def id_text(partition: int, offset: int) -> str:
    return f"{partition}:{offset}"


@click.group("schedule")
def command() -> None:
    """Work with messages that wait for their time; `penstock produce --delay` sends such."""


@command.command("list")
@topic_argument
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=LIMIT,
    show_default=True,
    help="How many to show: those that are due first.",
)
@json_option
@cluster_options
def list_all(topic: str, limit: int, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """List the messages of TOPIC that wait, in the order in which they are due.

    `penstock consume TOPIC.scheduled` prints their values.
    """
    from penstock.client.scheduling import list_scheduled  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        first, total = list_scheduled(client, topic, limit)
    if as_json:
        emit_json([_document(topic, each) for each in first])
        return
    if not first:
        click.echo(f"nothing waits in {topic}; `penstock produce --delay` sends such", err=True)
        return
    now_ms = int(time.time() * 1000)
    rows = [
        (
            id_text(each.partition, each.offset),
            time_text(each.due_ms),
            duration_text(max(each.due_ms - now_ms, 0)),
            None if each.key is None else each.key.decode(errors="backslashreplace"),
            size_text(each.size_bytes),
            each.cron,
        )
        for each in first
    ]
    emit_table(("id", "due", "in", "key", "size", "cron"), rows)
    if total > len(first):
        click.echo(f"and {total - len(first)} more; see --limit", err=True)


@command.command("cancel")
@topic_argument
@click.argument("ids", nargs=-1, required=True, type=IdType(), metavar="ID...")
@json_option
@cluster_options
@click.pass_context
def cancel(
    ctx: click.Context,
    topic: str,
    ids: tuple[Place, ...],
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Take back messages of TOPIC that wait. An ID is PARTITION:OFFSET.

    Where that is too late for one, the others are taken back all the same, and the exit code is 1.
    """
    from penstock.client.scheduling import cancel as cancel_each  # noqa: PLC0415

    told = []
    with connect(bootstrap, timeout_s) as client:
        for place, error in cancel_each(client, topic, dict.fromkeys(ids)):
            name = id_text(*place)
            said = error.said if error else None
            told.append({"id": name, "cancelled": error is None, "error": said})
            if as_json:
                continue
            if error is None:
                click.echo(f"cancelled {name}")
            else:
                click.echo(f"{name} was not cancelled: {said}", err=True)
    if as_json:
        emit_json(told)
    ctx.exit(0 if all(each["cancelled"] for each in told) else 1)


def _document(topic: str, each: Scheduled) -> dict[str, object]:
    from penstock.cli.consume_format import as_json_fields, headers_json  # noqa: PLC0415

    return {
        "topic": topic,
        "id": id_text(each.partition, each.offset),
        "partition": each.partition,
        "offset": each.offset,
        "due_ms": each.due_ms,
        "due": time_text(each.due_ms),
        "cron": each.cron,
        **as_json_fields("key", each.key),
        "headers": headers_json(each.headers),
        "size": each.size_bytes,
    }
