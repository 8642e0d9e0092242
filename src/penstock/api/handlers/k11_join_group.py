"""JoinGroup: a member of the classic protocol asks for a part of the work.

Version 1 brought the rebalance timeout, 4 ids that are told before the join counts (KIP-394), 5
static members, 7 the protocol in the answer, 8 a reason, which we only log, 9 leaders that come
back without planning anew. The answer waits until everyone has joined.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from msgspec import structs

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.member_ids import check_ids
from penstock.api.outcome import Later, Outcome
from penstock.api.slices import SLICE_ELEMENTS, Writing, in_slices
from penstock.coordination.group.classic.joining import Joiner, join
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer import classic_members
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import check_length
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.wire.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse

ID_FIRST_SINCE = 4
SKIP_SINCE = 9
PROTOCOLS_MAX = 100

log = logging.getLogger(__name__)


def join_group(broker: Broker, request: JoinGroupRequest, call: Call) -> Outcome[JoinGroupResponse]:
    shard = broker.groups.shard(request.group_id)
    _check(broker, request)
    shard.check_can_commit()  # a round goes on in memory until it is written
    joiner = Joiner(
        call.client_id or "",
        f"/{call.peer.rpartition(':')[0]}",
        can_be_told_its_id=call.version >= ID_FIRST_SINCE,
        can_skip_assignment=call.version >= SKIP_SINCE,
    )
    if request.reason:
        log.info("%.300s joins %.300s: %.300s", joiner.client_id, request.group_id, request.reason)

    def decide(turn: Turn, group: Group) -> JoinGroupResponse | None:
        if isinstance(group.body, Classic):
            return join(turn, group, group.body, request, joiner)
        if isinstance(group.body, ShareGroup):
            raise Refused(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"{group.name[:300]!r} is a share group: consumer groups need names of their own",
            )
        return classic_members.join(turn, group, group.body, request, joiner)

    return _in_slices(broker, call.version, shard.decide(request.group_id, decide))


def _in_slices(
    broker: Broker, version: int, outcome: Outcome[JoinGroupResponse]
) -> Outcome[JoinGroupResponse]:
    """A leader is told of everyone: of thousands, a slice at a time."""
    if not isinstance(outcome, Later):
        return outcome
    look = outcome.answer

    def sliced(time_is_up: bool) -> Any:
        answer = look(time_is_up)
        if not isinstance(answer, JoinGroupResponse) or len(answer.members) <= SLICE_ELEMENTS:
            return answer
        return in_slices(broker, _written(answer, version), lambda done: done)

    return replace(outcome, answer=sliced)


def _written(answer: JoinGroupResponse, version: int) -> Steps[Any]:
    """However much that is: a leader that is told nothing would keep all from going on."""
    members = Writing(version)
    for member in answer.members:
        if members.add(member):
            yield None
    return structs.replace(answer, members=members)


def _check(broker: Broker, request: JoinGroupRequest) -> None:
    config = broker.config
    least, most = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    if not least <= request.session_timeout_ms <= most:
        raise Refused(
            ErrorCode.INVALID_SESSION_TIMEOUT,
            f"a session timeout lies between {least} and {most} ms, and not at "
            f"{request.session_timeout_ms}",
        )
    if not request.protocol_type or not request.protocols:
        raise Refused(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "a member proposes at least one protocol"
        )
    names = [("a protocol's name", each.name) for each in request.protocols]
    names += [("protocol_type", request.protocol_type)]
    for what, name in names:
        check_length(what, name)
    check_ids(request.member_id, request.group_instance_id)
    if len(request.protocols) > PROTOCOLS_MAX:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"a member proposes at most {PROTOCOLS_MAX} protocols"
        )


def join_group_failed(
    request: JoinGroupRequest, code: ErrorCode, message: str
) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=code, protocol_name="", leader="", member_id=request.member_id
    )
