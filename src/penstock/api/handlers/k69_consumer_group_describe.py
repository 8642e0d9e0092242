"""ConsumerGroupDescribe: groups of KIP-848, with what members have and are to have.

Version 1 tells members of the classic protocol from others.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import Rest, once_committed
from penstock.api.slices import SLICE_HEAVY, in_slices, written
from penstock.coordination.group.consumer.describing import describe
from penstock.coordination.group.consumer.state import Consumer
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def consumer_group_describe(
    broker: Broker, request: ConsumerGroupDescribeRequest, call: Call
) -> Outcome[ConsumerGroupDescribeResponse]:
    rests: list[Rest] = []
    names = dict.fromkeys(request.group_ids)  # what is asked for twice is answered once
    described = (_describe(broker, name, rests) for name in names)
    return in_slices(
        broker,
        written(call.version, described, at_once=SLICE_HEAVY),
        lambda groups: once_committed(rests, ConsumerGroupDescribeResponse(groups=groups)),
    )


def _describe(broker: Broker, name: str, rests: list[Rest]) -> DescribedGroup:
    try:
        shard = broker.groups.shard(name)
        group = shard.groups.get(name)
        rests.append(shard.rest(group))
        if group is None or not isinstance(group.body, Consumer):
            raise Refused(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"there is no group {name[:300]!r} of the consumer protocol",
            )
        return describe(broker.config, broker.image, group, group.body)
    except Refused as refused:
        return DescribedGroup(refused.code, refused.message, name)


def consumer_group_describe_failed(
    request: ConsumerGroupDescribeRequest, code: ErrorCode, message: str
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[DescribedGroup(code, message, name) for name in request.group_ids]
    )
