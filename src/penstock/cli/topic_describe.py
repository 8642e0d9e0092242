"""`penstock topic describe`: where the partitions of a topic are, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.offline_partitions import advice, by_advice, held
from penstock.cli.options import cluster_options, connect, json_option, topic_argument
from penstock.cli.output import counted, emit_json, emit_table, size_text
from penstock.cli.topic_archived import archived_lines, with_archived
from penstock.cli.topic_closing import closing_document, closing_lines

if TYPE_CHECKING:
    from penstock.client.admin import ConfigValue
    from penstock.client.cluster import WireClient
    from penstock.client.errors import ClientError
    from penstock.client.metadata import Topic

_COLUMNS = (
    "partition",
    "leader",
    "replicas",
    "isr",
    "start",
    "high_watermark",
    "end",
    "size",
)
_SELDOM = ("archived", "eligible", "adding", "removing", "held", "error")
"""Columns that are shown where there is something to show."""
_NOTHING: tuple[object, ...] = (None, (), [], {}, "")


@click.command("describe")
@topic_argument
@json_option
@cluster_options
def describe(topic: str, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Show the partitions of TOPIC, and the settings that are not as by default.

    Consumers see what lies before the high watermark; the end counts what is yet to be committed.
    A dash is what could not be found out, as while a partition has no leader. A partition that its
    leader cannot read is marked with an error, and the exit code is 1. Eligible replicas have all
    that is committed although they are not in sync; others are being added or removed. For a
    partition without a leader it says what can be done.
    """
    from penstock.client.admin import DEFAULT, topic_configs  # noqa: PLC0415
    from penstock.client.closing import closing_state  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        known = client.topic(topic)
        rows, failures = partition_rows(client, known)
        marks = {row["partition"]: row["high_watermark"] or 0 for row in rows}
        configs = {
            name: each
            for name, each in topic_configs(client, topic).items()
            if each.source != DEFAULT
        }
        rows = with_archived(client, known, rows, configs)
        closing, origin = closing_state(client, known, marks)
    if as_json:
        closing_part = closing_document(closing) if closing else None
        emit_json({**_document(known, rows, configs, closing_part), "sealed_from": origin or None})
    else:
        click.echo(f"topic {topic}  id {known.topic_id.hex()}  {counted(len(rows), 'partition')}")
        seldom = [name for name in _SELDOM if any(row[name] not in _NOTHING for row in rows)]
        columns = (*_COLUMNS, *seldom)
        emit_table(
            [name.replace("_", " ") for name in columns], [_cells(row, columns) for row in rows]
        )
        for what, indexes in by_advice(rows).items():
            noun = "partition" if len(indexes) == 1 else "partitions"
            click.echo(f"nobody leads {noun} {', '.join(map(str, indexes))}: {what}")
        for name, each in sorted(configs.items()):
            click.echo(f"{name}={each.value}  (set by {each.source})")
        for line in archived_lines(topic, rows):
            click.echo(line)
        for line in closing_lines(closing, len(rows)) if closing else ():
            click.echo(line)
        if origin:
            click.echo(f"sealed: these were partitions of {origin}; they are only read")
    if failures:
        raise click.ClickException(_told_together(failures))


def partition_rows(
    client: WireClient, topic: Topic
) -> tuple[list[dict[str, Any]], dict[int, ClientError]]:
    """What is known of each partition, and why some cannot be read.

    Offsets are asked only of those that have a leader.
    """
    from penstock.client.offsets import replica_sizes, survey_bounds  # noqa: PLC0415
    from penstock.client.replicas import STILL, eligible, moves  # noqa: PLC0415

    moving, able = moves(client), eligible(client, topic.name)
    surveys = survey_bounds(client, topic)
    starts, marks, lasts = (each.offsets for each in surveys)
    failures = {index: error for each in surveys for index, error in each.failures.items()}
    sizes = {
        (each.broker, each.partition): each.size_bytes
        for each in replica_sizes(client, topic.name, topic.partitions)
    }
    rows = [
        {
            "partition": index,
            "leader": each.leader if each.leader >= 0 else None,
            "leader_epoch": each.leader_epoch,
            "replicas": each.replicas,
            "isr": each.in_sync,
            "offline": each.offline,
            "start": starts.get(index),
            "high_watermark": marks.get(index),
            "end": lasts.get(index),
            "size": sizes.get((each.leader, index)),
            "error": failures[index].code.name if index in failures else None,
            "eligible": able.get(index, ()),
            "adding": moving.get((topic.name, index), STILL).adding,
            "removing": moving.get((topic.name, index), STILL).removing,
            "held": held(each, sizes),
        }
        for index, each in topic.partitions.items()
    ]
    return [{**row, "advice": advice(topic.name, row)} for row in rows], failures


def _cells(row: dict[str, Any], columns: Sequence[str]) -> list[object]:
    size = None if row["size"] is None else size_text(row["size"])
    parts = [f"{broker}: {size_text(each)}" for broker, each in row["held"].items()]
    shown = {**row, "size": size, "held": ", ".join(parts) or None}
    return [shown[name] for name in columns]


def _told_together(failures: dict[int, ClientError]) -> str:
    """The first says what to do, and how many there are."""
    first = str(next(iter(failures.values())))
    others = len(failures) - 1
    return f"{first} (and {counted(others, 'partition')} more)" if others else first


def _document(
    topic: Topic,
    rows: list[dict[str, Any]],
    configs: dict[str, ConfigValue],
    closing: dict[str, Any] | None,
) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topic_id": topic.topic_id.hex(),
        "internal": topic.is_internal,
        "partitions": rows,
        "configs": {
            name: {"value": each.value, "source": each.source} for name, each in configs.items()
        },
        "closing": closing,
    }
