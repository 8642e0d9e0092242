"""The controller's work on topics that are to have fewer partitions.

All that a round needs to know is in the topic's record and in what brokers answer, so another
controller goes on where this one was.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from penstock.api.broker import Broker
from penstock.errors import Malformed, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.keeper import Keeper
from penstock.metadata.records import Closing
from penstock.metadata.reducing import close, cut_over, drop_sealed, is_closed, reopen
from penstock.metadata.store import Unavailable
from penstock.server.asking import Asking
from penstock.server.door import Door
from penstock.server.surveying import Survey, Surveyor
from penstock.world.ports import Network

log = logging.getLogger(__name__)

T = TypeVar("T")

ROUND_MS = 1000
CLOSED_ROUND_MS = 100
"""While something is closed, and clients wait."""
SPAN_MS_MIN = 4 * ROUND_MS
"""For which what was seen of partitions counts."""
PAUSES_BETWEEN = 6
"""After partitions were closed in vain they are open for so many times as long."""
SURVEY_MS_MIN = 500
"""For the last look before partitions that were closed are opened again."""
GROUPS_TOLD = 5

NotKnown = (OSError, TimeoutError, Malformed, Refused, Unavailable)
"""Why a round comes to nothing: the next one tries again."""


class Marks(NamedTuple):
    """Where partitions ended, and when that was seen."""

    seen_ms: float
    ends: Mapping[int, int]


class Reducing:
    def __init__(
        self, network: Network, door: Door, keeper: Keeper, is_controller: Callable[[], bool]
    ) -> None:
        self._broker: Broker = door.broker
        self._image: Image = keeper.image
        self._keeper = keeper
        self._clock = door.clock
        self._is_controller = is_controller
        self._asking = Asking(network, door)
        self._surveyor = Surveyor(keeper.image, self._asking, lambda: self._broker.share_states)
        self._marks: dict[bytes, Marks] = {}
        """Where closing partitions ended a while ago, by topic."""
        self._turns: dict[bytes, int] = {}
        """When each topic was last looked at, in counted looks."""
        self._round = 0
        self._looked_ms = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="fewer partitions")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._asking.close()

    async def _run(self) -> None:
        while True:
            pause_ms = CLOSED_ROUND_MS if self._is_anything_closed() else ROUND_MS
            await asyncio.sleep(pause_ms / 1000)
            try:
                await self.work()
            except Exception:
                log.exception("topics could not be given fewer partitions, which is tried again")

    def _is_anything_closed(self) -> bool:
        records = (topic.record.closing for topic in self._closing())
        return any(closing is not None and closing.closed_ms for closing in records)

    def _closing(self) -> list[Topic]:
        return [each for each in self._image.topics.values() if each.record.closing is not None]

    async def work(self) -> None:
        """One round, if this broker is the controller."""
        if not self._is_controller():
            self._marks.clear()
            self._asking.close()
            return
        for topic in self._closing():
            closing = topic.record.closing
            if closing is not None and closing.closed_ms:
                await self._finish(topic, closing)
        await self._begin_some()
        due_ms = self._looked_ms + self._broker.config.retention_check_interval_ms
        if self._clock.monotonic_ms() >= due_ms:
            self._looked_ms = self._clock.monotonic_ms()
            await self._drop_empty()

    # -- open

    async def _begin_some(self) -> None:
        """In turn, those first that were not looked at for longest; but while something is closed,
        clients wait, and that comes first."""
        topics = sorted(self._closing(), key=lambda topic: self._turns.get(topic.id, 0))
        self._turns = {topic.id: self._turns.get(topic.id, 0) for topic in topics}
        for topic in topics:
            closing = topic.record.closing
            if self._is_anything_closed():
                return
            if closing is not None:
                self._round += 1
                self._turns[topic.id] = self._round
                await self._begin(topic, closing)

    async def _begin(self, topic: Topic, closing: Closing) -> None:
        """Close the partitions, if it looks as if they could go at once."""
        if not self._is_due(topic, closing):
            return
        try:
            survey = await self._survey(topic)
        except NotKnown as problem:
            log.info("%s: its partitions go later: %s", topic.name, problem)
            return
        if self._is_near_the_end(topic, survey):
            await self._close(topic)

    def _is_due(self, topic: Topic, closing: Closing) -> bool:
        config, now_ms = self._image.settings.of_topic(topic), self._clock.now_ms()
        tried_ms = closing.reopened_ms
        if tried_ms and now_ms < tried_ms + PAUSES_BETWEEN * config.partitions_close_max_pause_ms:
            return False
        if config.partitions_close_when == "drained":
            return True
        return 0 <= config.retention_ms <= now_ms - closing.since_ms

    def _is_near_the_end(self, topic: Topic, survey: Survey) -> bool:
        """Whether groups can be expected at the end within the pause: they are there now, or have
        read all that there was half a pause ago. Others may go on writing, and groups commit only
        now and then."""
        config, now_ms = self._image.settings.of_topic(topic), self._clock.monotonic_ms()
        with_idle = config.partitions_close_when == "drained"
        if not survey.behind(survey.marks(), with_idle=with_idle):
            return True
        before = self._marks.get(topic.id)
        span_ms = max(config.partitions_close_max_pause_ms, SPAN_MS_MIN)
        if before is None or now_ms - before.seen_ms > span_ms:
            self._marks[topic.id] = Marks(now_ms, survey.marks())
            return False
        is_old = now_ms - before.seen_ms >= span_ms / 2
        return is_old and not survey.behind(before.ends, with_idle=with_idle)

    async def _close(self, topic: Topic) -> None:
        topic_id, nonce, now_ms = topic.id, self._broker.chance.uuid(), self._clock.now_ms()
        self._marks.pop(topic_id, None)
        if await self._change(lambda image: close(image, topic_id, nonce=nonce, now_ms=now_ms)):
            log.info("%s: %d partitions are not written to", topic.name, len(topic.closed_range))

    # -- closed

    async def _finish(self, topic: Topic, closing: Closing) -> None:
        """Cut over, if all is read; or give up, if that takes too long."""
        config = self._image.settings.of_topic(topic)
        until_ms = closing.closed_ms + config.partitions_close_max_pause_ms
        problem = "not all of its leaders know that they are closed"
        if is_closed(topic):
            try:
                left_ms = max(until_ms - self._clock.now_ms(), SURVEY_MS_MIN)
                async with asyncio.timeout(left_ms / 1000):
                    survey = await self._survey(topic)
            except NotKnown as unknown:
                problem = f"not everything is known: {str(unknown) or 'a broker does not answer'}"
            else:
                problem = self._obstacle(topic, survey)
                if not problem:
                    await self._cut_over(topic)
                    return
        if self._clock.now_ms() >= until_ms:
            await self._reopen(topic, problem)

    def _obstacle(self, topic: Topic, survey: Survey) -> str:
        """Empty if there is none."""
        if not survey.is_settled():
            return "not all that was written to them is committed"
        is_drained = self._image.settings.of_topic(topic).partitions_close_when == "drained"
        behind = survey.behind(survey.marks(), with_idle=is_drained)
        told = [f"group {name} has {lag} messages to read" for name, lag in behind.items()]
        more = [f"{len(told) - GROUPS_TOLD} more groups too"] if len(told) > GROUPS_TOLD else []
        return ", ".join([*told[:GROUPS_TOLD], *more])

    async def _cut_over(self, topic: Topic) -> None:
        topic_id, now_ms = topic.id, self._clock.now_ms()
        shown_id, sealed_id = self._broker.chance.uuid(), self._broker.chance.uuid()
        sealed = await self._change(
            lambda image: cut_over(
                image, topic_id, shown_id=shown_id, sealed_id=sealed_id, now_ms=now_ms
            )
        )
        if sealed:
            left = topic.record.partitions
            log.info("%s has %d partitions now; the others are %s", topic.name, left, sealed)

    async def _reopen(self, topic: Topic, reason: str) -> None:
        topic_id, nonce, now_ms = topic.id, self._broker.chance.uuid(), self._clock.now_ms()
        if await self._change(
            lambda image: reopen(image, topic_id, nonce=nonce, now_ms=now_ms, reason=reason)
        ):
            log.warning("%s keeps its partitions for now: %s", topic.name, reason)

    # -- sealed

    async def _drop_empty(self) -> None:
        sealed = [each for each in self._image.topics.values() if each.record.sealed is not None]
        for topic in sealed:
            try:
                ends = await self._surveyor.ends(topic, range(topic.record.partitions))
            except NotKnown as problem:
                log.info("%s is looked at later: %s", topic.name, problem)
                continue
            if Survey(ends, {}).is_empty():
                topic_id, nonce = topic.id, self._broker.chance.uuid()
                await self._change(lambda image: drop_sealed(image, topic_id, nonce=nonce))  # noqa: B023
                log.info("%s has nothing in it any more, and is deleted", topic.name)

    # -- asking

    async def _survey(self, topic: Topic) -> Survey:
        return await self._surveyor.survey(topic, topic.closed_range)

    async def _change(self, decide: Callable[[Image], Commit[T]]) -> T | None:
        try:
            return await self._keeper.change(decide)
        except (Refused, Unavailable) as problem:
            log.warning("fewer partitions are tried again: %s", problem)
            return None
