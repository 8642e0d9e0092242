"""DescribeShareGroupOffsets: where share groups begin in partitions, and how far they are behind.

Version 1 brought the lag (KIP-1226): records from there to the high watermark that are not
finished. -1 stands for what is not known: the start of a partition that the group has not begun
with, and the lag where a leader does not answer, or where records may be missing from the count.
Coordinators of shares are asked for the one, and leaders for the other.

Who asks `with_end`, a tagged field of ours, is told from where on nothing was said of any record:
of those the lag may count some that are none, as markers of transactions are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome, Resume
from penstock.api.replies import Rest, once_committed
from penstock.api.sharing.admin import Place
from penstock.api.sharing.groups import share_group, share_topics, shareable_topic
from penstock.api.slices import Writing, in_slices, written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import NOWHERE, UNKNOWN, Summary
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.cluster import Topic
from penstock.wire.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

SHARES_MAX = 20_000
"""That one request may be about: more are to be asked for by topic."""
SHARES_A_SLICE = 500


@dataclass(slots=True)
class Part:
    """What is wanted of one topic."""

    name: str
    topic: Topic | None
    partitions: list[int]


@dataclass(slots=True)
class Wanted:
    """What is wanted of one group, or why there is nothing to be had."""

    group: str
    parts: list[Part] = field(default_factory=list)
    refused: Refused | None = None


@dataclass(slots=True)
class Found:
    states: Mapping[ShareKey, Summary | Refused]
    ends: Mapping[Place, int]


def describe_share_group_offsets(
    broker: Broker, request: DescribeShareGroupOffsetsRequest, call: Call
) -> Outcome[DescribeShareGroupOffsetsResponse]:
    rests: list[Rest] = []

    def look(wanted: list[Wanted]) -> Outcome[DescribeShareGroupOffsetsResponse]:
        return Resume(partial(_found, broker, wanted, call.version), partial(answer, wanted))

    def answer(wanted: list[Wanted], found: Found) -> Outcome[DescribeShareGroupOffsetsResponse]:
        groups = _groups(wanted, found, call.version, with_end=request.with_end)
        return in_slices(broker, groups, respond)

    def respond(groups: Any) -> Outcome[DescribeShareGroupOffsetsResponse]:
        return once_committed(rests, DescribeShareGroupOffsetsResponse(groups=groups))

    return in_slices(broker, _all_wanted(broker, request, rests), look)


# -- what is wanted


def _all_wanted(
    broker: Broker, request: DescribeShareGroupOffsetsRequest, rests: list[Rest]
) -> Steps[list[Wanted]]:
    wanted, count = [], 0
    for group in request.groups:
        wanted.append(_wanted(broker, group, rests))
        count += sum(len(part.partitions) for part in wanted[-1].parts)
        if count > SHARES_MAX:
            raise Refused(
                ErrorCode.POLICY_VIOLATION,
                f"more than {SHARES_MAX} partitions in groups; ask for fewer at a time",
            )
        yield None
    return wanted


def _wanted(
    broker: Broker, asked: DescribeShareGroupOffsetsRequestGroup, rests: list[Rest]
) -> Wanted:
    name, image = asked.group_id, broker.image
    try:
        shard, group = share_group(broker, name)
    except Refused as refused:
        return Wanted(name, refused=refused)
    rests.append(shard.rest(group))
    if asked.topics is not None:
        parts = [
            Part(each.topic_name, _topic(broker, each.topic_name), list(each.partitions))
            for each in asked.topics
        ]
        return Wanted(name, parts)
    known = {topic_id: image.topic_by_id(topic_id) for topic_id in share_topics(group)}
    return Wanted(
        name,
        [
            Part(topic.name, topic, sorted(share_topics(group)[topic_id]))
            for topic_id, topic in known.items()
            if topic is not None
        ],
    )


def _topic(broker: Broker, name: str) -> Topic | None:
    try:
        return shareable_topic(broker.image, name)
    except Refused:
        return None


# -- what is found


async def _found(broker: Broker, wanted: Iterable[Wanted], version: int) -> Found:
    states: dict[ShareKey, Summary | Refused] = {}
    keys = _keys(wanted)
    while some := list(islice(keys, SHARES_A_SLICE)):
        states.update(await broker.share_states.summaries(some))
    if version < 1:
        return Found(states, {})
    names = {part.topic.id: part.name for each in wanted for part in each.parts if part.topic}
    begun = {
        (names[key.topic_id], key.partition)
        for key, state in states.items()
        if isinstance(state, Summary) and state.start_offset != NOWHERE
    }
    return Found(states, await broker.share_admin.ends(begun))


def _keys(wanted: Iterable[Wanted]) -> Iterator[ShareKey]:
    for each in wanted:
        for part in each.parts:
            if part.topic is not None:
                for index in part.partitions:
                    yield ShareKey(each.group, part.topic.id, index)


# -- what is said


def _groups(wanted: Iterable[Wanted], found: Found, version: int, *, with_end: bool) -> Steps[Any]:
    groups = Writing(version)
    for each in wanted:
        topics = Writing(version, inside=groups)
        for part in each.parts:
            told = _partitions(each.group, part, found, with_end)
            partitions = yield from written(version, told, inside=topics)
            topic_id = part.topic.shown_id if part.topic else bytes(16)
            topic = DescribeShareGroupOffsetsResponseTopic(part.name, topic_id, partitions)
            yield from topics.add_all([topic])
        group = DescribeShareGroupOffsetsResponseGroup(each.group, topics)  # type: ignore[arg-type]
        if each.refused is not None:
            group.error_code, group.error_message = each.refused.code, each.refused.message
        yield from groups.add_all([group])
    return groups


def _partitions(
    group: str, part: Part, found: Found, with_end: bool
) -> Iterator[DescribeShareGroupOffsetsResponsePartition]:
    for index in part.partitions:
        if part.topic is None:
            problem = f"there is no topic {part.name!r} to be shared"
            yield _refused(index, Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, problem))
            continue
        state = found.states[ShareKey(group, part.topic.id, index)]
        if isinstance(state, Refused):
            yield _refused(index, state)
        else:
            lag = _lag(state, found.ends.get((part.name, index)))
            end = state.end_offset if with_end else NOWHERE
            yield DescribeShareGroupOffsetsResponsePartition(
                index, state.start_offset, state.leader_epoch, lag, end_offset=end
            )


def _refused(index: int, refused: Refused) -> DescribeShareGroupOffsetsResponsePartition:
    return DescribeShareGroupOffsetsResponsePartition(
        index, NOWHERE, 0, UNKNOWN, refused.code, refused.message
    )


def _lag(state: Summary, end: int | None) -> int:
    if end is None or UNKNOWN in (state.start_offset, state.complete_count):
        return UNKNOWN
    return max(end - state.start_offset - state.complete_count, 0)


def describe_share_group_offsets_failed(
    request: DescribeShareGroupOffsetsRequest, code: ErrorCode, message: str
) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(
        groups=[
            DescribeShareGroupOffsetsResponseGroup(each.group_id, [], code, message)
            for each in request.groups
        ]
    )
