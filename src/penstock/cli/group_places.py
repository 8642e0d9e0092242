"""Partitions of a group's topics as a user names them: `TOPIC`, or `TOPIC:0,2`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from penstock.cli.options import complete_topic

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient
    from penstock.client.group_offsets import Place


class TopicPart(NamedTuple):
    topic: str
    partitions: tuple[int, ...]
    """None of them stands for all."""


class TopicPartType(click.ParamType[TopicPart]):
    name = "topic"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> TopicPart:
        if isinstance(value, TopicPart):
            return value
        topic, colon, listed = value.partition(":")
        numbers = listed.split(",") if colon else []
        if not topic or not all(each.isdecimal() for each in numbers):
            self.fail(f"{value!r} is neither TOPIC nor TOPIC:0,2", param, ctx)
        return TopicPart(topic, tuple(map(int, numbers)))


topics_option = click.option(
    "--topic",
    "topics",
    type=TopicPartType(),
    multiple=True,
    metavar="TOPIC[:0,2]",
    shell_complete=complete_topic,
    help="A topic, or some of its partitions; may be given several times.",
)


def existing_places(client: WireClient, wanted: Iterable[TopicPart]) -> list[Place]:
    """All of them must be there."""
    from penstock.cli.positions import chosen_partitions  # noqa: PLC0415

    places = {
        (topic, index)
        for topic, partitions in wanted
        for index in chosen_partitions(client, topic, partitions)
    }
    return sorted(places)


def committed_places(
    group: str, wanted: Sequence[TopicPart], committed: Iterable[Place]
) -> list[Place]:
    """Those in which the group has an offset; there must be some for each that is asked for."""
    known = sorted(committed)
    places: list[Place] = []
    for topic, partitions in wanted:
        found = [each for each in known if each[0] == topic]
        if partitions:
            found = [each for each in found if each[1] in partitions]
        if not found:
            raise click.ClickException(
                f"group {group} has no offsets there in {topic}; "
                f"`penstock group describe {group}` shows those it has"
            )
        places += found
    return list(dict.fromkeys(places))


def known_bounds(client: WireClient, places: Iterable[Place]) -> dict[Place, tuple[int, int]]:
    """Where partitions begin and end; only of those that are there and have a leader."""
    from penstock.client.group_offsets import by_topic  # noqa: PLC0415
    from penstock.client.offsets import EARLIEST, LATEST, ends  # noqa: PLC0415

    bounds: dict[Place, tuple[int, int]] = {}
    grouped = by_topic(places)
    topics = client.metadata(list(grouped)).topics if grouped else {}
    for name, indexes in grouped.items():
        partitions = topics[name].partitions if name in topics else {}
        led = [each for each in indexes if each in partitions and partitions[each].leader >= 0]
        if not led:
            continue
        starts, lasts = ends(client, name, led, EARLIEST), ends(client, name, led, LATEST)
        bounds |= {(name, index): (starts[index], lasts[index]) for index in led}
    return bounds
