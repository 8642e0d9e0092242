"""ShareGroupDescribe: share groups, and what their members have.

Version 0 was never released.
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
from penstock.coordination.group.share.describing import describe, described_members
from penstock.coordination.group.share.heartbeat import no_such_group
from penstock.coordination.group.share.state import ShareGroup
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.wire.messages.k77_share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)


def share_group_describe(
    broker: Broker, request: ShareGroupDescribeRequest, call: Call
) -> Outcome[ShareGroupDescribeResponse]:
    rests: list[Rest] = []
    names = dict.fromkeys(request.group_ids)  # what is asked for twice is answered once
    return in_slices(
        broker,
        _described(broker, names, call.version, rests),
        lambda groups: once_committed(rests, ShareGroupDescribeResponse(groups=groups)),
    )


def _described(broker: Broker, names: Iterable[str], version: int, rests: list[Rest]) -> Steps[Any]:
    groups = Writing(version, at_once=SLICE_HEAVY)
    for name in names:
        group = yield from _describe(broker, name, groups, version, rests)
        yield from groups.add_all([group])
    return groups


def _describe(
    broker: Broker, name: str, groups: Writing, version: int, rests: list[Rest]
) -> Steps[DescribedGroup]:
    """Its members a slice at a time: each may name thousands of topics."""
    try:
        shard = broker.groups.shard(name)
        group = shard.kept.get(name)
        rests.append(shard.rest(group))
        if group is None or not isinstance(group.body, ShareGroup):
            raise no_such_group(name)
    except Refused as refused:
        return DescribedGroup(refused.code, refused.message, name)
    described = describe(name, group.body)
    members = described_members(broker.image, group.body)
    members_written = yield from written(version, members, inside=groups)
    return replace(described, members=members_written)


def share_group_describe_failed(
    request: ShareGroupDescribeRequest, code: ErrorCode, message: str
) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
        groups=[DescribedGroup(code, message, name) for name in request.group_ids]
    )
