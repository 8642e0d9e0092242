"""OffsetFetch: where groups are.

Version 2 can ask for all of a group's offsets, with null for the topics; 5 brought leader epochs, 7
`require_stable`: where an open transaction is about to commit an offset, none is told; 8 several
groups in one request, 9 the member who asks (KIP-848), 10 topic ids. A partition that was never
committed has the offset -1, also if one was in a deleted topic of the same name.

From version 8 on there are tagged fields of our own: who asks `with_lag` is told how far the group
is behind in each partition, in messages and in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.lag import UNKNOWN, Lag, Place, lags
from penstock.api.outcome import Outcome, Resume
from penstock.api.replies import Rest, once_committed
from penstock.api.slices import SLICE_HEAVY, Writing, in_slices, written
from penstock.coordination.group import protocols
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import Committed, committed_in_sealed, is_of
from penstock.coordination.pace import Pace
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.image import Image
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

ERROR_OF_ALL_SINCE = 2
MANY_GROUPS_SINCE = 8
TOPIC_IDS_SINCE = 10
NOWHERE = Committed(-1)
UNSTABLE = Committed(-1)
"""A transaction is about to commit something."""
LOOKUP_COST = 2
"""Of a topic or partition that is looked up, in the unit of `Pace`."""


class Topic(NamedTuple):
    """Where a group was in a topic when that was looked up. The answer takes longer than that."""

    name: str
    topic_id: bytes
    places: Sequence[tuple[int, Committed]]
    error_code: int = ErrorCode.NONE


class Found(NamedTuple):
    group: str
    topics: Sequence[Topic] = ()
    error_code: int = ErrorCode.NONE


def offset_fetch(
    broker: Broker, request: OffsetFetchRequest, call: Call
) -> Outcome[OffsetFetchResponse]:
    by_id = call.version >= TOPIC_IDS_SINCE
    lookup = _Lookup(broker, by_id=by_id, only_stable=request.require_stable)

    def then(answer: OffsetFetchResponse) -> Outcome[OffsetFetchResponse]:
        return once_committed(lookup.rests, answer)

    if call.version < MANY_GROUPS_SINCE:
        return in_slices(broker, _answer_of_one(lookup, request, call.version), then)
    if not request.with_lag:
        return in_slices(broker, _answer(lookup, request, call.version), then)
    steps = _answer_with_lag(broker, lookup, request, call)
    return Resume(lambda: broker.in_steps(steps), then)


class _Lookup:
    """Of all that one request asks for, with pauses."""

    def __init__(self, broker: Broker, *, by_id: bool, only_stable: bool) -> None:
        self._broker = broker
        self._by_id = by_id
        self._only_stable = only_stable
        self._pace = Pace()
        self.rests: list[Rest] = []

    def group(self, asked: OffsetFetchRequestGroup) -> Steps[Found]:
        try:
            return (yield from self._found(asked))
        except Refused as refused:
            return Found(asked.group_id, error_code=refused.code)

    def _found(self, asked: OffsetFetchRequestGroup) -> Steps[Found]:
        shard = self._broker.groups.shard(asked.group_id)
        group = shard.kept.get(asked.group_id)
        self.rests.append(shard.rest(group))
        if group is None:
            group = Group(asked.group_id)
        else:
            protocols.check_may_fetch(group, asked.member_id, asked.member_epoch)
        awaited = _awaited(group)
        if asked.topics is None:
            topics = yield from self._everything(group)
        else:
            topics = yield from self._topics(group, asked.topics)
        self.rests[-1].end = max(self.rests[-1].end, group.end)  # more was committed in a pause
        awaited |= _awaited(group)  # what was awaited before may be known, and not in the answer
        if self._only_stable and awaited:
            topics = _without_unstable(self._broker.image, awaited, topics, asked)
        return Found(asked.group_id, topics)

    def _pause(self, group: Group) -> Steps[None]:
        """Refused if the group has begun to go meanwhile: nobody is to see a part of it."""
        name = group.name
        was_known = self._broker.groups.shard(name).kept.get(name) is group
        yield None
        if was_known and self._broker.groups.shard(name).kept.get(name) is not group:
            raise Refused(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the group is another one by now; try again"
            )

    def _everything(self, group: Group) -> Steps[list[Topic]]:
        found = []
        for name, partitions in list(group.offsets.items()):
            topic = self._broker.image.readable.topic(name)
            places = [each for each in partitions.items() if is_of(topic, *each)]
            if topic is not None and places:
                found.append(Topic(name, topic.shown_id, places))
            if self._pace.is_spent(LOOKUP_COST * (1 + len(partitions))):
                yield from self._pause(group)
        return found

    def _topics(
        self, group: Group, asked: Iterable[OffsetFetchRequestTopics]
    ) -> Steps[list[Topic]]:
        found = []
        for each in asked:
            found.append(_of_topic(self._broker.image, group, each, self._by_id))
            if self._pace.is_spent(LOOKUP_COST * (1 + len(each.partition_indexes))):
                yield from self._pause(group)
        return found


def _of_topic(image: Image, group: Group, asked: OffsetFetchRequestTopics, by_id: bool) -> Topic:
    topic = image.shown.topic_meant(asked.topic_id) if by_id else image.readable.topic(asked.name)
    name = topic.name if topic is not None else asked.name
    committed = group.offsets.get(name, {}) if topic is not None else {}
    found = ((index, committed.get(index, NOWHERE)) for index in asked.partition_indexes)
    places = [(index, each if is_of(topic, index, each) else NOWHERE) for index, each in found]
    if topic is not None and topic.record.sealed is not None:
        places = [(at, committed_in_sealed(group, topic, at) or NOWHERE) for at, _ in places]
    is_unknown = by_id and topic is None
    code = ErrorCode.UNKNOWN_TOPIC_ID if is_unknown else ErrorCode.NONE
    return Topic(name, asked.topic_id, places, code)


def _awaited(group: Group) -> set[tuple[str, int]]:
    """Places of which a transaction is about to say where the group is."""
    return set() if group.pending is None else set(group.pending.keys)


def _without_unstable(
    image: Image,
    awaited: set[tuple[str, int]],
    topics: list[Topic],
    asked: OffsetFetchRequestGroup,
) -> list[Topic]:
    """Where a transaction is about to say where the group is, nothing is said before."""
    found = [
        each._replace(
            places=[
                (index, at if awaited.isdisjoint(_read_from(image, each.name, index)) else UNSTABLE)
                for index, at in each.places
            ]
        )
        for each in topics
    ]
    if asked.topics is not None:
        return found
    known = {(each.name, index) for each in found for index, _ in each.places}
    for name, index in sorted(awaited - known):
        topic = image.readable.topic(name)
        if topic is not None:
            found.append(Topic(name, topic.shown_id, [(index, UNSTABLE)]))
    return found


def _read_from(image: Image, name: str, index: int) -> list[tuple[str, int]]:
    """Of a sealed topic, also what was committed before it was."""
    topic = image.readable.topic(name)
    sealed = topic.record.sealed if topic is not None else None
    return [(name, index)] + ([(sealed.name, sealed.first + index)] if sealed else [])


# -- writing it down


def _answer(
    lookup: _Lookup, request: OffsetFetchRequest, version: int
) -> Steps[OffsetFetchResponse]:
    groups: Any = Writing(version)
    for asked in (yield from _once_each(request.groups)):
        found = yield from lookup.group(asked)
        yield from _write(groups, version, found, {})
    return OffsetFetchResponse(groups=groups)


def _answer_with_lag(
    broker: Broker, lookup: _Lookup, request: OffsetFetchRequest, call: Call
) -> Steps[OffsetFetchResponse]:
    found = []
    for asked in (yield from _once_each(request.groups)):
        found.append((yield from lookup.group(asked)))
        if len(found) % SLICE_HEAVY == 0:
            yield None
    behind = yield from lags(broker, _places(found), call.now_ms)
    groups: Any = Writing(call.version)
    for each in found:
        yield from _write(groups, call.version, each, behind)
    return OffsetFetchResponse(groups=groups)


def _write(groups: Writing, version: int, found: Found, behind: Mapping[Place, Lag]) -> Steps[None]:
    topics: Any = Writing(version, inside=groups)
    for topic in found.topics:
        parts = yield from written(version, _parts(topic, behind), inside=topics)
        yield from topics.add_all([OffsetFetchResponseTopics(topic.name, topic.topic_id, parts)])
    yield from groups.add_all([OffsetFetchResponseGroup(found.group, topics, found.error_code)])


def _parts(topic: Topic, behind: Mapping[Place, Lag]) -> Iterator[OffsetFetchResponsePartitions]:
    for index, at in topic.places:
        part = OffsetFetchResponsePartitions(
            index, at.offset, at.leader_epoch, at.metadata, _code(topic, at)
        )
        if behind:
            messages, waiting_ms = behind.get(Place(topic.name, index, at.offset), UNKNOWN)
            part.lag = -1 if messages is None else messages
            part.lag_ms = -1 if waiting_ms is None else waiting_ms
        yield part


def _places(found: Iterable[Found]) -> Iterator[Place]:
    for group in found:
        for topic in group.topics:
            for index, at in topic.places:
                if at.offset >= 0:
                    yield Place(topic.name, index, at.offset)


def _answer_of_one(
    lookup: _Lookup, request: OffsetFetchRequest, version: int
) -> Steps[OffsetFetchResponse]:
    (asked,) = yield from _once_each([_alone(request)])
    found = yield from lookup.group(asked)
    if version < ERROR_OF_ALL_SINCE and found.error_code:
        found = _refused(asked, found.error_code)
    topics: Any = Writing(version)
    for topic in found.topics:
        parts = yield from written(version, _parts_of_old(topic), inside=topics)
        yield from topics.add_all([OffsetFetchResponseTopic(topic.name, parts)])
    return OffsetFetchResponse(topics=topics, error_code=found.error_code)


def _parts_of_old(topic: Topic) -> Iterator[OffsetFetchResponsePartition]:
    for index, at in topic.places:
        yield OffsetFetchResponsePartition(
            index, at.offset, at.leader_epoch, at.metadata, _code(topic, at)
        )


def _code(topic: Topic, at: Committed) -> int:
    return ErrorCode.UNSTABLE_OFFSET_COMMIT if at is UNSTABLE else topic.error_code


# -- what is asked


def _alone(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """A request of old, as the only group of a new one."""
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(each.name, partition_indexes=each.partition_indexes)
            for each in request.topics
        ]
    return OffsetFetchRequestGroup(request.group_id, topics=topics)


def _once_each(asked: Iterable[OffsetFetchRequestGroup]) -> Steps[list[OffsetFetchRequestGroup]]:
    """What is asked for twice is answered once: answers must not grow without limit."""
    groups: dict[str, OffsetFetchRequestGroup] = {}
    for each in asked:
        known = groups.setdefault(each.group_id, each)
        if known is not each and known.topics is not None:
            known.topics = None if each.topics is None else known.topics + each.topics
    pace = Pace()
    for group in groups.values():
        if group.topics is not None:
            group.topics = yield from _topics_once(group.topics, pace)
    return list(groups.values())


def _topics_once(
    asked: list[OffsetFetchRequestTopics], pace: Pace
) -> Steps[list[OffsetFetchRequestTopics]]:
    topics: dict[tuple[str, bytes], OffsetFetchRequestTopics] = {}
    for each in asked:
        known = topics.setdefault((each.name, each.topic_id), each)
        if known is not each:
            known.partition_indexes += each.partition_indexes
        if pace.is_spent(1):
            yield None
    for topic in topics.values():
        if len(topic.partition_indexes) > 1:
            topic.partition_indexes = list(dict.fromkeys(topic.partition_indexes))
        if pace.is_spent(1 + len(topic.partition_indexes)):
            yield None
    return list(topics.values())


def _refused(asked: OffsetFetchRequestGroup, code: int) -> Found:
    """The oldest version has no other place for an error of the group."""
    topics = [
        Topic(each.name, each.topic_id, [(at, NOWHERE) for at in each.partition_indexes], code)
        for each in asked.topics or ()
    ]
    return Found(asked.group_id, topics, code)


def offset_fetch_failed(
    request: OffsetFetchRequest, code: ErrorCode, message: str
) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        error_code=code,
        groups=[
            OffsetFetchResponseGroup(each.group_id, error_code=code) for each in request.groups
        ],
    )
