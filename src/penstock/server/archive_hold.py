"""Retention that waits for archives (`retention.hold.for.archive`), and says so.

An archive commits how far it is to a consumer group. Whoever leads a partition asks that group's
coordinator, once in each round of retention. What cannot be found out counts as not archived: the
limit holds all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from penstock.errors import Malformed, Refused
from penstock.log.retention import Hold
from penstock.metadata.cluster import Topic
from penstock.metadata.internal_topics import OFFSETS
from penstock.replication.leader import Leader
from penstock.server.asking import Asking
from penstock.server.door import Door
from penstock.server.surveying import PARTITIONS_A_REQUEST, Surveyor
from penstock.wire.archive_group import archive_group
from penstock.world.ports import Network

log = logging.getLogger(__name__)

NotKnown = (OSError, TimeoutError, Malformed, Refused)


class Kept(NamedTuple):
    """A partition that came to something in a round."""

    partition: int
    hold: Hold
    size_bytes: int


class ArchiveHold:
    def __init__(self, network: Network, door: Door) -> None:
        self._broker = door.broker
        self._asking = Asking(network, door)
        self._surveyor = Surveyor(
            door.broker.image, self._asking, lambda: self._broker.share_states
        )
        self._archived: dict[bytes, Mapping[int, int]] = {}
        """By topic, in this round."""
        self._silent: set[int] = set()
        """Brokers that did not answer in this round, and are not waited for again."""
        self._kept: dict[str, list[Kept]] = {}
        self._held: set[str] = set()
        """Topics of which something was kept in the last round."""

    async def of(self, leader: Leader) -> Hold | None:
        """None where retention waits for nobody."""
        topic = self._broker.image.topic(leader.topic)
        if not leader.log.config.holds or topic is None:
            return None
        if topic.id not in self._archived:
            self._archived[topic.id] = await self._ask(topic)
        return Hold(self._archived[topic.id].get(leader.index, -1))

    def note(self, leader: Leader, hold: Hold) -> None:
        if hold.lost or hold.held_from is not None:
            kept = Kept(leader.index, hold, leader.log.size_bytes)
            self._kept.setdefault(leader.topic, []).append(kept)

    def end_round(self) -> None:
        """Says what has changed; that something was lost, every time."""
        held = set()
        for topic, kept in self._kept.items():
            if lost := [each for each in kept if each.hold.lost]:
                _tell_lost(topic, lost)
            if waiting := [each for each in kept if each.hold.held_from is not None]:
                held.add(topic)
                if topic not in self._held:
                    _tell_held(topic, waiting)
        for topic in self._held - held:
            log.info("%s: retention waits for the archive no more", topic)
        self._held = held
        self._archived, self._kept = {}, {}
        self._silent.clear()

    def close(self) -> None:
        self._asking.close()

    async def _ask(self, topic: Topic) -> dict[int, int]:
        """Of partitions that went from a topic, its own archive has the rest."""
        sealed = topic.record.sealed
        group = archive_group(sealed.name if sealed else topic.name)
        if self._broker.image.topic(OFFSETS) is None:
            return {}  # nobody has ever committed anything
        coordinator = -1
        try:
            coordinator = self._broker.groups.place(group)[1].leader
            if coordinator in self._silent:
                return {}
            return await self._committed(coordinator, topic, group)
        except NotKnown as problem:
            self._silent.add(coordinator)
            told = str(problem) or "its coordinator does not answer"
            log.warning("%s: it is not known what is archived: %s", topic.name, told)
            return {}

    async def _committed(self, coordinator: int, topic: Topic, group: str) -> dict[int, int]:
        found: dict[int, int] = {}
        count = topic.record.partitions
        for first in range(0, count, PARTITIONS_A_REQUEST):
            indexes = range(first, min(first + PARTITIONS_A_REQUEST, count))
            told = await self._surveyor.committed(coordinator, topic.name, indexes, [group])
            found |= told.get(group, {})
        return found


def _tell_held(topic: str, kept: list[Kept]) -> None:
    index, hold, size_bytes = kept[0]
    log.warning(
        "%s: retention waits for the archive (partitions: %d): %s-%d is kept from offset %s on, "
        "and archived up to %d; it has %d bytes. See that `penstock pipeline archive %s` runs",
        topic,
        len(kept),
        topic,
        index,
        hold.held_from,
        max(hold.archived, 0),
        size_bytes,
        topic,
    )


def _tell_lost(topic: str, kept: list[Kept]) -> None:
    log.warning(
        "%s: %d offsets went before they were archived (partitions: %d), as the logs are larger "
        "than retention.hold.max.bytes; %s-%d is archived up to %d",
        topic,
        sum(each.hold.lost for each in kept),
        len(kept),
        topic,
        kept[0].partition,
        max(kept[0].hold.archived, 0),
    )
