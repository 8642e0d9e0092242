"""ConsumerGroupHeartbeat: a member of KIP-848 joins, lives, learns what is its own, and leaves.

Version 1 brought subscriptions by regular expression, and ids that members make for themselves: in
version 0 one that has none is given one.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.coordination.group.consumer.heartbeat import heartbeat
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

OWN_IDS_SINCE = 1
FEATURE = "group.version"
LEVEL = 1


def consumer_group_heartbeat(
    broker: Broker, request: ConsumerGroupHeartbeatRequest, call: Call
) -> Outcome[ConsumerGroupHeartbeatResponse]:
    _check(broker, request, call.version)
    host = f"/{call.peer.rpartition(':')[0]}"

    def decide(turn: Turn, group: Group) -> ConsumerGroupHeartbeatResponse:
        return heartbeat(turn, group, request, call.client_id or "", host)

    return broker.groups.shard(request.group_id).decide(request.group_id, decide)


def _check(broker: Broker, request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    if broker.image.feature_level(FEATURE) < LEVEL:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"the cluster's {FEATURE} is less than {LEVEL}: raise it, or use the classic protocol",
        )
    if not request.group_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "a group has a name")
    if version >= OWN_IDS_SINCE and not request.member_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "a member brings an id of its own")
