"""Requests of brokers about shares: many shares of one group, each of them answered by itself.

What is said of a share waits until that is committed, and the answer for all of them. Between two
slices of a long request others have their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Later, Outcome, Resume
from penstock.api.replies import Rest
from penstock.api.slices import Writing, in_slices
from penstock.coordination.pace import Pace
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import Share
from penstock.coordination.turn import TURN_COST, Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps

WAIT_MS_MAX = 4000
"""To be committed: less than the broker that asks waits for an answer."""
LATE = ErrorCode.REQUEST_TIMED_OUT

Decide = Callable[[Turn, Share], Any]


@dataclass(frozen=True, slots=True)
class Form:
    """How the answers of one API are put together. Its messages are made alike."""

    response: Callable[[Any], Any]
    topic: Callable[[bytes, Any], Any]
    part: Callable[..., Any]
    """Of the partition, an error code and a message."""
    told: Callable[[int, Any], Any]
    """The same of the partition and what was decided."""

    def failed(self, request: Any, code: ErrorCode, message: str) -> Any:
        """All of it was refused."""
        return self.response(
            [
                self.topic(
                    topic.topic_id,
                    [self.part(each.partition, code, message) for each in topic.partitions],
                )
                for topic in request.topics
            ]
        )

    def answer(self, decided: Decided) -> Any:
        came = decided.came
        if isinstance(came, Refused):
            return self.part(decided.key.partition, came.code, came.message)
        return self.told(decided.key.partition, came)


@dataclass(slots=True)
class Decided:
    key: ShareKey
    came: Any
    """What was decided, or the Refused that it came to."""
    rest: Rest | None
    """What that rests on, until it is committed."""
    cost: int


@dataclass(frozen=True, slots=True)
class EachShare:
    """A request on its way."""

    broker: Broker
    request: Any
    call: Call
    form: Form
    decide: Callable[[Any], Decide]
    """From what is asked of one partition."""
    may_be_late: bool
    """Whether what was given up, and asked again over another connection, is harmless."""

    def outcome(self) -> Outcome[Any]:
        check_is_broker(self.call)
        return in_slices(self.broker, self._decided(), self._once_committed)

    def _decided(self) -> Steps[list[Decided]]:
        pace, found = Pace(), []
        self._refuse_late()
        for key, part in _asked(self.request):
            found.append(_decide(self.broker, key, self.decide(part)))
            if pace.is_spent(found[-1].cost):
                yield None
                self._refuse_late()
        return found

    def _refuse_late(self) -> None:
        if not self.may_be_late:
            client, speakers = self.call.client, self.broker.speakers.of_shares
            writer = client.broker_id, self.request.group_id
            speakers.check(writer, client)
            speakers.note(writer, client)

    def _once_committed(self, decided: list[Decided]) -> Outcome[Any]:
        """One after the other is waited for: thousands would wake us thousands of times."""
        waiting = [each for each in decided if each.rest is not None]
        sources: list[Any] = []

        def look(time_is_up: bool) -> Any | Resume[Any] | None:
            while waiting:
                rest = _unsettled(waiting[-1], time_is_up)
                if rest is not None:
                    sources[:] = [rest.shard.leader.reached(rest.end)]
                    return None
                waiting.pop()
            return in_slices(self.broker, self._written(decided), _as_it_is)

        outcome = look(False)
        return Later(sources, look, WAIT_MS_MAX) if outcome is None else outcome

    def _written(self, decided: Iterable[Decided]) -> Steps[Any]:
        """In the order of the request."""
        version, form, rest = self.call.version, self.form, iter(decided)
        topics = Writing(version)
        for topic in self.request.topics:
            parts = Writing(version, inside=topics)
            answers = (form.answer(next(rest)) for _ in topic.partitions)
            yield from parts.add_all(answers)
            if topics.add(form.topic(topic.topic_id, parts)):
                yield None
        topics.check_room()
        return form.response(topics)


def check_is_broker(call: Call) -> None:
    if call.client.broker_id < 0:
        raise Refused(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"{call.api.name} is for brokers of the cluster, which prove that they are: clients "
            "use share groups",
        )


def _asked(request: Any) -> Iterator[tuple[ShareKey, Any]]:
    for topic in request.topics:
        for part in topic.partitions:
            yield ShareKey(request.group_id, topic.topic_id, part.partition), part


def _decide(broker: Broker, key: ShareKey, decide: Decide) -> Decided:
    decided = Decided(key, None, None, TURN_COST)
    try:
        name = key.name
        shard = broker.shares.shard(name)
        decided.came, decided.rest = shard.decide_part(name, partial(_spending, decided, decide))
    except Refused as refused:
        decided.came = refused
    return decided


def _spending(decided: Decided, decide: Decide, turn: Turn, share: Share) -> Any:
    came = decide(turn, share)
    decided.cost = turn.cost
    return came


def _unsettled(decided: Decided, time_is_up: bool) -> Rest | None:
    """What has yet to be waited for."""
    rest = decided.rest
    assert rest is not None
    if rest.is_committed:
        return None
    try:
        rest.check(time_is_up, LATE)
    except Refused as refused:
        decided.came = refused
        return None
    return rest


def _as_it_is(answer: Any) -> Any:
    return answer
