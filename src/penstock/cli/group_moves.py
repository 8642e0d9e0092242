"""Where a group is to be moved, partition by partition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import click

from penstock.cli.group_places import TopicPart, existing_places, known_bounds
from penstock.cli.positions import Position, locate

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient
    from penstock.client.group_offsets import Place


class Move(NamedTuple):
    topic: str
    partition: int
    since: int | None
    """Where the group is now; None if it has never committed there."""
    to: int | None
    """None: it stays there, and the note says why."""
    lag: int | None
    note: str | None


def plan(
    client: WireClient,
    group: str,
    topics: tuple[TopicPart, ...],
    position: Position | None,
    shift_by: int | None,
) -> list[Move]:
    """Without a position it is a shift."""
    from penstock.client.group_offsets import committed_offsets  # noqa: PLC0415

    committed = {place: each.offset for place, each in committed_offsets(client, group).items()}
    places = existing_places(client, topics) if topics else list(committed)
    if not places:
        raise click.ClickException(
            f"group {group} has committed no offsets; say with --topic where it is to begin"
        )
    bounds = known_bounds(client, places)
    if position is None:
        assert shift_by is not None
        wanted = {place: committed[place] + shift_by for place in places if place in committed}
    else:
        wanted = _located(client, bounds, position)
    return [
        _move(place, committed.get(place), wanted.get(place), bounds.get(place)) for place in places
    ]


def _located(client: WireClient, places: Iterable[Place], position: Position) -> dict[Place, int]:
    from penstock.client.group_offsets import by_topic  # noqa: PLC0415

    return {
        (topic, index): offset
        for topic, indexes in by_topic(places).items()
        for index, offset in locate(client, topic, indexes, position).items()
    }


def _move(
    place: Place, since: int | None, wanted: int | None, bounds: tuple[int, int] | None
) -> Move:
    if bounds is None:
        return Move(*place, since, None, None, "no broker leads it: it stays where it is")
    if wanted is None:
        return Move(*place, since, None, None, "nothing was committed to shift from")
    start, end = bounds
    note = None
    if wanted < start:
        note = f"{wanted} is before the start"
    elif wanted > end:
        note = f"{wanted} is past the end"
    to = max(start, min(wanted, end))
    return Move(*place, since, to, end - to, note)
