"""Which partitions a share group has begun with.

A partition is given to members once its share is there: what becomes of its records has to be
stored somewhere. Until then it is *initializing*, and with its share's coordinator. What is
*deleting* goes the other way: the group has done with the topic, and its shares are on their way
out.

A topic that has partitions here already is known to the group. Those that it gets later begin at
their first record, wherever new topics begin: what was written before the group has heard of them
is not lost. So such partitions wait until others of their topic are initialized, and that is how
one tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from penstock.coordination.group.assignors import Assignment
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image

FORGOTTEN_MS = 600_000
"""A topic, or a partition, that is not known may be so new that we have yet to hear of it. After so
long it is gone."""
LEFT_TO_LEADER = -1
FIRST_RECORD = 0


class Part(NamedTuple):
    """Of one topic."""

    name: str
    partitions: frozenset[int]
    since_ms: int
    """When the last of them came to it."""


Parts = Mapping[bytes, Part]
"""By topic id."""


class Begun(Struct, frozen=True):
    initializing: Parts = {}
    initialized: Parts = {}
    deleting: Mapping[bytes, str] = {}
    """Names of topics by id: which partitions they have, and thus shares, is known elsewhere."""

    @property
    def is_blank(self) -> bool:
        return not (self.initializing or self.initialized or self.deleting)

    @property
    def has_work(self) -> bool:
        """Coordinators of shares have to be asked for something."""
        return bool(self.initializing or self.deleting)

    @property
    def assignable(self) -> Assignment:
        return {topic_id: part.partitions for topic_id, part in self.initialized.items()}

    def has(self, topic: str) -> bool:
        """Something of a topic of this name."""
        parts = (*self.initializing.values(), *self.initialized.values())
        return any(part.name == topic for part in parts)

    def to_initialize(self) -> Iterator[tuple[bytes, int, int]]:
        """Topic, partition, and where its share begins."""
        for topic_id, part in self.initializing.items():
            start = FIRST_RECORD if topic_id in self.initialized else LEFT_TO_LEADER
            for partition in sorted(part.partitions):
                yield topic_id, partition, start


def begin_with(begun: Begun, topics: Iterable[Topic], now_ms: int) -> Begun:
    """All partitions of these topics are to be initialized. Where something of a topic is under way
    already, the rest follows once that is done."""
    initializing = dict(begun.initializing)
    for topic in topics:
        if topic.id in begun.deleting or topic.id in initializing:
            continue
        missing = frozenset(range(topic.record.partitions)) - _partitions(begun, topic.id)
        if missing:
            initializing[topic.id] = Part(topic.name, missing, now_ms)
    return (
        begun if initializing == begun.initializing else replace(begun, initializing=initializing)
    )


def _partitions(begun: Begun, topic_id: bytes) -> frozenset[int]:
    part = begun.initialized.get(topic_id)
    return part.partitions if part is not None else frozenset()


def note_initialized(
    begun: Begun, done: Assignment, names: Mapping[bytes, str], now_ms: int
) -> Begun:
    """Their shares are there, whether they were waited for or somebody has set them up otherwise.
    `names`: of topics that are not known here yet."""
    initialized, initializing = dict(begun.initialized), dict(begun.initializing)
    for topic_id, partitions in done.items():
        known = initialized.get(topic_id) or initializing.get(topic_id)
        name = known.name if known is not None else names.get(topic_id)
        if name is None or topic_id in begun.deleting:
            continue
        whole = _partitions(begun, topic_id) | partitions
        initialized[topic_id] = Part(name, whole, now_ms)
        _take(initializing, topic_id, partitions)
    return replace(begun, initializing=initializing, initialized=initialized)


def _take(parts: dict[bytes, Part], topic_id: bytes, partitions: frozenset[int]) -> None:
    part = parts.pop(topic_id, None)
    if part is not None and part.partitions - partitions:
        parts[topic_id] = part._replace(partitions=part.partitions - partitions)


def delete_topics(begun: Begun, topic_ids: Iterable[bytes]) -> Begun:
    """The group has done with them: it may begin anew once their shares are gone."""
    initialized, initializing = dict(begun.initialized), dict(begun.initializing)
    deleting = dict(begun.deleting)
    for topic_id in topic_ids:
        parts = [each.pop(topic_id, None) for each in (initialized, initializing)]
        deleting.update((topic_id, part.name) for part in parts if part is not None)
    return Begun(initializing, initialized, deleting)


def note_deleted(begun: Begun, topic_ids: Iterable[bytes]) -> Begun:
    gone = frozenset(topic_ids)
    left = {each: name for each, name in begun.deleting.items() if each not in gone}
    return replace(begun, deleting=left)


def without_gone(begun: Begun, image: Image, now_ms: int) -> Begun:
    """Shares go with their topics, and the group need not see to that."""
    initialized = _there(begun.initialized, image, now_ms)
    initializing = _there(begun.initializing, image, now_ms)
    if (initialized, initializing) == (begun.initialized, begun.initializing):
        return begun
    return replace(begun, initialized=initialized, initializing=initializing)


def _there(parts: Parts, image: Image, now_ms: int) -> Parts:
    left: dict[bytes, Part] = {}
    for topic_id, part in parts.items():
        if topic_id in image.deleted:
            continue
        partitions = part.partitions
        if now_ms - part.since_ms >= FORGOTTEN_MS:
            topic = image.topic_by_id(topic_id)
            partitions &= frozenset(range(topic.record.partitions if topic else 0))
        if partitions:
            left[topic_id] = part._replace(partitions=partitions)
    return left
