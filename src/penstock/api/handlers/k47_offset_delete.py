"""OffsetDelete: a group forgets where it was in some partitions.

Not those of a topic that its members are subscribed to: they would begin anew without notice.
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
    code = ErrorCode.NONE
    if subscribes_to(group, asked.name):
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    indexes = list(dict.fromkeys(part.partition_index for part in asked.partitions))
    if not code:
        for index in indexes:
            if index in group.offsets.get(asked.name, ()):
                forget(turn, group.name, asked.name, index)
    return OffsetDeleteResponseTopic(
        asked.name, [OffsetDeleteResponsePartition(index, code) for index in indexes]
    )
