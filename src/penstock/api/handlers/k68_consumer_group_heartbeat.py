"""ConsumerGroupHeartbeat: a member of KIP-848 joins, lives, learns what is its own, and leaves.

Version 1 brought subscriptions by regular expression, and ids that members make for themselves: in
version 0 one that has none is given one. Where the first of them comes to a classic group of many,
what that becomes is made ready first, with everything else in between.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.slices import in_slices
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer.converting import Conversion
from penstock.coordination.group.consumer.heartbeat import heartbeat
from penstock.coordination.group.consumer.requests import JOIN, check_request
from penstock.coordination.group.consumer.upgrading import make_ready
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.wire.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

OWN_IDS_SINCE = 1
FEATURE = "group.version"
LEVEL = 1
TRIES = 3


def consumer_group_heartbeat(
    broker: Broker, request: ConsumerGroupHeartbeatRequest, call: Call
) -> Outcome[ConsumerGroupHeartbeatResponse]:
    _check(broker, request, call.version)
    if request.member_epoch == JOIN:
        steps = _made_ready(broker, request)
        return in_slices(broker, steps, lambda ready: _decide(broker, request, call, ready))
    return _decide(broker, request, call)


def _made_ready(broker: Broker, request: ConsumerGroupHeartbeatRequest) -> Steps[Conversion | None]:
    """The group may be another one by then: in the end it is done in one go."""
    for _ in range(TRIES):
        group = broker.groups.shard(request.group_id).kept.get(request.group_id)
        body = group.body if group is not None else None
        if not isinstance(body, Classic) or not body.members:
            break
        check_request(broker.config, request)
        ready = yield from make_ready(broker.config, broker.image, request.group_id, body)
        if ready.is_for(broker.image, body):
            return ready
    return None


def _decide(
    broker: Broker,
    request: ConsumerGroupHeartbeatRequest,
    call: Call,
    ready: Conversion | None = None,
) -> Outcome[ConsumerGroupHeartbeatResponse]:
    host = f"/{call.peer.rpartition(':')[0]}"

    def decide(turn: Turn, group: Group) -> ConsumerGroupHeartbeatResponse:
        return heartbeat(turn, group, request, call.client_id or "", host, ready)

    return broker.groups.shard(request.group_id).decide(request.group_id, decide)


def _check(broker: Broker, request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    if broker.image.feature_level(FEATURE) < LEVEL:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"the cluster's {FEATURE} is less than {LEVEL}: raise it, or use the classic protocol",
        )
    if not request.group_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "a group has a name")
    if version >= OWN_IDS_SINCE and not request.member_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "a member brings an id of its own")
