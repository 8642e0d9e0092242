"""ListGroups: the groups that this broker looks after.

Version 4 brought states, to be shown and chosen by, 5 the same for types; both in any case.
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
from penstock.coordination.group.protocols import protocol_type, state_name, type_name
from penstock.wire.messages.k16_list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)


def list_groups(
    broker: Broker, request: ListGroupsRequest, call: Call
) -> Outcome[ListGroupsResponse]:
    shards = broker.groups.loaded()

    def respond(listed: Any) -> Outcome[ListGroupsResponse]:
        rests = [Rest(shard, shard.end) for shard in shards]
        return once_committed(rests, ListGroupsResponse(groups=listed))

    groups = [group for shard in shards for group in shard.groups]
    return in_slices(broker, written(call.version, _chosen(request, groups)), respond)


def _chosen(request: ListGroupsRequest, groups: list[Group]) -> Iterator[ListedGroup]:
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    for group in groups:
        state, kind = state_name(group), type_name(group)
        if (not states or state.lower() in states) and (not types or kind.lower() in types):
            yield ListedGroup(group.name, protocol_type(group), state, kind)
