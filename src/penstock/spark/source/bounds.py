"""Where reading begins and ends: topics as they are now, offsets as a job has asked for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.looking import asked_of
from penstock.client.metadata import Topic
from penstock.client.offsets import EARLIEST, LATEST, ends, offsets_at
from penstock.client.ranges import located
from penstock.spark.errors import DataLossError, OptionError
from penstock.spark.source.history import History
from penstock.spark.source.offsets import Offsets, Place
from penstock.spark.source.options import Bound, Chosen, Point, SourceOptions


class Left(NamedTuple):
    end: int
    is_sealed: bool
    """Its topic has fewer partitions by now, and has left it to another topic."""


_POINTS = {Point.EARLIEST: EARLIEST, Point.LATEST: LATEST, Point.FIRST: EARLIEST}


class Bounds:
    """Asks a cluster what a job's options mean at this moment."""

    def __init__(self, client: WireClient, options: SourceOptions) -> None:
        self._client = client
        self._options = options

    def starting(self) -> Offsets:
        found = self._bound(self._options.starting, "startingOffsets")
        if self._options.starting.point is Point.FIRST and self._options.archive is not None:
            return History(self._options.archive).from_first(found)
        return found

    def ending(self) -> Offsets:
        return self._bound(self._options.ending, "endingOffsets", is_end=True)

    def latest(self) -> Offsets:
        return self._bound(Bound(point=Point.LATEST), "")

    def left_of(self, place: Place, log_id: bytes) -> Left | None:
        """Of a partition that is not among those to be read; None if its records are gone."""
        client = self._client

        def left(found: tuple[Topic, int] | None) -> Left | None:
            if found is None:
                return None
            topic, index = found
            told = ends(client, topic.name, [index], LATEST, committed=self._options.committed)
            return Left(told[index], is_sealed=topic.name != place[0])

        return asked_of(
            lambda: client.retry(lambda deadline: located(client, *place, log_id, deadline)), left
        )

    def _bound(self, bound: Bound, option: str, *, is_end: bool = False) -> Offsets:
        return asked_of(
            lambda: chosen_topics(self._client, self._options.chosen),
            lambda topics: self._bound_of(topics, bound, option, is_end=is_end),
        )

    def _bound_of(
        self, topics: Mapping[str, Topic], bound: Bound, option: str, *, is_end: bool
    ) -> Offsets:
        places = list(_places(topics, self._options.chosen))
        if bound.offsets is not None:
            at = self._given(bound.offsets, places, option)
        elif bound.point is not None:
            at = self._points(dict.fromkeys(places, _POINTS[bound.point]))
        else:
            stamps = bound.timestamps_ms
            if stamps is None:
                stamps = dict.fromkeys(places, bound.timestamp_ms or 0)
            at = self._at_times(_complete(stamps, places, f"{option}ByTimestamp"), is_end=is_end)
        return Offsets(at, {place: topics[place[0]].log_id_of(place[1]) for place in at})

    def _given(
        self, given: Mapping[Place, int], places: list[Place], option: str
    ) -> dict[Place, int]:
        """-1 and -2 stand for the latest and the earliest."""
        whole = _complete(given, places, option)
        points = self._points({place: each for place, each in whole.items() if each < 0})
        return {**whole, **points}

    def _points(self, wanted: Mapping[Place, int]) -> dict[Place, int]:
        found: dict[Place, int] = {}
        for topic, points in _by_topic(wanted).items():
            for point in set(points.values()):
                indexes = [index for index, each in points.items() if each == point]
                told = ends(self._client, topic, indexes, point, committed=self._options.committed)
                found |= {(topic, index): offset for index, offset in told.items()}
        return found

    def _at_times(self, wanted: Mapping[Place, int], *, is_end: bool) -> dict[Place, int]:
        """The first record that is as late; where there is none, the end if that will do."""
        found: dict[Place, int] = {}
        for topic, stamps in _by_topic(wanted).items():
            told = offsets_at(self._client, topic, stamps)
            found |= {(topic, index): each.offset for index, each in told.items()}
        late = [place for place, offset in found.items() if offset < 0]
        if late and not (is_end or self._options.late_is_latest):
            topic, index = late[0]
            raise OptionError(
                f"{topic}-{index} has no record as late as {wanted[late[0]]}: choose an earlier "
                "time, or startingOffsetsByTimestampStrategy=latest"
            )
        return found | self._points(dict.fromkeys(late, LATEST))


def chosen_topics(client: WireClient, chosen: Chosen) -> dict[str, Topic]:
    """As they are now. A topic that is named must be there; a pattern may match none yet."""
    client.forget()
    if chosen.pattern:
        told = client.retry(lambda deadline: client.metadata(deadline=deadline)).topics
        is_chosen = re.compile(chosen.pattern).fullmatch
        return {
            name: topic
            for name, topic in sorted(told.items())
            if is_chosen(name) and not topic.is_internal
        }
    names = chosen.names or sorted({topic for topic, _ in chosen.partitions})
    return {name: _topic(client, name) for name in names}


def _topic(client: WireClient, name: str) -> Topic:
    return client.retry(lambda deadline: client.topic(name, deadline=deadline))


def _places(topics: Mapping[str, Topic], chosen: Chosen) -> Iterable[Place]:
    if not chosen.partitions:
        return ((name, index) for name, topic in topics.items() for index in topic.partitions)
    for name, index in chosen.partitions:
        if index not in topics[name].partitions:
            raise OptionError(f"option assign: topic {name} has no partition {index}")
    return chosen.partitions


def _complete(given: Mapping[Place, int], places: list[Place], option: str) -> dict[Place, int]:
    missing, foreign = set(places) - set(given), set(given) - set(places)
    if missing or foreign:
        topic, index = min(missing or foreign)
        what = "says nothing of" if missing else "names, and the job does not read,"
        raise OptionError(f"option {option} {what} {topic}-{index}")
    return dict(given)


def _by_topic(wanted: Mapping[Place, int]) -> dict[str, dict[int, int]]:
    grouped: dict[str, dict[int, int]] = {}
    for (topic, index), number in wanted.items():
        grouped.setdefault(topic, {})[index] = number
    return grouped


def check_starts(start: Offsets, end: Offsets) -> None:
    """A range that ends before it begins: records that were read have vanished since."""
    for (topic, index), stop in end.at.items():
        begin = start.at.get((topic, index), 0)
        if begin > stop:
            raise DataLossError(
                f"{topic}-{index} ends at {stop}, before {begin}, where reading is to begin: "
                "records were lost; failOnDataLoss=false goes on from there"
            )
