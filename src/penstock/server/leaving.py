"""Logs of partitions that this broker holds no more.

One is removed once the partition's leader has all that was committed in it. A leader that has not
began without it: somebody gave this broker up, with its records (`broker drain --abandon`). Then
the log is set aside.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from penstock.api.broker import Place
from penstock.errors import ErrorCode, Malformed, Refused, Unusable
from penstock.log.partition_log import PartitionLog
from penstock.replication.handing_over import is_handed_over
from penstock.server.asking import Asking
from penstock.server.door import Door
from penstock.wire.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from penstock.world.ports import Network

log = logging.getLogger(__name__)

VERSION = 4
RETRY_MS = 1000


class Leaving:
    def __init__(self, network: Network, door: Door, remove_doomed: Callable[[], None]) -> None:
        self._broker = door.broker
        self._image = door.broker.image
        self._asking = Asking(network, door)
        self._remove_doomed = remove_doomed
        self._places: dict[Place, None] = {}
        self._silent: set[int] = set()
        """Brokers that did not answer, and are not asked again in the same round."""
        self._told: set[Place] = set()
        """Of these it was said that they have to wait."""
        self._task: asyncio.Task[None] | None = None

    def look_at(self, places: Iterable[Place]) -> None:
        """Partitions that others may hold from now on."""
        left = [place for place in places if self._broker.has_left(place)]
        self._places.update(dict.fromkeys(left))
        if left and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run(), name="logs that are left")

    async def stop(self) -> None:
        """What is left is found again at the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._asking.close()

    async def _run(self) -> None:
        while self._places:
            self._silent.clear()
            for place in list(self._places):
                await self._try(place)
            self._remove_doomed()
            if self._places:
                await asyncio.sleep(RETRY_MS / 1000)
        self._asking.close()

    async def _try(self, place: Place) -> None:
        try:
            await self._let_go(place)
        except (OSError, TimeoutError, Malformed, Refused) as problem:
            self._tell(place, problem)
        except Exception:
            log.exception("what is left here of a partition stays for now")
        else:
            del self._places[place]
            self._told.discard(place)

    def _tell(self, place: Place, problem: Exception) -> None:
        """Once of each."""
        topic = self._image.topic_by_id(place[0])
        if topic is not None and place not in self._told:
            text = "%s-%d is held by others now, and stays here until its leader can be asked: %s"
            log.info(text, topic.name, place[1], problem)
        self._told.add(place)

    async def _let_go(self, place: Place) -> None:
        """Whoever has come back meanwhile keeps its log."""
        if not self._broker.has_left(place):
            return
        if await self._is_handed_over(place):
            self._broker.delete_left(place)
        else:
            self._broker.set_aside_left(place)

    async def _is_handed_over(self, place: Place) -> bool:
        topic = self._image.topic_by_id(place[0])
        assert topic is not None
        left = self._broker.log_dir.logs[topic.name, place[1]]
        if left.topic_id != topic.log_id(place[1]):
            return True  # it is of a partition that was in this place before
        if not await self._is_readable(left):
            return False
        if left.start_offset == left.end_offset:
            return True
        record = self._image.partition(*place)
        epoch, end = await self._leaders_end(topic.name, place, left.latest_epoch)
        if self._image.partition(*place) != record:  # the log may be another since it was asked for
            raise ConnectionError("it has changed meanwhile")
        return is_handed_over(left, epoch, end)

    async def _is_readable(self, left: PartitionLog) -> bool:
        try:
            await self._broker.in_steps(left.open_steps())
        except (OSError, Unusable) as problem:
            log.error("%s cannot be read: %s", left.folder, problem)
            return False
        return True

    async def _leaders_end(self, topic: str, place: Place, epoch: int) -> tuple[int, int]:
        """Of an epoch, or of the largest one before it that the leader has."""
        record = self._image.partition(*place)
        if record is None or record.leader in self._silent or record.leader < 0:
            raise ConnectionError("its leader cannot be asked now")
        wanted = OffsetForLeaderPartition(place[1], record.leader_epoch, epoch)
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic, [wanted])])
        kind = OffsetForLeaderEpochResponse
        try:
            return await self._asking.ask(record.leader, request, VERSION, kind, _end_in)
        except (OSError, TimeoutError):
            self._silent.add(record.leader)
            raise


def _end_in(answer: OffsetForLeaderEpochResponse) -> tuple[int, int]:
    found = answer.topics[0].partitions[0]
    if found.error_code:
        code = ErrorCode(found.error_code)
        raise Refused(code, f"its leader says {code.name}")
    return found.leader_epoch, found.end_offset
