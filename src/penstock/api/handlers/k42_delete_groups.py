"""DeleteGroups: groups without members, and their offsets, go for good."""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import Rest, once_committed
from penstock.coordination.group import protocols
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


def delete_groups(
    broker: Broker, request: DeleteGroupsRequest, call: Call
) -> Outcome[DeleteGroupsResponse]:
    rests: list[Rest] = []
    results = [
        DeletableGroupResult(name, _delete(broker, name, rests))
        for name in dict.fromkeys(request.groups_names)
    ]
    return once_committed(rests, DeleteGroupsResponse(results=results))


def _delete(broker: Broker, name: str, rests: list[Rest]) -> ErrorCode:
    try:
        shard = broker.groups.shard(name)
        group = shard.groups.get(name)
        if group is not None:
            shard.look_after(group, protocols.delete)
    except Refused as refused:
        return refused.code
    rests.append(shard.rest(group))
    return ErrorCode.GROUP_ID_NOT_FOUND if group is None else ErrorCode.NONE


def delete_groups_failed(
    request: DeleteGroupsRequest, code: ErrorCode, message: str
) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(name, code) for name in request.groups_names]
    )
