"""Where the partitions of a table are now: in their topic, or in what was left of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping

from penstock.client.cluster import WireClient
from penstock.client.metadata import Topic
from penstock.client.ranges import located
from penstock.spark.archive.plan import Situation
from penstock.spark.tables.files import Lane
from penstock.spark.tables.topic_table import TopicTable

Homes = dict[Lane, tuple[str, int]]
"""The topic that has the records of a partition, and which of its partitions they are."""


def current_homes(topic: Topic) -> Homes:
    return {
        (index, topic.log_id_of(index).hex()): (topic.name, index) for index in topic.partitions
    }


def by_lane(
    homes: Homes, ask: Callable[[str, Collection[int]], Mapping[int, int]]
) -> dict[Lane, int]:
    """What is told of partitions, topic by topic."""
    found: dict[Lane, int] = {}
    for name in {name for name, _ in homes.values()}:
        lanes = {index: lane for lane, (topic, index) in homes.items() if topic == name}
        found |= {lanes[index]: at for index, at in ask(name, lanes).items()}
    return found


class ClosedPartitions:
    """Partitions that a topic has lost: a sealed topic has what was left of them, until retention
    takes it. Nothing is added to them, so they are archived once."""

    def __init__(self, client: WireClient, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._known: tuple[int, set[Lane]] = (-1, set())
        """Those of a version of the table."""
        self._over: set[Lane] = set()
        """Archived, or gone."""
        self._places: Homes = {}
        """Of those that are not gone, as far as is known."""

    def homes(self, table: TopicTable, current: Homes) -> Homes:
        found: Homes = {}
        if self._known[0] != table.version:
            self._known = table.version, known_lanes(table)
        for lane in self._known[1] - current.keys() - self._over:
            home = self._home(lane)
            if home is None:
                self._over.add(lane)
            else:
                found[lane] = home
        self._places |= found
        return found

    def left(self) -> Iterator[Homes]:
        """What each sealed topic has that is still there."""
        for name in sorted({topic for topic, _ in self._places.values()}):
            topic = self._client.topic_if_any(name)
            homes = {lane: home for lane, home in self._places.items() if home[0] == name}
            if topic is not None and all(
                at in topic.partitions and topic.log_id_of(at).hex() == lane[1]
                for lane, (_, at) in homes.items()
            ):
                yield homes

    def note(self, situation: Situation, current: Homes) -> None:
        """Those that are archived to their end are not asked for again."""
        rest = situation.ends.keys() - current.keys()
        self._over |= {lane for lane in rest if situation.ends[lane] <= situation.mark(lane)}

    def _home(self, lane: Lane) -> tuple[str, int] | None:
        client, (index, log_id) = self._client, lane
        found = client.retry(
            lambda deadline: located(client, self._topic, index, bytes.fromhex(log_id), deadline)
        )
        return None if found is None else (found[0].name, found[1])


def known_lanes(table: TopicTable) -> set[Lane]:
    """Of which there are files, or were some to come when the table was made."""
    found = {each.lane for each in table.files()}
    for index in itertools.count():
        lane = (index, table.owner.topic_id)
        if not table.marks([lane]):
            return found
        found.add(lane)
    raise AssertionError("counting never ends")
