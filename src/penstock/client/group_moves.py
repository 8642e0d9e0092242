"""Where a group is to be moved, partition by partition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.group_offsets import Place, by_topic, committed_offsets
from penstock.client.locating import existing_places, known_bounds, locate
from penstock.client.positions import Position
from penstock.client.share_offsets import share_starts
from penstock.errors import ErrorCode


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
    topics: Sequence[tuple[str, Collection[int]]],
    position: Position | None,
    shift_by: int | None,
    *,
    is_share: bool = False,
) -> list[Move]:
    """Without topics: wherever it has an offset. Without a position it is a shift. A share group is
    where its shares begin."""
    committed = _share_starts(client, group) if is_share else _committed(client, group)
    places = existing_places(client, topics) if topics else list(committed)
    if not places:
        raise nothing_committed(group)
    bounds = known_bounds(client, places)
    if position is None:
        assert shift_by is not None
        wanted = {place: committed[place] + shift_by for place in places if place in committed}
    else:
        wanted = _located(client, bounds, position)
    return [
        _move(place, committed.get(place), wanted.get(place), bounds.get(place)) for place in places
    ]


def _committed(client: WireClient, group: str) -> dict[Place, int]:
    return {place: each.offset for place, each in committed_offsets(client, group).items()}


def _share_starts(client: WireClient, group: str) -> dict[Place, int]:
    found = share_starts(client, group).items()
    return {place: each.offset for place, each in found if each.offset is not None}


def nothing_committed(group: str) -> ClientError:
    said = f"group {group} has committed no offsets"
    return ClientError(
        ErrorCode.INVALID_REQUEST,
        f"{said}; say with --topic where it is to begin",
        f"{said}; give topics= where it is to begin",
    )


def _located(client: WireClient, places: Iterable[Place], position: Position) -> dict[Place, int]:
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
