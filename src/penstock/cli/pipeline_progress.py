"""How far a pipeline is: a bar at a terminal, lines elsewhere, JSON for programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

import click

from penstock.cli.output import counted, emit_json, plain, size_text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from penstock.spark.archive.archiver import Round as Archived
    from penstock.spark.replay.replayer import Round as Replayed


class Bar:
    """Rows done of all that are known; nothing where nobody looks."""

    def __init__(self, what: str, *, is_seen: bool) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        if is_seen and sys.stderr.isatty():
            self._progress = _progress()
            self._task = self._progress.add_task(plain(what), total=None, note="starting Spark")

    @property
    def is_seen(self) -> bool:
        return self._progress is not None

    def __enter__(self) -> Self:
        if self._progress:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress:
            self._progress.stop()

    def say(self, text: str) -> None:
        """A line that stays, above the bar."""
        if self._progress:
            self._progress.console.print(text, markup=False, highlight=False)
        else:
            click.echo(text, err=True)

    def show(self, done: int, left: int, note: str) -> None:
        if self._progress and self._task is not None:
            self._progress.update(self._task, completed=done, total=done + left, note=note)


def _progress() -> Progress:
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


class RoundsShown:
    """The rounds of an archive or of a replay."""

    def __init__(self, what: str, *, as_json: bool) -> None:
        self.rounds = 0
        self._as_json = as_json
        self._bar = Bar(what, is_seen=not as_json)
        self._rows = self._bytes = self._lag = 0
        self._lost: list[dict[str, int]] = []

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.__exit__()

    def show(self, done: Archived | Replayed) -> None:
        self.rounds, self._lag = done.number, done.lag
        self._rows += done.rows
        self._bytes += done.size_bytes
        for each in getattr(done, "lost", []):
            self._lost.append(each._asdict())
            self._bar.say(f"{each} were lost before they were archived")
        rate = done.rows / max(done.seconds, 0.001)
        if self._as_json:
            emit_json(_document(done))
        elif self._bar.is_seen:
            told = f"{rate:.0f}/s, lag {done.lag}, {counted(done.number, 'round')}"
            self._bar.show(self._rows, done.lag, told)
        else:
            click.echo(
                f"round {done.number}: {counted(done.rows, 'record')}, "
                f"{size_text(done.size_bytes)}, {rate:.0f}/s, lag {done.lag}"
            )

    @property
    def told(self) -> str:
        return f"{counted(self._rows, 'record')} in {counted(self.rounds, 'round')}"

    def document(self) -> dict[str, Any]:
        return {
            "rounds": self.rounds,
            "rows": self._rows,
            "size_bytes": self._bytes,
            "lag": self._lag,
            "lost": self._lost,
        }


def _document(done: Archived | Replayed) -> dict[str, Any]:
    told = done._asdict()
    told["round"] = told.pop("number")
    if "lost" in told:
        told["lost"] = [each._asdict() for each in told["lost"]]
    return told
