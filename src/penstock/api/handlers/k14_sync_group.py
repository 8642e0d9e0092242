"""SyncGroup: the leader of a classic group brings its plan, and everyone gets a part of it.

Version 3 brought static members, 5 the protocol, so that a client is sure of what it decodes. A
plan for many is made ready to be written first, with everything else in between.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.member_ids import check_ids
from penstock.api.outcome import Outcome
from penstock.api.slices import in_slices
from penstock.coordination.group.classic.preparing import (
    Ready,
    brings_plan,
    has_to_be_prepared,
    prepare,
)
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.syncing import sync
from penstock.coordination.group.consumer import classic_members
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import unknown_member
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.turn import Turn
from penstock.wire.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse


def sync_group(broker: Broker, request: SyncGroupRequest, call: Call) -> Outcome[SyncGroupResponse]:
    check_ids(request.member_id, request.group_instance_id)
    group = broker.groups.shard(request.group_id).kept.get(request.group_id)
    body = group.body if group is not None else None
    if isinstance(body, Classic) and has_to_be_prepared(body, request):
        steps = prepare(body, request)
        return in_slices(broker, steps, lambda ready: _decide(broker, request, ready))
    return _decide(broker, request)


def _decide(
    broker: Broker, request: SyncGroupRequest, ready: Ready | None = None
) -> Outcome[SyncGroupResponse]:
    shard = broker.groups.shard(request.group_id)

    def decide(turn: Turn, group: Group) -> SyncGroupResponse | None:
        if isinstance(group.body, Classic):
            if brings_plan(group.body, request):
                shard.check_can_commit()  # everyone is told of it in the same turn
            return sync(turn, group, group.body, request, ready)
        if isinstance(group.body, ShareGroup):
            raise unknown_member(request.member_id)
        return classic_members.sync(turn, group, group.body, request)

    return shard.decide(request.group_id, decide)
