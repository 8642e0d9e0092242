"""OffsetDelete: a group forgets where it was in some partitions.

Not those of a topic that its members are subscribed to: they would begin anew without notice. A
partition that is not there is told so, as Kafka does, rather than that all is well.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import forget
from penstock.coordination.group.protocols import check_may_forget, subscribes_to
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def offset_delete(
    broker: Broker, request: OffsetDeleteRequest, call: Call
) -> Outcome[OffsetDeleteResponse]:
    shard = broker.groups.shard(request.group_id)
    if shard.groups.get(request.group_id) is None:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, "there is no such group")

    def decide(turn: Turn, group: Group) -> OffsetDeleteResponse:
        check_may_forget(group)
        return OffsetDeleteResponse(topics=[_delete(turn, group, each) for each in request.topics])

    return shard.decide(request.group_id, decide)


def _delete(turn: Turn, group: Group, asked: OffsetDeleteRequestTopic) -> OffsetDeleteResponseTopic:
    is_read = subscribes_to(group, asked.name)
    indexes = dict.fromkeys(part.partition_index for part in asked.partitions)
    return OffsetDeleteResponseTopic(
        asked.name,
        [
            OffsetDeleteResponsePartition(
                index, _delete_one(turn, group, asked.name, index, is_read)
            )
            for index in indexes
        ],
    )


def _delete_one(turn: Turn, group: Group, topic: str, index: int, is_read: bool) -> ErrorCode:
    known = turn.image.topic(topic)
    if known is None or known.partition(index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if is_read:
        return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    if index in group.offsets.get(topic, ()):
        forget(turn, group.name, topic, index)
    return ErrorCode.NONE
