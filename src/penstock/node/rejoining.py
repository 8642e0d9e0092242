"""What a broker does before it registers: nobody counts on it before it has said what it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Protocol, TypeVar

from penstock.log.log_dir import LogDir
from penstock.metadata.changes import Commit
from penstock.metadata.cluster import Topic
from penstock.metadata.cluster_changes import join, refuse_restoring, refuse_taken, withdraw
from penstock.metadata.election import Place, resign
from penstock.metadata.image import Image
from penstock.metadata.returning import claim, unclaimed
from penstock.metadata.standing import refuse_replaced
from penstock.server.known_ends import known_end

log = logging.getLogger(__name__)

T = TypeVar("T")

LOGS_A_SLICE = 20


class Change(Protocol):
    def __call__(self, decide: Callable[[Image], Commit[T]]) -> Awaitable[T]: ...


class Rejoining:
    def __init__(self, image: Image, log_dir: LogDir, lost: Collection[Place]) -> None:
        """`lost`: partitions whose records were there, and are not at this start."""
        self._image = image
        self._log_dir = log_dir
        self._lost = lost
        self._node_id = log_dir.meta.node_id
        self._owner = log_dir.meta.directory_id.encode()

    async def run(self, change: Change) -> None:
        """It is in sync no more with partitions whose records it does not have for sure."""
        node_id, owner = self._node_id, self._owner
        await change(self._may_join)
        is_older, has_data = self._is_older(), self._has_data()
        if is_older:
            log.error("the data folder of broker %d is a copy that was made earlier", node_id)
            self._log_dir.was_clean = False  # offsets are used again, so in a new term
        await self._claim(change)

        def has_lost(topic: Topic, index: int) -> bool:
            if not has_data:
                return not self._has_only_copy(topic, index)
            return self._may_have_lost(topic, index, is_older=is_older)

        if self._holds_any(has_lost):
            if not has_data:
                log.warning("broker %d comes with another data folder than before", node_id)
            await change(lambda image: withdraw(image, node_id, owner))

        def resigned(image: Image) -> Commit[int]:
            refuse_taken(image, node_id, owner)
            refuse_replaced(image, node_id, owner)
            return resign(image, node_id, has_lost)

        while count := await change(resigned):
            log.warning("broker %d is not in sync with %d partitions any more", node_id, count)
        mark = self._raised_mark()  # from here on this folder is the one that it is known by
        await change(lambda image: join(image, node_id, owner, mark))

    def _holds_any(self, has_lost: Callable[[Topic, int], bool]) -> bool:
        """Whether it has lost records of a partition, be it in sync or not. A leader may be about
        to take it for in sync, by what it had under its registration of before (KIP-903)."""
        return any(
            record is not None and self._node_id in record.replicas and has_lost(topic, index)
            for topic in self._image.topics.values()
            for index, record in enumerate(topic.partitions)
        )

    def _may_join(self, image: Image) -> Commit[None]:
        refuse_restoring(image)
        refuse_taken(image, self._node_id, self._owner)
        refuse_replaced(image, self._node_id, self._owner)
        return Commit(answer=None)

    def _has_data(self) -> bool:
        """Whether it comes with the folder that it had; what it is known by stays as it was until
        the broker has resigned, or a start that ends on the way would be taken for that. A broker
        that is no member has nothing, whatever a partition says of it."""
        known = self._image.members.get(self._node_id)
        if known is None or known.record.is_gone:
            return False
        return known.record.owner == self._owner

    def _has_only_copy(self, topic: Topic, index: int) -> bool:
        """There is no other replica, and here is its log: nobody can have more."""
        record = topic.partition(index)
        is_only = record is not None and record.replicas == (self._node_id,)
        return is_only and (topic.name, index) in self._log_dir.logs

    def _is_older(self) -> bool:
        known = self._image.members.get(self._node_id)
        if known is None or known.record.owner != self._owner:
            return False
        return self._log_dir.mark < known.record.mark

    def _raised_mark(self) -> int:
        """In the folder first: one that is ahead of the store is no older copy. On a full disk it
        stays as it is, and the store is told that."""
        known = self._image.members.get(self._node_id)
        mark = 1 + max(self._log_dir.mark, known.record.mark if known else 0)
        try:
            self._log_dir.write_mark(mark)
        except OSError as problem:
            log.warning("the data folder's mark cannot be raised: %s", problem)
            return self._log_dir.mark
        return mark

    def _may_have_lost(self, topic: Topic, index: int, *, is_older: bool) -> bool:
        """Of records that were committed. There is no use in it where there is no other replica."""
        record, log_dir = topic.partition(index), self._log_dir
        if record is None or len(record.replicas) == 1:
            return False
        if is_older or (topic.id, index) in self._lost:
            return True
        known = log_dir.logs.get((topic.name, index))
        is_last = {*record.isr, *record.eligible} == {self._node_id}
        if known is not None and known.damage:  # others have what is damaged here
            return not is_last
        if not (log_dir.was_clean or self._was_synced(topic)):
            return not is_last  # else nobody could lead, and there is no more than is left here
        if known is not None and known.was_cut:  # what looks torn may be damaged, and acknowledged
            others = self._image.brokers.keys() - {self._node_id}
            return not others.isdisjoint(record.isr)
        return False

    def _was_synced(self, topic: Topic) -> bool:
        """By the setting of now, and by those that its records may have been written under."""
        if self._log_dir.unsynced_topics.may_have(topic.log_ids):
            return False
        return self._image.settings.of_topic(topic).flush_on_acks_all

    # -- after the store was put back from a backup

    async def _claim(self, change: Change) -> None:
        ends: dict[Place, tuple[int, int]] = {}
        for count, place in enumerate(unclaimed(self._image, self._node_id), 1):
            ends[place] = known_end(self._log_dir, self._image, *place)
            if count % LOGS_A_SLICE == 0:
                await asyncio.sleep(0)

        def claimed(image: Image) -> Commit[int]:
            refuse_taken(image, self._node_id, self._owner)
            return claim(image, self._node_id, lambda topic, index: ends[topic.id, index])

        while ends and (count := await change(claimed)):
            log.info("broker %d has said what it has of %d partitions", self._node_id, count)
