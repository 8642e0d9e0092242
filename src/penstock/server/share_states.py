"""Asks the coordinators of shares (`api/sharing/states.py`): this broker itself, or others.

Others are asked over a few connections each. All of a group go over the same one, in their order;
what comes while a question is under way goes with the next. A question that nobody waits for any
more is not sent, so that what was given up does not come after what was said since.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from penstock.api.coordinator import hash_of
from penstock.coordination.share.deciding import NOT_BEGUN, Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import State, Summary
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.metadata.internal_topics import SHARES, create_internal_topic
from penstock.server.asking import Asking
from penstock.server.door import Door
from penstock.server.lines import Lines
from penstock.server.own_shares import OwnShares
from penstock.server.share_questions import (
    Form,
    Question,
    answers_in,
    deleting,
    initializing,
    reading,
    request_of,
    summing_up,
    writing,
)
from penstock.world.ports import Network

log = logging.getLogger(__name__)

LANES = 4
"""Connections to each broker: requests wait for the disk over there, and are of one group each."""
WAIT_MS_MAX = 10_000
"""For an answer, the time in line with it."""
QUESTIONS_MAX = 20_000
"""In line and under way, of this broker."""
PAUSES_MS = (10, 20, 50, 100, 200, 400)
"""Before what may be asked again is: until a coordinator is elected, has loaded, or knows of a
topic."""
SUMMARIES_AT_ONCE = 200
AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class AskingForShares:
    def __init__(self, network: Network, door: Door) -> None:
        self._door = door
        self._broker = door.broker
        self._own = OwnShares(door)
        self._lanes = [Lane(network, door) for _ in range(LANES)]
        self._waiting = 0

    async def stop(self) -> None:
        for lane in self._lanes:
            await lane.stop()

    # -- what can be asked

    async def read(self, key: ShareKey, leader_epoch: int) -> State:
        await self._make_topic()
        state: State = await self._asked_again(partial(reading, key, leader_epoch))
        return state

    async def write(self, key: ShareKey, written: Written) -> None:
        await self._asked(writing(key, written))

    async def initialize(self, key: ShareKey, state_epoch: int, start_offset: int) -> None:
        await self._make_topic()
        await self._asked_again(partial(initializing, key, state_epoch, start_offset))

    async def delete(self, key: ShareKey) -> None:
        if self._broker.image.topic(SHARES) is not None:
            await self._asked_again(partial(deleting, key))

    async def summaries(self, keys: Iterable[ShareKey]) -> dict[ShareKey, Summary | Refused]:
        if self._broker.image.topic(SHARES) is None:
            return dict.fromkeys(keys, NOT_BEGUN)
        found: dict[ShareKey, Summary | Refused] = {}
        rest = iter(dict.fromkeys(keys))
        while some := list(islice(rest, SUMMARIES_AT_ONCE)):
            found.update(zip(some, await asyncio.gather(*map(self._summary, some)), strict=True))
        return found

    async def _summary(self, key: ShareKey) -> Summary | Refused:
        try:
            state: Summary = await self._asked_again(partial(summing_up, key))
        except Refused as refused:
            return refused
        return state

    # -- whom to ask

    async def _make_topic(self) -> None:
        """The first that needs it has it made."""
        if self._broker.image.topic(SHARES) is None:
            await self._door.change(
                partial(
                    create_internal_topic,
                    name=SHARES,
                    config=self._broker.config,
                    topic_id=self._broker.chance.uuid(),
                    now_ms=self._door.clock.now_ms(),
                )
            )

    async def _asked_again(self, question: Any) -> Any:
        """For what does no harm if it is done twice."""
        for pause_ms in PAUSES_MS:
            asked: Question = question()
            try:
                return await self._asked(asked)
            except Refused as refused:
                if refused.code not in AGAIN and not self._is_ahead(asked.key, refused):
                    raise
            await asyncio.sleep(pause_ms / 1000)
        return await self._asked(question())

    def _is_ahead(self, key: ShareKey, refused: Refused) -> bool:
        """The coordinator has yet to hear of a topic that we know."""
        is_unknown = refused.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return is_unknown and self._broker.image.partition(key.topic_id, key.partition) is not None

    async def _asked(self, question: Question) -> Any:
        _, record = self._broker.shares.place(question.key.name)
        if record.leader == self._broker.node_id:
            return await self._own.decide(question.key, question.decide)
        if record.leader < 0:
            raise _away("the share's coordinator is being elected")
        if self._waiting >= QUESTIONS_MAX:
            raise _away(f"{QUESTIONS_MAX} questions about shares wait for answers already")
        lane = self._lanes[hash_of(question.key.group) % LANES]
        self._waiting += 1
        try:
            async with asyncio.timeout(WAIT_MS_MAX / 1000):
                return await lane.asked(record.leader, question)
        except TimeoutError:
            raise _late("the share's coordinator does not answer") from None
        finally:
            self._waiting -= 1


class Lane:
    """A connection to each of the others."""

    def __init__(self, network: Network, door: Door) -> None:
        self._asking = Asking(network, door)
        self._lines: Lines[Question] = Lines(self._ask)

    async def stop(self) -> None:
        await self._lines.stop()
        self._asking.close()

    async def asked(self, node_id: int, question: Question) -> Any:
        question.answer = asyncio.get_running_loop().create_future()
        self._lines.add(node_id, question)
        return await question.answer

    async def _ask(self, node_id: int, questions: list[Question]) -> None:
        """Once it does not answer, the others of these are not waited for either."""
        failure = _away("another question was not answered")
        try:
            for some in _together(questions):
                await self._ask_together(node_id, some)
        except TimeoutError:
            failure = _late(f"broker {node_id} does not answer for its shares")
        except (OSError, Malformed, Refused) as problem:
            log.warning("broker %d does not answer for its shares: %s", node_id, problem)
            failure = _away(f"broker {node_id} cannot be asked: {problem}")
        finally:
            for question in questions:
                question.give(failure)

    async def _ask_together(self, node_id: int, questions: Sequence[Question]) -> None:
        wanted = [each for each in questions if each.is_wanted]
        if not wanted:
            return
        form = wanted[0].form
        answers = await self._asking.ask(
            node_id, request_of(wanted), form.version, form.response, partial(answers_in, wanted)
        )
        for question, came in zip(wanted, answers, strict=True):
            question.give(came)


def _together(questions: Iterable[Question]) -> Iterable[list[Question]]:
    """What goes into one request."""
    found: dict[tuple[Form, str], list[Question]] = {}
    for each in questions:
        found.setdefault((each.form, each.key.group), []).append(each)
    return found.values()


def _away(problem: str) -> Refused:
    return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, problem)


def _late(problem: str) -> Refused:
    return Refused(ErrorCode.REQUEST_TIMED_OUT, problem)
