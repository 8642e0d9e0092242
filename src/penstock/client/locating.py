"""Which offset a position is in each partition, and where partitions begin and end."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.group_offsets import Place, by_topic
from penstock.client.offsets import EARLIEST, LATEST, ends, offsets_at
from penstock.client.positions import Position
from penstock.errors import ErrorCode


def locate(
    client: WireClient, topic: str, indexes: Iterable[int], position: Position
) -> dict[int, int]:
    """The offset that a position is in each partition; where no record is so late, the end."""
    wanted = list(indexes)
    if position.offset is not None:
        return dict.fromkeys(wanted, position.offset)
    assert position.timestamp_ms is not None
    found = offsets_at(client, topic, dict.fromkeys(wanted, position.timestamp_ms))
    late = [index for index, each in found.items() if each.offset < 0]
    last = ends(client, topic, late, LATEST) if late else {}
    return {index: last.get(index, each.offset) for index, each in found.items()}


def chosen_partitions(client: WireClient, topic: str, asked_for: Collection[int]) -> list[int]:
    """Those that were asked for, or all; a number that is not there is refused."""
    known = client.topic(topic).partitions
    for index in asked_for:
        if index not in known:
            raise ClientError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"topic {topic} has no partition {index}, only 0 to {len(known) - 1}",
            )
    return sorted(set(asked_for)) if asked_for else list(known)


def existing_places(
    client: WireClient, wanted: Iterable[tuple[str, Collection[int]]]
) -> list[Place]:
    """Topics with the partitions that are meant, none for all. All of them must be there."""
    places = {
        (topic, index)
        for topic, partitions in wanted
        for index in chosen_partitions(client, topic, partitions)
    }
    return sorted(places)


def known_bounds(client: WireClient, places: Iterable[Place]) -> dict[Place, tuple[int, int]]:
    """Where partitions begin and end; only of those that are there and have a leader."""
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


def cut_before(
    client: WireClient, topic: str, indexes: Collection[int], position: Position
) -> tuple[dict[int, int], dict[int, int]]:
    """Where these partitions begin, and where to cut those that have something before a position.
    An offset past the end stands for the end: no record that is yet to come is dropped."""
    starts, lasts = ends(client, topic, indexes, EARLIEST), ends(client, topic, indexes, LATEST)
    wanted = locate(client, topic, indexes, position)
    cuts = {index: min(wanted[index], lasts[index]) for index in indexes}
    return starts, {index: cut for index, cut in cuts.items() if cut > starts[index]}
