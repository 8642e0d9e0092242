"""ListGroups: the groups that this broker looks after.

Version 4 brought states, to be shown and chosen by, 5 the same for types; both in any case.
Where too few replicas are in sync, the state of a group that has just changed is Unknown: nothing
becomes committed for now, and the others must not be hidden by it.

From version 3 on there are tagged fields of our own: who asks for groups that read a topic gets
those that are subscribed to it, have committed offsets or shares in it, and the partitions of the
offsets topic that the answer covers: groups of others are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import Rest, once_committed
from penstock.api.slices import in_slices, written
from penstock.coordination.group.groups import Group
from penstock.coordination.group.protocols import (
    has_been_read,
    protocol_type,
    state_name,
    type_name,
)
from penstock.coordination.group.readers import Readers
from penstock.coordination.pace import Pace
from penstock.log.steps import Steps
from penstock.replication.leader import Leader
from penstock.wire.messages.k16_list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

UNKNOWN = "Unknown"


def list_groups(
    broker: Broker, request: ListGroupsRequest, call: Call
) -> Outcome[ListGroupsResponse]:
    shards = broker.groups.loaded()
    committing = [shard for shard in shards if not shard.leader.has_too_few_in_sync]

    def respond(listed: Any) -> Outcome[ListGroupsResponse]:
        rests = [Rest(shard, shard.end) for shard in committing]
        return once_committed(rests, ListGroupsResponse(groups=listed))

    groups = [
        (shard.leader, group) for shard in shards for group in shard.kept if not group.is_ending
    ]
    if not request.reads_topic:
        return in_slices(broker, written(call.version, _chosen(request, groups)), respond)

    def respond_to_broker(listed: list[ListedGroup]) -> Outcome[ListGroupsResponse]:
        rests = [Rest(shard, shard.end) for shard in shards]
        covered = [shard.leader.index for shard in shards if not shard.is_over]
        return once_committed(rests, ListGroupsResponse(groups=listed, coordinated=covered))

    return in_slices(broker, _readers(request.reads_topic, groups), respond_to_broker)


def _readers(topic: str, groups: list[tuple[Leader, Group]]) -> Steps[list[ListedGroup]]:
    readers, found = Readers([topic], Pace()), []
    for _, group in groups:
        yield from readers.look(group)
        is_reading = topic in readers.read(group)
        if is_reading or has_been_read(group, topic):
            state, kind = state_name(group), type_name(group)
            listed = ListedGroup(group.name, protocol_type(group), state, kind, is_reading)
            found.append(listed)
    return found


def _chosen(
    request: ListGroupsRequest, groups: list[tuple[Leader, Group]]
) -> Iterator[ListedGroup]:
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    for leader, group in groups:
        is_unknown = leader.has_too_few_in_sync and group.end > leader.high_watermark
        state, kind = UNKNOWN if is_unknown else state_name(group), type_name(group)
        if (not states or state.lower() in states) and (not types or kind.lower() in types):
            yield ListedGroup(group.name, protocol_type(group), state, kind)
