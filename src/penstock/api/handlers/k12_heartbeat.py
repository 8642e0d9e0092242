"""Heartbeat: a member of the classic protocol is alive, and learns when it has to join again.

While its group is being loaded it is told that all is well: it is given a new session after that.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.member_ids import check_ids
from penstock.api.outcome import Outcome
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.syncing import heartbeat as classic_heartbeat
from penstock.coordination.group.consumer import classic_members
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import unknown_member
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(broker: Broker, request: HeartbeatRequest, call: Call) -> Outcome[HeartbeatResponse]:
    check_ids(request.member_id, request.group_instance_id)
    try:
        shard = broker.groups.shard(request.group_id)
    except Refused as refused:
        if refused.code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            raise
        return HeartbeatResponse()

    def decide(turn: Turn, group: Group) -> HeartbeatResponse:
        who = request.member_id, request.group_instance_id, request.generation_id
        if isinstance(group.body, Classic):
            classic_heartbeat(turn, group.body, *who)
        elif isinstance(group.body, ShareGroup):
            raise unknown_member(request.member_id)
        else:
            classic_members.heartbeat(turn, group, group.body, *who)
        return HeartbeatResponse()

    return shard.decide(request.group_id, decide)
