"""DeleteShareGroupOffsets: a share group without members forgets topics.

Once that is written down the group has them no more; its shares go soon after (they are deleted by
the broker that looks after the group, as with a group that is deleted), and until then it does not
begin with these topics again.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import once_committed
from penstock.api.sharing.groups import check_empty, share_group, shareable_topic
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share import shares
from penstock.coordination.turn import Turn
from penstock.errors import Refused
from penstock.wire.messages.k92_delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)


def delete_share_group_offsets(
    broker: Broker, request: DeleteShareGroupOffsetsRequest, call: Call
) -> Outcome[DeleteShareGroupOffsetsResponse]:
    shard, group = share_group(broker, request.group_id)
    topic_ids: list[bytes] = []
    told: list[DeleteShareGroupOffsetsResponseTopic] = []
    for each in request.topics:
        try:
            topic = shareable_topic(broker.image, each.topic_name)
        except Refused as refused:
            told.append(
                DeleteShareGroupOffsetsResponseTopic(
                    each.topic_name, bytes(16), refused.code, refused.message
                )
            )
        else:
            topic_ids.append(topic.id)
            told.append(DeleteShareGroupOffsetsResponseTopic(each.topic_name, topic.shown_id))

    def decide(turn: Turn, group: Group) -> DeleteShareGroupOffsetsResponse:
        check_empty(group)
        shares.delete_topics(turn, group, topic_ids)
        return DeleteShareGroupOffsetsResponse(responses=told)

    answer, rest = shard.decide_part(group.name, decide)
    return once_committed([rest], answer)
