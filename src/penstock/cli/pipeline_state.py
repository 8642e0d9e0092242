"""`penstock pipeline list`, `status` and `stop`: what runs, how it is, and the end of it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import json_option
from penstock.cli.output import duration_text, emit_json, emit_table, plain, time_text
from penstock.cli.pipeline_running import report, state_option, telling

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from penstock.spark.pipelines.state import Note

_POLL_S = 0.05


def complete_name(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem  # noqa: PLC0415

    from penstock.spark.pipelines.state import State  # noqa: PLC0415

    names = [each.name for each in State(ctx.params.get("state")).notes()]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


name_argument = click.argument("name", shell_complete=complete_name)


@click.command("list")
@state_option
@json_option
def list_all(state: Path | None, as_json: bool) -> None:
    """List pipelines, archives, replays and backfills that were started here."""
    from penstock.spark.pipelines.state import State  # noqa: PLC0415

    notes = State(state).notes()
    if as_json:
        emit_json([_document(each) for each in notes])
    elif notes:
        emit_table(("name", "kind", "state", "pid", "rows", "rate", "lag", "since"), _rows(notes))
    else:
        click.echo("there are none; `penstock pipeline run FILE` starts one", err=True)


def _rows(notes: list[Note]) -> list[list[object]]:
    now_ms = time.time_ns() // 1_000_000
    return [
        [
            each.name,
            each.kind,
            each.situation,
            each.pid,
            each.progress.rows,
            f"{each.progress.rows_a_second:.0f}/s",
            each.progress.lag,
            duration_text(max(0, now_ms - each.began_ms)),
        ]
        for each in notes
    ]


@click.command("status")
@name_argument
@state_option
@json_option
def status(name: str, state: Path | None, as_json: bool) -> None:
    """Show how one is: running, stopped, done, failed, or gone without a word."""
    from penstock.spark.pipelines.state import State  # noqa: PLC0415

    with telling():
        note = State(state).note(name)
    if as_json:
        emit_json(_document(note))
        return
    told = _document(note)
    progress = told.pop("progress")
    for key, value in {**told, **progress}.items():
        if value is not None:
            shown = time_text(value) if key.endswith("_ms") else plain(str(value))
            click.echo(f"{key.removesuffix('_ms').replace('_', ' '):15}{shown}")


@click.command("stop")
@name_argument
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0.1, 86_400),
    default=90.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for its end.",
)
@state_option
@json_option
def stop(name: str, timeout_s: float, state: Path | None, as_json: bool) -> None:
    """End one after its batch, and wait for that. Started again, it goes on where it stood."""
    from penstock.spark.pipelines.state import RUNNING, State  # noqa: PLC0415

    kept = State(state)
    with telling():
        note = kept.note(name)
    if note.situation == RUNNING:
        os.kill(note.pid, signal.SIGTERM)
        note = _awaited_end(kept.note, name, timeout_s)
        told = f"{plain(name)} has ended: {note.situation}"
    else:
        told = f"{plain(name)} does not run: {note.situation}"
    report({"name": name, "state": note.situation}, told, as_json)


def _awaited_end(read: Any, name: str, timeout_s: float) -> Note:
    from penstock.spark.pipelines.state import is_alive  # noqa: PLC0415

    deadline = time.monotonic() + timeout_s
    while True:
        note: Note = read(name)
        if not is_alive(note.pid, note.process_began):
            return note
        if time.monotonic() > deadline:
            raise click.ClickException(
                f"{name} (process {note.pid}) has not ended within {timeout_s:g} s; it ends after "
                "its batch: wait longer with --timeout"
            )
        time.sleep(_POLL_S)


def _document(note: Note) -> dict[str, Any]:
    import msgspec  # noqa: PLC0415

    told = msgspec.to_builtins(note)
    del told["told"], told["version"], told["process_began"]
    return {"name": told.pop("name"), "state": note.situation, **told}
