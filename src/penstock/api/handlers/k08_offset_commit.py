"""OffsetCommit: where a group is.

Versions up to 4 can say when the offsets are to be forgotten; 6 brought the leader epoch, 7 static
members, 9 epochs of KIP-848 in place of the generation, 10 topic ids. A partition that is not there
is refused by itself, everything else for the request as a whole. Of a partition that is named more
than once the last mention counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.coordination.group import protocols
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import NEVER_MS, Committed, write_commit
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster import Topic
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

METADATA_BYTES_MAX = (1 << 15) - 1
"""As many as can be stored, whatever the setting allows."""
NOT_FOUND_SINCE = 9
TOPIC_IDS_SINCE = 10
TIME_MS_MAX = (1 << 63) - 1


def offset_commit(
    broker: Broker, request: OffsetCommitRequest, call: Call
) -> Outcome[OffsetCommitResponse]:
    shard = broker.groups.shard(request.group_id)
    if broker.disk_is_full:
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the disk is full; try again")

    def decide(turn: Turn, group: Group) -> OffsetCommitResponse:
        generation = request.generation_id_or_member_epoch
        if call.version >= NOT_FOUND_SINCE and generation >= 0 and group.is_forgotten:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, "there is no such group")
        protocols.check_may_commit(
            turn, group, request.member_id, request.group_instance_id, generation
        )
        by_id = call.version >= TOPIC_IDS_SINCE
        topics = _once_each(request.topics)
        return OffsetCommitResponse(
            topics=[_commit(turn, group, request, topic, by_id) for topic in topics]
        )

    return shard.decide(request.group_id, decide)


def _once_each(asked: Iterable[OffsetCommitRequestTopic]) -> list[OffsetCommitRequestTopic]:
    """The last mention of each partition, however many entries of its topic there are."""
    topics: dict[tuple[str, bytes], dict[int, OffsetCommitRequestPartition]] = {}
    for each in asked:
        partitions = topics.setdefault((each.name, each.topic_id), {})
        partitions.update((part.partition_index, part) for part in each.partitions)
    return [
        OffsetCommitRequestTopic(name, topic_id, list(partitions.values()))
        for (name, topic_id), partitions in topics.items()
    ]


def _commit(
    turn: Turn,
    group: Group,
    request: OffsetCommitRequest,
    asked: OffsetCommitRequestTopic,
    by_id: bool,
) -> OffsetCommitResponseTopic:
    image = turn.image
    topic = image.topic_by_id(asked.topic_id) if by_id else image.topic(asked.name)
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    expire_ms = NEVER_MS
    if request.retention_time_ms >= 0:
        expire_ms = min(turn.now_ms + request.retention_time_ms, TIME_MS_MAX)
    answer = OffsetCommitResponseTopic(asked.name, asked.topic_id)
    for part in asked.partitions:
        code = unknown if topic is None else _check(turn, topic, part)
        answer.partitions.append(OffsetCommitResponsePartition(part.partition_index, code))
        if topic is not None and not code:
            committed = Committed(
                part.committed_offset,
                part.committed_leader_epoch,
                part.committed_metadata or "",
                turn.now_ms,
                expire_ms,
                topic.id,
            )
            write_commit(turn, group.name, topic.name, part.partition_index, committed)
    return answer


def _check(turn: Turn, topic: Topic, part: OffsetCommitRequestPartition) -> ErrorCode:
    if topic.partition(part.partition_index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    limit = min(turn.config.offset_metadata_max_bytes, METADATA_BYTES_MAX)
    metadata = part.committed_metadata
    if metadata and (len(metadata) > limit or len(metadata.encode()) > limit):
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def offset_commit_failed(
    request: OffsetCommitRequest, code: ErrorCode, message: str
) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    OffsetCommitResponsePartition(part.partition_index, code)
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
