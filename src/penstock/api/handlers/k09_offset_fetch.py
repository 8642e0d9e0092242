"""OffsetFetch: where groups are.

Version 2 can ask for all of a group's offsets, with null for the topics; 5 brought leader epochs, 7
`require_stable`, which changes nothing as long as there are no transactions, 8 several groups in
one request, 9 the member who asks (KIP-848), 10 topic ids. A partition that was never committed has
the offset -1.

From version 8 on there are tagged fields of our own: who asks `with_lag` is told how far the group
is behind in each partition, in messages and in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.lag import UNKNOWN, Lag, Place, lags
from penstock.api.outcome import Outcome, Resume
from penstock.api.replies import Rest, once_committed
from penstock.coordination.group import protocols
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import Committed
from penstock.errors import ErrorCode, Refused
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


def offset_fetch(
    broker: Broker, request: OffsetFetchRequest, call: Call
) -> Outcome[OffsetFetchResponse]:
    rests: list[Rest] = []
    by_id = call.version >= TOPIC_IDS_SINCE
    if call.version < MANY_GROUPS_SINCE:
        alone = _once_each([_alone(request)])[0]
        found_alone = _fetch(broker, alone, by_id, rests)
        if call.version < ERROR_OF_ALL_SINCE and found_alone.error_code:
            found_alone.topics = _refused(alone, found_alone.error_code)
        return once_committed(rests, _of_one(found_alone))
    found = [_fetch(broker, each, by_id, rests) for each in _once_each(request.groups)]
    answer = OffsetFetchResponse(groups=found)
    if not request.with_lag:
        return once_committed(rests, answer)
    places = (place for place, _ in _places(answer))
    return Resume(
        lambda: broker.in_steps(lags(broker, places, call.now_ms)),
        lambda behind: once_committed(rests, _with_lag(answer, behind)),
    )


def _fetch(
    broker: Broker, asked: OffsetFetchRequestGroup, by_id: bool, rests: list[Rest]
) -> OffsetFetchResponseGroup:
    answer = OffsetFetchResponseGroup(asked.group_id)
    try:
        shard = broker.groups.shard(asked.group_id)
        group = shard.groups.get(asked.group_id)
        rests.append(shard.rest(group))
        if group is not None:
            protocols.check_may_fetch(group, asked.member_id, asked.member_epoch)
        answer.topics = _offsets(broker.image, group or Group(asked.group_id), asked, by_id)
    except Refused as refused:
        answer.error_code = refused.code
    return answer


def _offsets(
    image: Image, group: Group, asked: OffsetFetchRequestGroup, by_id: bool
) -> list[OffsetFetchResponseTopics]:
    if asked.topics is not None:
        return [_of_topic(image, group, topic, by_id) for topic in asked.topics]
    return [
        OffsetFetchResponseTopics(name, _id(image, name), _of(partitions.items()))
        for name, partitions in group.offsets.items()
        if not by_id or image.topic(name) is not None
    ]


def _of_topic(
    image: Image, group: Group, asked: OffsetFetchRequestTopics, by_id: bool
) -> OffsetFetchResponseTopics:
    answer = OffsetFetchResponseTopics(asked.name, asked.topic_id)
    if by_id:
        topic = image.topic_by_id(asked.topic_id)
        if topic is None:
            answer.partitions = [
                OffsetFetchResponsePartitions(index, -1, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
                for index in asked.partition_indexes
            ]
            return answer
        answer.name = topic.name
    committed = group.offsets.get(answer.name, {})
    answer.partitions = _of(
        (index, committed.get(index, NOWHERE)) for index in asked.partition_indexes
    )
    return answer


def _of(offsets: Iterable[tuple[int, Committed]]) -> list[OffsetFetchResponsePartitions]:
    return [
        OffsetFetchResponsePartitions(index, each.offset, each.leader_epoch, each.metadata)
        for index, each in offsets
    ]


def _places(
    answer: OffsetFetchResponse,
) -> Iterator[tuple[Place, OffsetFetchResponsePartitions]]:
    """Where the groups are, and which part of the answer says so."""
    for group in answer.groups:
        for topic in group.topics:
            for part in topic.partitions:
                if part.committed_offset >= 0:
                    yield Place(topic.name, part.partition_index, part.committed_offset), part


def _with_lag(answer: OffsetFetchResponse, behind: dict[Place, Lag]) -> OffsetFetchResponse:
    for place, part in _places(answer):
        messages, waiting_ms = behind.get(place, UNKNOWN)
        part.lag = -1 if messages is None else messages
        part.lag_ms = -1 if waiting_ms is None else waiting_ms
    return answer


def _id(image: Image, name: str) -> bytes:
    topic = image.topic(name)
    return topic.id if topic is not None else bytes(16)


def _alone(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """A request of old, as the only group of a new one."""
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(each.name, partition_indexes=each.partition_indexes)
            for each in request.topics
        ]
    return OffsetFetchRequestGroup(request.group_id, topics=topics)


def _once_each(asked: Iterable[OffsetFetchRequestGroup]) -> list[OffsetFetchRequestGroup]:
    """What is asked for twice is answered once: answers must not grow without limit."""
    groups: dict[str, OffsetFetchRequestGroup] = {}
    for each in asked:
        known = groups.setdefault(each.group_id, each)
        if known is not each and known.topics is not None:
            known.topics = None if each.topics is None else known.topics + each.topics
    for group in groups.values():
        if group.topics is not None:
            group.topics = _topics_once(group.topics)
    return list(groups.values())


def _topics_once(asked: list[OffsetFetchRequestTopics]) -> list[OffsetFetchRequestTopics]:
    topics: dict[tuple[str, bytes], OffsetFetchRequestTopics] = {}
    for each in asked:
        known = topics.setdefault((each.name, each.topic_id), each)
        if known is not each:
            known.partition_indexes += each.partition_indexes
    for topic in topics.values():
        topic.partition_indexes = list(dict.fromkeys(topic.partition_indexes))
    return list(topics.values())


def _refused(asked: OffsetFetchRequestGroup, code: int) -> list[OffsetFetchResponseTopics]:
    """The oldest version has no other place for an error of the group."""
    return [
        OffsetFetchResponseTopics(
            topic.name,
            partitions=[
                OffsetFetchResponsePartitions(index, -1, metadata="", error_code=code)
                for index in topic.partition_indexes
            ],
        )
        for topic in asked.topics or ()
    ]


def _of_one(found: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(
                        part.partition_index,
                        part.committed_offset,
                        part.committed_leader_epoch,
                        part.metadata,
                        part.error_code,
                    )
                    for part in topic.partitions
                ],
            )
            for topic in found.topics
        ],
        error_code=found.error_code,
    )


def offset_fetch_failed(
    request: OffsetFetchRequest, code: ErrorCode, message: str
) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        error_code=code,
        groups=[
            OffsetFetchResponseGroup(each.group_id, error_code=code) for each in request.groups
        ],
    )
