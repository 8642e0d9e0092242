"""What the handlers work on: one broker's state, and nothing that waits."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from penstock.api.awaited_markers import AwaitedMarkers
from penstock.api.coordinator import Coordinator
from penstock.api.fetch_sessions import FetchSessions
from penstock.api.once_over import Endings
from penstock.api.opening import Opening
from penstock.api.schedules import Schedules
from penstock.api.sharing import admin as share_admin
from penstock.api.sharing.admin import ShareAdmin
from penstock.api.sharing.shared import SharedPartitions
from penstock.api.sharing.states import NobodyToAsk, ShareStates
from penstock.api.sieves import Sieves
from penstock.api.speaking import AllSpeakers
from penstock.api.verifying import Verify, nobody_to_ask
from penstock.config import BROKER_SETTINGS, BrokerConfig
from penstock.coordination.group.kind import GROUPS
from penstock.coordination.share.kind import SHARE
from penstock.coordination.transaction.kind import TRANSACTION
from penstock.errors import ErrorCode, Refused
from penstock.log.log_dir import LogDir
from penstock.log.steps import Steps
from penstock.metadata.cluster import Topic
from penstock.metadata.election import leader_is_new
from penstock.metadata.image import Image
from penstock.metadata.records import PartitionRecord
from penstock.metadata.views import View, is_view
from penstock.replication.follower import Follower
from penstock.replication.leader import Leader
from penstock.replication.replica import Replica
from penstock.world.ports import Chance, Clock, Cold, Disk

lines = logging.getLogger(__name__)

Place = tuple[bytes, int]
"""A partition, by its topic's id and its index."""
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
        self.monotonic_ms = clock.monotonic_ms
        self.opening = Opening(log_dir, image, clock.monotonic_ms)
        self.groups = Coordinator(self, clock, GROUPS)
        self.transactions = Coordinator(self, clock, TRANSACTION)
        self.shares = Coordinator(self, clock, SHARE)
        self.speakers = AllSpeakers()
        self.shared = SharedPartitions(self, config.share_sessions)
        self.sieves = Sieves()
        self.schedules = Schedules()
        self.endings = Endings()
        self.verify: Verify = nobody_to_ask
        """Asks a transaction's coordinator for partitions."""
        self.share_states: ShareStates = NobodyToAsk()
        """Asks the coordinators of shares."""
        self.share_admin: ShareAdmin = share_admin.NobodyToAsk()
        self.markers_from: dict[int, int] = {}
        """By broker, the newest connection over which it has sent markers."""
        self.awaited_markers = AwaitedMarkers()
        self.disk_is_full = False
        self.has_lease: Callable[[], bool] = lambda: True
        """Whether the store has confirmed lately that this broker is registered."""
        self.is_registered = True
        """Whether this process has been: before that it leads nothing."""
        self._producer_ids: deque[int] = deque()
        """What is left of the blocks of producer ids that this broker took from the store."""
        self._by_name: dict[tuple[str, int], Leader] = {}
        self._by_id: dict[tuple[bytes, int], Leader] = {}
        self._followers: dict[Place, Follower] = {}
        self._dirty: dict[Replica, None] = {}
        self.changing: dict[Leader, None] = {}
        """Leaders whose in-sync replicas are to be others."""
        self.on_caught_up: Callable[[], None] = lambda: None
        self._moved: dict[Leader, None] = {}
        self._dropped: list[Dropped] = []

    @property
    def controller_id(self) -> int:
        """Who answers for changes of the cluster, as clients want it: anyone can."""
        return self.image.controller_id

    @property
    def epoch(self) -> int:
        """Of this broker's registration; -1 while there is none."""
        registered = self.image.brokers.get(self.node_id)
        return registered.epoch if registered else -1

    # -- partitions

    def leader(self, topic: str, index: int) -> Leader:
        """The partition that a request names. Raises Refused if there is none here."""
        found = self._by_name.get((topic, index))
        if found is not None:
            return found
        record = self.image.topic(topic)
        if record is None:
            raise self._no_topic(topic)
        return self._open(record, index)

    def _no_topic(self, name: str) -> Refused:
        view = self.image.readable.topic(name)
        if isinstance(view, View):
            return is_view(view)
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")

    def read_leader(self, topic: str, index: int) -> Leader:
        """The same for who reads: of a view, the partition that it shows a part of."""
        found = self._by_name.get((topic, index))
        if found is not None:
            return found
        view = self.image.readable.topic(topic)
        return self.leader(view.source.name if isinstance(view, View) else topic, index)

    def known_leader(self, topic: bytes, index: int, *, by_id: bool) -> Leader | None:
        """A partition that was used before, by the id that its topic is shown under or the bytes of
        its name."""
        if by_id:
            shown = self.image.shown.topic(topic)
            return self._by_id.get((shown.id, index)) if shown else None
        try:
            return self._by_name.get((topic.decode(), index))
        except UnicodeDecodeError:
            return None

    def shown_leader(self, shown_id: bytes, index: int) -> Leader:
        """The same by the id that clients know the topic by."""
        topic = self.shown_topic(shown_id)
        if isinstance(topic, View):
            raise is_view(topic)
        return self.leader_by_id(topic.id, index)

    def read_shown_leader(self, shown_id: bytes, index: int) -> Leader:
        """For who reads."""
        topic = self.shown_topic(shown_id)
        return self.leader_by_id(topic.source.id if isinstance(topic, View) else topic.id, index)

    def shown_topic(self, shown_id: bytes) -> Topic:
        topic = self.image.shown.topic(shown_id)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {shown_id.hex()}")
        return topic

    def leader_by_id(self, topic_id: bytes, index: int) -> Leader:
        """By the id that brokers know the topic by."""
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
        self._refuse_old_term(topic, index, partition)
        log = self.opening.log(topic, index, partition.leader_epoch)
        leader = Leader(
            self.node_id,
            topic.name,
            index,
            partition,
            log,
            self.monotonic_ms(),
            topic_id=topic.id,
        )
        leader.writing.heed(topic, index)
        self._by_name[topic.name, index] = self._by_id[topic.id, index] = leader
        if log.synced_end < log.end_offset:  # it was recovered just now: it counts once synced
            self.appended(leader)
        return leader

    def _refuse_old_term(self, topic: Topic, index: int, record: PartitionRecord) -> None:
        """After a crash the log may have lost its end, which followers may have: what is appended
        must be of another term then, or nobody could tell the two apart. And who is not registered
        has not said yet what it has lost."""
        if not self.is_registered or leader_is_new(self.image, topic, index, record):
            raise Refused(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"broker {self.node_id} has just been started, and waits for its term to begin",
            )

    def open_leader(self, topic_id: bytes, index: int) -> Leader | None:
        """A partition that has been used since the start, if it is led here."""
        return self._by_id.get((topic_id, index))

    def open_leaders(self) -> list[Leader]:
        """Partitions that have been used since the start; the others have nothing to look after."""
        return list(self._by_id.values())

    def open_replicas(self) -> list[Replica]:
        return [*self._by_id.values(), *self._followers.values()]

    def replicas_with_data(self) -> Iterator[Replica]:
        """Every partition that has ever been written to, whether it was used since the start."""
        for name, index in list(self.log_dir.logs):
            topic = self.image.topic(name)
            if topic is not None:
                with suppress(Refused):  # not to be read, or nobody leads it
                    yield self.replica(topic, index)

    def replica(self, topic: Topic, index: int) -> Replica:
        place = topic.id, index
        return self.follower(place) if self.is_follower(place) else self.leader_by_id(*place)

    def remove_topic(self, topic: Topic) -> None:
        """It was deleted: nobody gets at its partitions any more, and who waits is told."""
        for index in range(topic.record.partitions):
            self.drop_partition((topic.id, index))

    def follow_partition(self, topic_id: bytes, index: int) -> None:
        """Its record was changed: this broker leads it, or follows, or has no part in it."""
        place = topic_id, index
        topic, record = self.image.topic_by_id(topic_id), self.image.partition(topic_id, index)
        if topic is None or record is None:
            return
        self._end_another(topic, index)
        if record.leader != self.node_id:
            self._stop_leading(place, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        leader = self._by_id.get(place)
        if leader is not None and self._lead_on(leader, record):
            self.moved(leader)
        follower = self._followers.get(place)
        if follower is not None and not self._may_follow_on(follower, place, record):
            self._stop_following(place)

    def _may_follow_on(self, follower: Follower, place: Place, record: PartitionRecord) -> bool:
        """What is damaged is followed anew, and copied again, once nobody counts on it."""
        if follower.log.damage and self.node_id not in record.isr:
            return False
        return self.is_follower(place) and follower.epoch == record.leader_epoch

    def _end_another(self, topic: Topic, index: int) -> None:
        """What is open may be of a partition that is there no more, and whose place another has."""
        place, log_id = (topic.id, index), topic.log_id(index)
        known = self._by_id.get(place) or self._followers.get(place)
        if known is not None and known.log.topic_id != log_id:
            self.drop_partition(place)

    def drop_partition(self, place: Place) -> None:
        """Its topic has it no more: nobody gets at it, and who waits is told."""
        self._stop_leading(place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self._stop_following(place)

    def _lead_on(self, leader: Leader, record: PartitionRecord) -> bool:
        is_same_term = leader.epoch == record.leader_epoch
        go_on = leader.follow if is_same_term else leader.begin_term
        has_moved = go_on(record, self.monotonic_ms())
        if leader.log.begun is not None:
            self.appended(leader)
        return has_moved

    def _stop_leading(self, place: Place, reason: ErrorCode) -> None:
        leader = self._by_id.pop(place, None)
        if leader is not None:
            del self._by_name[leader.topic, leader.index]
            self._dirty.pop(leader, None)
            self.changing.pop(leader, None)
            leader.end(reason)

    # -- partitions that others lead

    def is_follower(self, place: Place) -> bool:
        """Whether this broker has a replica of a partition that somebody else leads."""
        record = self.image.partition(*place)
        return (
            record is not None
            and self.node_id in record.replicas
            and record.leader not in (self.node_id, -1)
        )

    def follower(self, place: Place) -> Follower:
        """Raises Refused if the partition is not followed here, or cannot be."""
        found = self._followers.get(place)
        if found is not None:
            return found
        topic, record = self.image.topic_by_id(place[0]), self.image.partition(*place)
        if topic is None or record is None or not self.is_follower(place):
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, "there is nothing to follow here")
        log = self.opening.log(topic, place[1])
        if log.damage and self.node_id not in record.isr:
            first = min(stretch.first_offset for stretch in log.damage)
            lines.warning("%s-%d is copied again from %d on", topic.name, place[1], first)
            log.truncate_to(first)
        follower = Follower(
            topic.name, place[1], record.leader, record.leader_epoch, log, topic_id=topic.id
        )
        self._followers[place] = follower
        return follower

    def _stop_following(self, place: Place) -> None:
        follower = self._followers.pop(place, None)
        if follower is not None:
            self._dirty.pop(follower, None)
            follower.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def has_left(self, place: Place) -> bool:
        """Whether this broker has the log of a partition that others hold now, for all it knows."""
        topic, record = self.image.topic_by_id(place[0]), self.image.partition(*place)
        if topic is None or record is None or self.node_id in record.replicas:
            return False
        return (topic.name, place[1]) in self.log_dir.logs

    def delete_left(self, place: Place) -> None:
        topic = self.image.topic_by_id(place[0])
        if topic is not None and self.has_left(place):
            lines.info("%s-%d is held by others now, and is deleted here", topic.name, place[1])
            self.log_dir.delete_log(topic.name, place[1], *topic.log_ids)

    def set_aside_left(self, place: Place) -> None:
        """Those who hold the partition now have never got what is here."""
        topic = self.image.topic_by_id(place[0])
        if topic is not None and self.has_left(place):
            folder = self.log_dir.set_aside_log(topic.name, place[1], *topic.log_ids)
            text = "%s-%d is held by others now, which lack records that are here: see %s"
            lines.error(text, topic.name, place[1], folder)

    def caught_up(self, leader: Leader) -> None:
        """Its in-sync replicas are to be looked at."""
        self.changing[leader] = None
        self.on_caught_up()

    def reconfigure_all(self) -> None:
        """Settings of brokers were changed: those that may change at run time, and all defaults."""
        changed = {}
        for layer in self.image.settings.layers()[1:]:
            for name, text in layer.items():
                setting = BROKER_SETTINGS.get(name)
                if setting is not None and setting.dynamic:
                    changed[setting.attribute] = setting.parse(text)
        self.config = replace(self.started_with, **changed)
        for topic in self.image.topics.values():
            self.reconfigure(topic)

    def reconfigure(self, topic: Topic) -> None:
        """Its settings were changed: what is open works by the new ones from here on."""
        config = self.image.settings.of_topic(topic)
        for index in range(topic.record.partitions):
            place = topic.id, index
            leader = self._by_id.get(place)
            replica = leader or self._followers.get(place)
            if replica is not None:
                replica.log.config = config
            if leader is not None:
                leader.writing.heed(topic, index)

    def delete_to(self, replica: Replica, offset: int) -> None:
        """Records below an offset are to go. That it was an order is noted: whoever has copies of
        what retention drops is not to give out these."""
        log = replica.log
        if offset > log.start_offset:
            log.deleted_to = offset
        self.advance_start(replica, offset)

    def advance_start(self, replica: Replica, offset: int) -> None:
        """Records below an offset are gone, and so are the segments that hold nothing else."""
        log = replica.log
        if paths := log.advance_start(offset):
            self._dropped.append(Dropped(paths, log.config.file_delete_delay_ms))
        replica.grown.fire()  # followers are to do the same

    def take_dropped(self) -> list[Dropped]:
        dropped, self._dropped = self._dropped, []
        return dropped

    def warm(self, cold: Cold) -> Awaitable[None]:
        """Bring bytes that a read would have waited for into the page cache."""
        return self.disk.warm(cold.file, cold.position, cold.length)

    # -- appends of one pass

    def appended(self, replica: Replica) -> None:
        """Its log has something that is to be written out at the end of the pass."""
        self._dirty[replica] = None

    def take_dirty(self) -> dict[Replica, None]:
        if not self._dirty:
            return self._dirty
        dirty, self._dirty = self._dirty, {}
        return dirty

    def moved(self, leader: Leader) -> None:
        """Its high watermark, by what a follower has asked for."""
        self._moved[leader] = None

    def take_moved(self) -> list[Leader]:
        moved = list(self._moved)
        self._moved.clear()
        return moved

    @property
    def has_producer_id(self) -> bool:
        """Otherwise a new block is needed."""
        return bool(self._producer_ids)

    def take_producer_id(self) -> int:
        return self._producer_ids.popleft()

    def add_producer_ids(self, first: int, count: int) -> None:
        self._producer_ids.extend(range(first, first + count))

    def check_lease(self, leader: Leader, *, by_all: bool) -> None:
        """Refuse what this broker alone would answer for, when it may be the leader no more.

        With acks=all that is so where nobody else is in sync. In-sync replicas that know another
        leader confirm nothing, and so need no such check. With one replica, too, another broker may
        lead by now: somebody may have given this one up.
        """
        if not (self.has_lease() or (by_all and leader.has_others_in_sync)):
            raise Refused(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                "the metadata store has not confirmed this broker's lease in time",
            )

    def check_room(self) -> None:
        if self.disk_is_full:
            raise Refused(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"the disk of {self.config.data_dir} is full, but for a reserve and disk.free.min."
                f"bytes={self.config.disk_free_min_bytes}; free some space or lower retention",
            )
