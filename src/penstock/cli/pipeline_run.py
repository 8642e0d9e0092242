"""`penstock pipeline run` and `backfill`: declared pipelines at work."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from penstock.cli.options import cluster_options, json_option, pairs, topic_argument
from penstock.cli.output import counted, emit_json, plain
from penstock.cli.pipeline_progress import Bar
from penstock.cli.pipeline_running import (
    master_option,
    report,
    start_spark,
    state_option,
    stopped_by,
    telling,
)
from penstock.cli.positions import PositionType
from penstock.cli.times import TimeType
from penstock.client.positions import Position

if TYPE_CHECKING:
    from penstock.spark.pipelines.declaration import Pipeline
    from penstock.spark.pipelines.progress import Progress

TEMPLATES = ("log-aggregation",)


class BatchesShown:
    """How far a pipeline is: a bar at a terminal, lines elsewhere, JSON for programs."""

    def __init__(self, name: str, *, as_json: bool) -> None:
        self._as_json = as_json
        self._bar = Bar(name, is_seen=not as_json)
        self._batches = -1

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.__exit__()

    def show(self, progress: Progress) -> None:
        if self._bar.is_seen:
            self._bar.show(progress.rows, progress.lag or 0, _rates_text(progress))
        elif progress.batches != self._batches:
            if self._as_json:
                emit_json(document(progress))
            else:
                click.echo(f"{counted(progress.rows, 'row')}, {_rates_text(progress)}")
        self._batches = progress.batches


def _rates_text(progress: Progress) -> str:
    told = f"{progress.rows_a_second:.0f}/s"
    if progress.lag is not None:
        told += f", lag {progress.lag}"
    told += f", {counted(progress.batches, 'batch', 'batches')}"
    if progress.dead_letters:
        told += f", {counted(progress.dead_letters, 'dead letter')}"
    return told


def document(progress: Progress) -> dict[str, Any]:
    import msgspec  # noqa: PLC0415

    return msgspec.structs.asdict(progress)


@click.command("run")
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--template", type=click.Choice(TEMPLATES), help="A ready-made one, without a file.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="What the template needs, such as topic=logs and table=DIR.",
)
@click.option("--once", is_flag=True, help="End when all is done that is there now.")
@master_option
@state_option
@json_option
@cluster_options
@click.pass_context
def run_declared(
    ctx: click.Context,
    file: Path | None,
    template: str | None,
    settings: tuple[str, ...],
    once: bool,
    master: str,
    state: Path | None,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Run the pipeline that FILE declares, each row through it exactly once.

    Goes on where it stood, until Ctrl-C or `penstock pipeline stop` or, with --once, until it is
    through with all that was there.
    """
    if (file is None) == (template is None):
        raise click.UsageError("give a FILE, or a --template")
    if settings and template is None:
        raise click.UsageError("--set is for templates: a file says all of it")
    with telling():
        pipeline = _pipeline(file, template, settings)
        progress = run_pipeline(
            pipeline,
            master=master,
            as_json=as_json,
            once=once,
            bootstrap=_chosen_bootstrap(ctx, pipeline, bootstrap),
            state=state,
            file=file,
        )
        told = f"{plain(pipeline.name)}: {counted(progress.rows, 'row')}, {_rates_text(progress)}"
        report({"name": pipeline.name, **document(progress)}, told, as_json)
        if template and once and not as_json:
            _show_chart(pipeline)


def _pipeline(file: Path | None, template: str | None, settings: tuple[str, ...]) -> Pipeline:
    from penstock.spark.pipelines.reading import read_file  # noqa: PLC0415
    from penstock.spark.pipelines.templates import from_template  # noqa: PLC0415

    return read_file(file) if file else from_template(template or "", dict(pairs(settings)))


def _chosen_bootstrap(ctx: click.Context, pipeline: Pipeline, given: str) -> str:
    """What was typed goes before what the file says, and that before the default."""
    is_typed = ctx.get_parameter_source("bootstrap") is click.core.ParameterSource.COMMANDLINE
    return given if is_typed else pipeline.bootstrap or given


def run_pipeline(pipeline: Pipeline, *, master: str, as_json: bool, **more: Any) -> Progress:
    from penstock.spark.pipelines.running import run  # noqa: PLC0415

    stop = threading.Event()
    with BatchesShown(pipeline.name, as_json=as_json) as shown, stopped_by(stop.set):
        return run(
            pipeline,
            spark=lambda settings: start_spark(master, stop.set, pipeline.name, settings),
            stop=stop,
            on_progress=shown.show,
            **more,
        )


def _show_chart(pipeline: Pipeline) -> None:
    from penstock.cli.pipeline_chart import chart, counts_in  # noqa: PLC0415

    for line in chart(counts_in(pipeline.sink.table or "")):
        click.echo(line)


@click.command("backfill")
@topic_argument
@click.option("--name", required=True, help="The same name goes on where it stood.")
@click.option("--to-topic", metavar="TOPIC", help="Write there; made if missing.")
@click.option("--to", "folder", metavar="DIR", help="Write a Delta table; made if missing.")
@click.option("--from-offset", type=PositionType(), metavar="OFFSET", help="Of each partition.")
@click.option("--to-offset", type=PositionType(), metavar="OFFSET", help="Of each, before that.")
@click.option("--from-time", type=TimeType(), metavar="TIME", help="From the first record of then.")
@click.option("--to-time", type=TimeType(), metavar="TIME", help="Before the first of then.")
@click.option("--format", "form", type=click.Choice(["json", "csv", "text"]), help="Of the values.")
@click.option("--schema", help='Of the values, such as "id string, amount double".')
@click.option("--sql", help="Over the topic, which is called `topic` there.")
@click.option(
    "--mode",
    type=click.Choice(["append", "complete"]),
    default="append",
    show_default=True,
    help="complete: for sums and counts over all of it.",
)
@master_option
@state_option
@json_option
@cluster_options
def backfill(
    topic: str,
    name: str,
    to_topic: str | None,
    folder: str | None,
    from_offset: Position | None,
    to_offset: Position | None,
    from_time: int | None,
    to_time: int | None,
    form: str | None,
    schema: str | None,
    sql: str | None,
    mode: str,
    master: str,
    state: Path | None,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Process a part of TOPIC again, into another topic or a table, each record exactly once.

    Where it begins and ends is decided at the first start. The same command goes on where it
    stood, and does nothing more when it is complete.
    """
    start = _position("from", from_offset, from_time)
    end = _position("to", to_offset, to_time)
    with telling():
        from penstock.spark.connected import Connected  # noqa: PLC0415
        from penstock.spark.pipelines.backfill import Wanted, decided  # noqa: PLC0415
        from penstock.spark.pipelines.declaration import (  # noqa: PLC0415
            Pipeline,
            Sink,
            Source,
            check,
        )
        from penstock.spark.pipelines.state import State  # noqa: PLC0415

        sink = Sink(topic=to_topic, table=folder and str(Path(folder).absolute()), mode=mode)
        source = Source(topic=topic, format=form, schema=schema)
        pipeline = Pipeline(name=name, sources={"topic": source}, sql=sql, sink=sink)
        check(pipeline)
        if to_topic == topic:
            raise click.UsageError("--to-topic is the topic itself: it would be doubled")
        with Connected(bootstrap, timeout_s).another() as client:
            wanted = Wanted(topic, start, end, sink.topic or sink.table or "")
            part = decided(client, wanted, State(state).folder(name))
        progress = run_pipeline(
            part.bounded(pipeline),
            master=master,
            as_json=as_json,
            once=True,
            bootstrap=bootstrap,
            state=state,
            kind="backfill",
            stop_at=part.to_json(part.ends),
        )
    told = f"{plain(name)}: {counted(progress.rows, 'row')} of {plain(topic)}"
    if not progress.rows:
        told += ": it was complete; another needs a --name of its own"
    report({"name": name, "topic": topic, **document(progress)}, told, as_json)


def _position(which: str, offset: Position | None, time_ms: int | None) -> Position | None:
    if offset is not None and time_ms is not None:
        raise click.UsageError(f"give --{which}-offset or --{which}-time, not both")
    return Position(timestamp_ms=time_ms) if time_ms is not None else offset
