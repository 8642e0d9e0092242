"""ShareGroupHeartbeat: a member of a share group joins, lives, learns what it has, and leaves.

Version 0 was never released. Members bring ids of their own, and subscribe by name only.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share.heartbeat import heartbeat
from penstock.coordination.group.share.requests import check_request
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.features import SHARE_VERSION
from penstock.wire.messages.k76_share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

LEVEL = 1


def share_group_heartbeat(
    broker: Broker, request: ShareGroupHeartbeatRequest, call: Call
) -> Outcome[ShareGroupHeartbeatResponse]:
    check_level(broker)
    check_request(request)
    host = f"/{call.peer.rpartition(':')[0]}"

    def decide(turn: Turn, group: Group) -> ShareGroupHeartbeatResponse:
        return heartbeat(turn, group, request, call.client_id or "", host)

    return broker.groups.shard(request.group_id).decide(request.group_id, decide)


def check_level(broker: Broker) -> None:
    if broker.image.feature_level(SHARE_VERSION) < LEVEL:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"the cluster's {SHARE_VERSION} is less than {LEVEL}: raise it to use share groups",
        )
