"""`penstock topic describe`: where the partitions of a topic are, and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import cluster_options, connect, json_option, topic_argument
from penstock.cli.output import counted, emit_json, emit_table, size_text

if TYPE_CHECKING:
    from penstock.client.admin import ConfigValue
    from penstock.client.cluster import WireClient
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


@click.command("describe")
@topic_argument
@json_option
@cluster_options
def describe(topic: str, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Show the partitions of TOPIC, and the settings that are not as by default.

    Consumers see what lies before the high watermark; the end counts what is yet to be committed.
    A dash is what could not be found out, as while a partition has no leader.
    """
    from penstock.client.admin import DEFAULT, topic_configs  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        known = client.topic(topic)
        rows = partition_rows(client, known)
        configs = {
            name: each
            for name, each in topic_configs(client, topic).items()
            if each.source != DEFAULT
        }
    if as_json:
        emit_json(_document(known, rows, configs))
        return
    click.echo(f"topic {topic}  id {known.topic_id.hex()}  {counted(len(rows), 'partition')}")
    emit_table([name.replace("_", " ") for name in _COLUMNS], [_cells(row) for row in rows])
    for name, each in sorted(configs.items()):
        click.echo(f"{name}={each.value}  (set by {each.source})")


def partition_rows(client: WireClient, topic: Topic) -> list[dict[str, Any]]:
    """What is known of each partition; offsets only of those that have a leader."""
    from penstock.client.offsets import (  # noqa: PLC0415
        EARLIEST,
        LATEST,
        ends,
        log_ends,
        replica_sizes,
    )

    led = [index for index, each in topic.partitions.items() if each.leader >= 0]
    starts = ends(client, topic.name, led, EARLIEST)
    marks = ends(client, topic.name, led, LATEST)
    lasts = log_ends(client, topic.name, led)
    sizes = {
        (each.broker, each.partition): each.size_bytes
        for each in replica_sizes(client, topic.name, topic.partitions)
    }
    return [
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
        }
        for index, each in topic.partitions.items()
    ]


def _cells(row: dict[str, Any]) -> list[object]:
    cells = [row[name] for name in _COLUMNS]
    cells[-1] = None if row["size"] is None else size_text(row["size"])
    return cells


def _document(
    topic: Topic, rows: list[dict[str, Any]], configs: dict[str, ConfigValue]
) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topic_id": topic.topic_id.hex(),
        "internal": topic.is_internal,
        "partitions": rows,
        "configs": {
            name: {"value": each.value, "source": each.source} for name, each in configs.items()
        },
    }
