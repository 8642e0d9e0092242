"""SyncGroup: the leader of a classic group brings its plan, and everyone gets a part of it.

Version 3 brought static members, 5 the protocol, so that a client is sure of what it decodes.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.member_ids import check_ids
from penstock.api.outcome import Outcome
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.syncing import sync
from penstock.coordination.group.consumer import classic_members
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn
from penstock.wire.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse


def sync_group(broker: Broker, request: SyncGroupRequest, call: Call) -> Outcome[SyncGroupResponse]:
    check_ids(request.member_id, request.group_instance_id)

    def decide(turn: Turn, group: Group) -> SyncGroupResponse | None:
        if isinstance(group.body, Classic):
            return sync(turn, group, group.body, request)
        return classic_members.sync(turn, group, group.body, request)

    return broker.groups.shard(request.group_id).decide(request.group_id, decide)
