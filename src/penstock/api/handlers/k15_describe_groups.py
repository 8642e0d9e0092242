"""DescribeGroups: groups of the classic protocol and who is in them.

Version 3 asks for authorized operations, 4 brought instance ids, 6 an error for a group that is not
there; before that such a group was Dead. A group of the new protocol is to be asked for with
ConsumerGroupDescribe.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import Rest, once_committed
from penstock.api.slices import SLICE_HEAVY, Writing, in_slices, written
from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.groups import Group
from penstock.coordination.group.protocols import DEAD
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.wire.messages.k15_describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

NOT_FOUND_SINCE = 6


def describe_groups(
    broker: Broker, request: DescribeGroupsRequest, call: Call
) -> Outcome[DescribeGroupsResponse]:
    rests: list[Rest] = []
    names = dict.fromkeys(request.groups)  # what is asked for twice is answered once
    return in_slices(
        broker,
        _described(broker, names, call.version, rests),
        lambda groups: once_committed(rests, DescribeGroupsResponse(groups=groups)),
    )


def _described(broker: Broker, names: Iterable[str], version: int, rests: list[Rest]) -> Steps[Any]:
    """A group as it is at one moment, and its members written a slice at a time."""
    groups = Writing(version, at_once=SLICE_HEAVY)
    for name in names:
        group = _describe(broker, name, version, rests)
        members = yield from written(version, group.members, inside=groups)
        yield from groups.add_all([replace(group, members=members)])
    return groups


def _describe(broker: Broker, name: str, version: int, rests: list[Rest]) -> DescribedGroup:
    try:
        shard = broker.groups.shard(name)
        group = shard.kept.get(name)
        rests.append(shard.rest(group))
        if group is None or not isinstance(group.body, Classic):
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no classic group {name[:300]}")
        return _of(group, group.body)
    except Refused as refused:
        code, message = refused.code, refused.message
        if code == ErrorCode.GROUP_ID_NOT_FOUND and version < NOT_FOUND_SINCE:
            return DescribedGroup(group_id=name, group_state=DEAD)
        return DescribedGroup(code, message, name, DEAD)


def _of(group: Group, body: Classic) -> DescribedGroup:
    knows_plan = body.phase is Phase.STABLE
    has_protocol = body.phase in (Phase.STABLE, Phase.SYNCING)
    return DescribedGroup(
        group_id=group.name,
        group_state=body.phase.value,
        protocol_type=body.protocol_type,
        protocol_data=(body.protocol or "") if has_protocol else "",
        members=[
            DescribedGroupMember(
                member.id,
                member.instance_id,
                member.client_id,
                member.client_host,
                body.metadata(member) if has_protocol else b"",
                member.assignment if knows_plan else b"",
            )
            for member in body.members.values()
        ],
    )


def describe_groups_failed(
    request: DescribeGroupsRequest, code: ErrorCode, message: str
) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[DescribedGroup(code, message, name, DEAD) for name in request.groups]
    )
