"""`penstock topic`: make, list, change, cut and delete topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    changed_settings,
    cluster_options,
    confirm,
    connect,
    json_option,
    set_option,
    topic_argument,
    unset_option,
    yes_option,
)
from penstock.cli.output import changes_text, counted, emit_json, emit_table
from penstock.cli.positions import PositionType
from penstock.cli.times import DurationType
from penstock.cli.topic_describe import describe
from penstock.client.positions import Position

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient

PARTITIONS_MAX = 100_000


@click.group("topic")
def command() -> None:
    """Work with topics."""


command.add_command(describe)


@command.command("create")
@click.argument("name")
@click.option(
    "--partitions",
    type=click.IntRange(1, PARTITIONS_MAX),
    help="How many; else the broker's default.",
)
@click.option("--replication-factor", type=click.IntRange(1, 32767), help="Replicas of each.")
@set_option
@json_option
@cluster_options
def create(
    name: str,
    partitions: int | None,
    replication_factor: int | None,
    settings: dict[str, str],
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Make the topic NAME."""
    from penstock.client.admin import BY_DEFAULT, create_topic  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        create_topic(
            client, name, partitions or BY_DEFAULT, replication_factor or BY_DEFAULT, settings
        )
        made = client.retry(lambda deadline: client.topic(name, deadline=deadline))
    replicas = len(made.partitions[0].replicas)
    if as_json:
        emit_json(
            {"topic": name, "partitions": len(made.partitions), "replication_factor": replicas}
        )
    else:
        shape = f"{counted(len(made.partitions), 'partition')}, {counted(replicas, 'replica')} each"
        click.echo(f"created topic {name}: {shape}")


@command.command("list")
@click.option("--internal", is_flag=True, help="With the topics that the cluster keeps for itself.")
@json_option
@cluster_options
def list_topics(internal: bool, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """List topics."""
    with connect(bootstrap, timeout_s) as client:
        found = client.metadata().stored.values()
    shown = sorted(
        (each for each in found if internal or not each.is_internal), key=lambda t: t.name
    )
    rows = []
    for each in shown:
        replicas = min((len(part.replicas) for part in each.partitions.values()), default=0)
        rows.append((each.name, len(each.partitions), replicas))
    if as_json:
        names = ("topic", "partitions", "replication_factor")
        emit_json([dict(zip(names, row, strict=True)) for row in rows])
    elif rows:
        emit_table(("topic", "partitions", "replicas"), rows)
    else:
        click.echo("there are no topics; make one with `penstock topic create NAME`", err=True)


@command.command("alter")
@topic_argument
@click.option(
    "--partitions",
    type=click.IntRange(1, PARTITIONS_MAX),
    help="How many there shall be in all. If fewer than now, the others are closing.",
)
@click.option(
    "--when",
    type=click.Choice(["retention", "drained"]),
    help="When closing partitions go: once their records have expired, which is the default, or "
    "once every group has read them.",
)
@click.option(
    "--max-pause",
    "max_pause_ms",
    type=DurationType(),
    metavar="DURATION",
    help="How long writes to closing partitions may be refused before they go; 10s by default.",
)
@set_option
@unset_option
@json_option
@cluster_options
def alter(
    topic: str,
    partitions: int | None,
    when: str | None,
    max_pause_ms: int | None,
    settings: dict[str, str],
    unset: tuple[str, ...],
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Change the number of partitions or the settings of TOPIC.

    Partitions that a topic is to lose are closing first: all of them are read, and nothing is lost.
    As many partitions as it has mean that it is to lose none.
    """
    from penstock.client.admin import alter_topic  # noqa: PLC0415

    changes = changed_settings(settings, unset)
    if partitions is None and (when is not None or max_pause_ms is not None):
        raise click.UsageError("--when and --max-pause go with --partitions")
    if not changes and partitions is None:
        raise click.UsageError("nothing to change: give --partitions, --set or --unset")
    _check_agree(settings, partitions, when, max_pause_ms)
    done = changes_text(changes)
    with connect(bootstrap, timeout_s) as client:
        if changes:
            alter_topic(client, topic, changes)
        if partitions is not None:
            done.append(_set_partitions(client, topic, partitions, when, max_pause_ms))
    if as_json:
        emit_json({"topic": topic, "partitions": partitions, "set": settings, "unset": unset})
    else:
        click.echo(f"altered topic {topic}: {', '.join(done)}")


def _check_agree(
    settings: dict[str, str], partitions: int | None, when: str | None, max_pause_ms: int | None
) -> None:
    """What is said twice must be the same, or half of it would be done and then undone."""
    from penstock.client.closing import MAX_PAUSE, OPEN, WHEN  # noqa: PLC0415

    said = (
        ("--partitions", OPEN, partitions),
        ("--when", WHEN, when),
        ("--max-pause", MAX_PAUSE, max_pause_ms),
    )
    for option, name, wanted in said:
        text = settings.get(name)
        if wanted is not None and text is not None and text.strip() != str(wanted):
            raise click.UsageError(
                f"{option} stands for {name}={wanted}, and --set says {name}={text}: give one of "
                "them; nothing was changed"
            )


def _set_partitions(
    client: WireClient, topic: str, wanted: int, when: str | None, max_pause_ms: int | None
) -> str:
    """What was done."""
    from penstock.client.closing import NotFewer, set_partitions  # noqa: PLC0415

    try:
        before, is_fewer = set_partitions(client, topic, wanted, when, max_pause_ms)
    except NotFewer as error:
        raise click.UsageError(str(error)) from None
    if not is_fewer:
        return counted(wanted, "partition")
    if wanted == before:
        return f"all of {counted(before, 'partition')} stay"
    return (
        f"{counted(wanted, 'partition')} of {before} will stay; `penstock topic describe {topic}` "
        "shows how far that is"
    )


@command.command("delete")
@topic_argument
@yes_option
@json_option
@cluster_options
def delete(topic: str, yes: bool, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Delete TOPIC and all that is in it."""
    from penstock.client.admin import delete_topic  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        count = len(client.topic(topic).partitions)
        confirm(f"Delete topic {topic} with all records of its {counted(count, 'partition')}?", yes)
        delete_topic(client, topic)
    if as_json:
        emit_json({"topic": topic, "deleted": True})
    else:
        click.echo(f"deleted topic {topic}")


@command.command("truncate")
@topic_argument
@click.option(
    "--before",
    type=PositionType(),
    required=True,
    metavar="POSITION",
    help="An offset, `end`, or a time (ISO 8601, or ms since 1970): what lies before it goes.",
)
@click.option("--partition", "partitions", type=int, multiple=True, help="Only these partitions.")
@yes_option
@json_option
@cluster_options
def truncate(
    topic: str,
    before: Position,
    partitions: tuple[int, ...],
    yes: bool,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Drop the oldest records of TOPIC.

    An offset past a partition's end stands for the end: no record that is yet to come is dropped.
    """
    from penstock.client.locating import chosen_partitions, cut_before  # noqa: PLC0415
    from penstock.client.offsets import delete_records  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        chosen = chosen_partitions(client, topic, partitions)
        starts, cuts = cut_before(client, topic, chosen, before)
        if cuts:
            _ask_to_truncate(topic, starts, cuts, yes)
            starts = {**starts, **delete_records(client, topic, cuts)}
    if as_json:
        rows = [{"partition": index, "start": start} for index, start in starts.items()]
        emit_json({"topic": topic, "truncated": bool(cuts), "partitions": rows})
    elif cuts:
        emit_table(("partition", "start"), list(starts.items()))
    else:
        click.echo(f"topic {topic} has nothing before that; nothing was done", err=True)


def _ask_to_truncate(topic: str, starts: dict[int, int], cuts: dict[int, int], yes: bool) -> None:
    going = [
        f"partition {index}: offsets {starts[index]} to {cut - 1}" for index, cut in cuts.items()
    ]
    count = sum(cut - starts[index] for index, cut in cuts.items())
    if not yes:
        click.echo("\n".join(going), err=True)
    confirm(f"Drop these {counted(count, 'offset')} of topic {topic} for good?", yes)
