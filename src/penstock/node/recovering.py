"""At a start: the logs are brought into order, and what belongs to no partition is moved aside."""

from __future__ import annotations

import asyncio
import logging

from penstock.api.sealing import take_over_logs
from penstock.errors import Unusable
from penstock.log.log_dir import LogDir
from penstock.metadata.cluster import Topic
from penstock.metadata.election import Place
from penstock.metadata.image import Image
from penstock.world.ports import Disk

log = logging.getLogger(__name__)


class Recovering:
    def __init__(self, image: Image, log_dir: LogDir, disk: Disk) -> None:
        self._image = image
        self._log_dir = log_dir
        self._disk = disk
        self._node_id = log_dir.meta.node_id
        self.lost: set[Place] = set()
        """Partitions whose records were there, and are not at this start."""

    async def run(self) -> None:
        log_dir, image = self._log_dir, self._image
        log_dir.folders.deleted = image.deleted.keys()
        log_dir.folders.doom_deleted()
        for topic in image.topics.values():
            take_over_logs(log_dir, topic)
        for topic in image.topics.values():
            for index in range(topic.record.partitions):
                if log_dir.is_missing(topic.name, index, topic.log_id(index)):
                    self._take_missing(topic, index)
                elif log_dir.has_folder(topic.name, index) and self._is_held(topic, index):
                    self._claim(topic, index)
        for problem in log_dir.problems:
            log.error("%s; the logs are looked through instead", problem)
        self._set_aside_strays()
        for _ in log_dir.recover_all():
            await asyncio.sleep(0)
        for (name, index), reason in log_dir.unrecoverable.items():
            log.error("%s-%d is left out until the next start: %s", name, index, reason)
        await self._sync_recovered()
        for each in log_dir.logs.values():
            for damage in each.damage:
                log.error("%s is damaged: %s; reads of it are refused", each.folder, damage)

    def _set_aside_strays(self) -> None:
        """None is deleted but of topics that were, for all the store says: it may have lost others.
        An SQLite file without its log, or with a part of it, is a store as it was some time ago,
        and says nothing of that."""
        strays = self._log_dir.set_aside_unclaimed()
        for folder in strays:
            log.error("%s: the metadata store knows no such partition, so it was set aside", folder)
        if strays:
            text = (
                "%d folders were set aside, and stay: if their topics were not deleted, the store "
            )
            text += "has lost them. Stop the broker, put the store back from a backup, give the "
            text += "folders their names back, start again (docs/ARCHITECTURE.md, Strays)"
            log.error(text, len(strays))

    def _take_missing(self, topic: Topic, index: int) -> None:
        """The folder of a partition is gone. What others have is copied again, from its beginning;
        where there are no others its offsets are not used again."""
        record, node_id = topic.partition(index), self._node_id
        self._claim(topic, index)
        if record is not None and record.replicas != (node_id,):
            self._log_dir.delete_log(topic.name, index, *topic.log_ids)
            self.lost.add((topic.id, index))
        if record is None or node_id in record.replicas:
            log.error("the folder of %s-%d is gone, with its records", topic.name, index)

    def _is_held(self, topic: Topic, index: int) -> bool:
        """At the first start after the store was put back, what it says that others hold is set
        aside and not deleted: it may have been moved here since the backup was made."""
        known, record = self._image.members.get(self._node_id), topic.partition(index)
        if record is None or (known is not None and not known.record.is_restored):
            return True
        return self._node_id in record.replicas

    def _claim(self, topic: Topic, index: int) -> None:
        try:
            log_id, config = topic.log_id(index), self._image.settings.of_topic(topic)
            claimed = self._log_dir.log_for(topic.name, index, log_id, config)
            record = topic.partition(index)
            if record is not None:
                claimed.epoch_reached = record.leader_epoch
        except (OSError, Unusable) as problem:
            log.error("%s-%d is left out: %s", topic.name, index, problem)

    async def _sync_recovered(self) -> None:
        """What a crash left in the page cache counts once it is on disk, like anything else."""
        tokens = [
            (each, each.begin_sync())
            for each in self._log_dir.logs.values()
            if each.is_open and each.synced_end < each.end_offset
        ]
        files = [file for _, token in tokens for file in token.files]
        folders = [folder for _, token in tokens for folder in token.folders]
        await self._disk.sync_all(files, folders)
        for each, token in tokens:
            each.end_sync(token)

    def note(self) -> None:
        """So that the next start need not look at it again; and a new folder has checkpoints from
        the beginning, so that if there are none they were lost. Only once nobody counts on what is
        missing here any more: it is missing by the checkpoints of before."""
        if not self._log_dir.was_clean:
            try:
                self._log_dir.checkpoint()
            except OSError as problem:
                log.warning("no checkpoint could be written at the start: %s", problem)
