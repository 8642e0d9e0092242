"""Partitions of a group's topics as a user names them: `TOPIC`, or `TOPIC:0,2`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from penstock.cli.options import complete_topic

if TYPE_CHECKING:
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
