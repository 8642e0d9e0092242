"""What the handlers work on: one broker's state, and nothing that waits."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from penstock.api.coordinator import Coordinator
from penstock.api.fetch_sessions import FetchSessions
from penstock.config import BROKER_SETTINGS, BrokerConfig
from penstock.errors import ErrorCode, Refused, Unusable
from penstock.log.log_dir import LogDir
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Steps
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.replication.leader import Leader
from penstock.world.ports import Chance, Clock, Cold, Disk

lines = logging.getLogger(__name__)


InSteps = Callable[[Steps[Any]], Awaitable[Any]]
"""Carries out, off the handlers' path, what takes long; gives what it comes to."""


class Answered(NamedTuple):
    """An API that this broker answers, as ApiVersions lists it."""

    key: int
    min_version: int
    max_version: int


class Dropped(NamedTuple):
    """Files that no log needs any more, to be removed once nobody reads them."""

    paths: list[str]
    delay_ms: int


class Broker:
    def __init__(
        self,
        config: BrokerConfig,
        image: Image,
        log_dir: LogDir,
        disk: Disk,
        chance: Chance,
        clock: Clock,
        answered: Sequence[Answered] = (),
        *,
        in_steps: InSteps,
    ) -> None:
        self.config = self.started_with = config
        self.node_id = config.node_id
        self.image = image
        self.log_dir = log_dir
        self.disk = disk
        self.chance = chance
        self.answered = answered
        self.in_steps = in_steps
        self.fetch_sessions = FetchSessions(config.fetch_sessions, chance)
        self.groups = Coordinator(self, clock)
        self.disk_is_full = False
        self.configured: dict[str, str] = {}
        """What was set for this broker in file and command line, by name."""
        self._producer_ids: deque[int] = deque()
        """What is left of the blocks of producer ids that this broker took from the store."""
        self._by_name: dict[tuple[str, int], Leader] = {}
        self._by_id: dict[tuple[bytes, int], Leader] = {}
        self._dirty: dict[Leader, None] = {}
        self._dropped: list[Dropped] = []
        self._unreadable: set[str] = set()
        """Partitions whose logs could not be opened, so that it is said once."""

    @property
    def controller_id(self) -> int:
        """Who answers for changes of the cluster: anyone can, so the first of those alive."""
        return min(self.image.brokers, default=-1)

    # -- partitions

    def leader(self, topic: str, index: int) -> Leader:
        """The partition that a request names. Raises Refused if there is none here."""
        found = self._by_name.get((topic, index))
        if found is not None:
            return found
        record = self.image.topic(topic)
        if record is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic!r}")
        return self._open(record, index)

    def known_leader(self, topic: bytes, index: int, *, by_id: bool) -> Leader | None:
        """A partition that was used before, by its topic's id or the bytes of its name."""
        if by_id:
            return self._by_id.get((topic, index))
        try:
            return self._by_name.get((topic.decode(), index))
        except UnicodeDecodeError:
            return None

    def leader_by_id(self, topic_id: bytes, index: int) -> Leader:
        found = self._by_id.get((topic_id, index))
        if found is not None:
            return found
        record = self.image.topic_by_id(topic_id)
        if record is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {topic_id.hex()}")
        return self._open(record, index)

    def _open(self, topic: Topic, index: int) -> Leader:
        partition = self.image.partition(topic.id, index)
        if partition is None:
            raise Refused(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{topic.name} has {topic.record.partitions} partitions, so there is no {index}",
            )
        if partition.leader != self.node_id:
            raise Refused(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"broker {partition.leader} leads {topic.name}-{index}",
            )
        log = self._open_log(topic, index)
        in_sync = frozenset(partition.isr)
        leader = Leader(self.node_id, topic.name, index, partition.leader_epoch, in_sync, log)
        self._by_name[topic.name, index] = self._by_id[topic.id, index] = leader
        if log.synced_end < log.end_offset:  # it was recovered just now: it counts once synced
            self.appended(leader)
        return leader

    def _open_log(self, topic: Topic, index: int) -> PartitionLog:
        """One log that cannot be read takes nothing else down with it."""
        name = f"{topic.name}-{index}"
        try:
            log = self.log_dir.log_for(topic.name, index, topic.id, self.image.config(topic))
            log.open()
        except (OSError, Unusable) as problem:
            if name not in self._unreadable:
                self._unreadable.add(name)
                lines.error("%s cannot be read: %s", name, problem)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{name} cannot be read") from problem
        for damage in log.damage:
            lines.error("%s is damaged: %s; reads of it are refused", name, damage)
        return log

    def open_leaders(self) -> list[Leader]:
        """Partitions that have been used since the start; the others have nothing to look after."""
        return list(self._by_id.values())

    def leaders_with_data(self) -> Iterator[Leader]:
        """Every partition that has ever been written to, whether it was used since the start."""
        for topic, index in list(self.log_dir.logs):
            with suppress(Refused):  # deleted meanwhile, or not to be read
                yield self.leader(topic, index)

    def remove_topic(self, topic: Topic) -> None:
        """It was deleted: nobody gets at its partitions any more, and who waits is told."""
        for index in range(topic.record.partitions):
            leader = self._by_id.pop((topic.id, index), None)
            if leader is not None:
                del self._by_name[topic.name, index]
                self._dirty.pop(leader, None)
                leader.delete()

    def follow_partition(self, topic_id: bytes, index: int) -> None:
        """Its record was changed. A leader with an epoch of old would refuse who knows the new one:
        clients can come before a broker that starts after a crash has given itself new epochs."""
        leader = self._by_id.get((topic_id, index))
        record = self.image.partition(topic_id, index)
        if leader is not None and record is not None and record.leader == self.node_id:
            leader.epoch = record.leader_epoch
            leader.in_sync = frozenset(record.isr)

    def reconfigure_all(self) -> None:
        """Settings of brokers were changed: those that may change at run time, and all defaults."""
        changed = {}
        for layer in self.image.config_layers()[1:]:
            for name, text in layer.items():
                setting = BROKER_SETTINGS.get(name)
                if setting is not None and setting.dynamic:
                    changed[setting.attribute] = setting.parse(text)
        self.config = replace(self.started_with, **changed)
        for topic in self.image.topics.values():
            self.reconfigure(topic)

    def reconfigure(self, topic: Topic) -> None:
        """Its settings were changed: what is open works by the new ones from here on."""
        config = self.image.config(topic)
        for index in range(topic.record.partitions):
            leader = self._by_id.get((topic.id, index))
            if leader is not None:
                leader.log.config = config

    def advance_start(self, leader: Leader, offset: int) -> None:
        """Records below an offset are gone, and so are the segments that hold nothing else."""
        log = leader.log
        if paths := log.advance_start(offset):
            self._dropped.append(Dropped(paths, log.config.file_delete_delay_ms))

    def take_dropped(self) -> list[Dropped]:
        dropped, self._dropped = self._dropped, []
        return dropped

    def warm(self, cold: Cold) -> Awaitable[None]:
        """Bring bytes that a read would have waited for into the page cache."""
        return self.disk.warm(cold.file, cold.position, cold.length)

    # -- appends of one pass

    def appended(self, leader: Leader) -> None:
        """Its log has something that is to be written out at the end of the pass."""
        self._dirty[leader] = None

    def take_dirty(self) -> dict[Leader, None]:
        if not self._dirty:
            return self._dirty
        dirty, self._dirty = self._dirty, {}
        return dirty

    def take_producer_id(self) -> int | None:
        """None: a new block is needed."""
        return self._producer_ids.popleft() if self._producer_ids else None

    def add_producer_ids(self, first: int, count: int) -> None:
        self._producer_ids.extend(range(first, first + count))

    def check_room(self) -> None:
        if self.disk_is_full:
            raise Refused(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"the disk of {self.config.data_dir} is full, but for a reserve and disk.free.min."
                f"bytes={self.config.disk_free_min_bytes}; free some space or lower retention",
            )
