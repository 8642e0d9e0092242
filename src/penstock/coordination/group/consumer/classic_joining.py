"""JoinGroup of a member of the classic protocol in a group of KIP-848.

What it wants and has is taken down, as with a heartbeat; it waits for nobody.
"""

from __future__ import annotations

from functools import partial

from penstock.coordination.group.classic import joining
from penstock.coordination.group.classic.joining import Joiner
from penstock.coordination.group.classic.state import Protocols
from penstock.coordination.group.classic.subscriptions import CONSUMER
from penstock.coordination.group.consumer.downgrading import as_classic, is_to_be_classic
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.embedded import (
    by_id,
    profile_of_classic,
    subscription_of,
)
from penstock.coordination.group.consumer.heartbeat import advance
from penstock.coordination.group.consumer.joining import new_member, take_place
from penstock.coordination.group.consumer.member import ConsumerMember
from penstock.coordination.group.consumer.reconciling import Trust, Word
from penstock.coordination.group.consumer.requests import check_topic_count
from penstock.coordination.group.consumer.sessions import give_time, touch
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import (
    check_instance,
    check_metadata,
    metadata_bytes,
    new_member_id,
    unknown_member,
)
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.wire.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription


def join(
    turn: Turn, group: Group, body: Consumer, request: JoinGroupRequest, joiner: Joiner
) -> JoinGroupResponse | None:
    """The answer, or None: the group is one of the classic protocol now, and it comes later."""
    if not body.members:
        return _join_as_first(turn, group, body, request, joiner)
    subscription = _check_protocols(body, request)
    check_topic_count(subscription.topics)
    _check_metadata(body, request)
    if _has_to_be_told_its_id(request, joiner):
        return _told_its_id(turn, joiner)
    draft = Draft(turn, group.name, body)
    before = _member(draft, request, joiner)
    profile = profile_of_classic(
        subscription,
        _protocols(request),
        instance_id=request.group_instance_id,
        client_id=joiner.client_id,
        client_host=joiner.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=_rebalance_timeout_ms(request),
    )
    is_back = before.epoch > 0  # one that was just started has nothing, whatever it says
    owned = by_id(turn.image, subscription.owned_partitions) if is_back else {}
    member = advance(draft, before, profile, Word(owned, Trust.SURE))
    draft.write()
    touch(turn, group.name, body, member)
    body.rebalances.pop(member.id, None)
    give_time(turn, body, member)  # to sync
    if is_to_be_classic(draft):  # it has taken the place of the last one of the other protocol
        turn.wake_at(turn.time_ms)
    return _joined(member, request)


def _join_as_first(
    turn: Turn, group: Group, body: Consumer, request: JoinGroupRequest, joiner: Joiner
) -> JoinGroupResponse | None:
    """The group stays what it is until a member has come, and not only asked for an id."""
    if _has_to_be_told_its_id(request, joiner) and request.protocol_type and request.protocols:
        return _told_its_id(turn, joiner)
    classic = as_classic(turn, group, body)
    if request.member_id and request.group_instance_id is None:
        classic.pending[request.member_id] = turn.time_ms  # it is taken to have it from us
    turn.hand_on(partial(group.become, classic))
    return joining.join(turn, group, classic, request, joiner)


def _has_to_be_told_its_id(request: JoinGroupRequest, joiner: Joiner) -> bool:
    is_named = request.member_id or request.group_instance_id is not None
    return joiner.can_be_told_its_id and not is_named


def _told_its_id(turn: Turn, joiner: Joiner) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=new_member_id(turn, joiner.client_id)
    )


def _protocols(request: JoinGroupRequest) -> Protocols:
    return {each.name: bytes(each.metadata) for each in request.protocols}


def _check_protocols(body: Consumer, request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    """Its members of the classic protocol must have one in common, for they may be left alone."""
    names = {each.name for each in request.protocols}
    known = body.members.get(request.member_id)
    own = known.profile.classic if known else None
    others = len(body.members) - body.natives - (own is not None)
    votes = dict(body.classic_votes)
    for name, _ in own.protocols if own else ():
        votes[name] -= 1
    is_common = not others or any(votes.get(name, 0) >= others for name in names)
    try:
        if request.protocol_type != CONSUMER or not is_common:
            raise Malformed("its protocols are others than the group's")
        return subscription_of(_protocols(request))
    except Malformed as problem:
        raise Refused(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"the group is shared with members of the consumer protocol: {problem}",
        ) from None


def _check_metadata(body: Consumer, request: JoinGroupRequest) -> None:
    """They may be left alone, and then have one plan. What it said before does not count."""
    known = body.members.get(
        request.member_id or body.static.get(request.group_instance_id or "", "")
    )
    classic = known.profile.classic if known else None
    before = metadata_bytes(dict(classic.protocols)) if classic else 0
    own = metadata_bytes(_protocols(request))
    if own > before:
        check_metadata(body.classic_bytes - before, own)


def _rebalance_timeout_ms(request: JoinGroupRequest) -> int:
    given = request.rebalance_timeout_ms
    return given if given >= 0 else request.session_timeout_ms


def _member(draft: Draft, request: JoinGroupRequest, joiner: Joiner) -> ConsumerMember:
    body, instance_id = draft.body, request.group_instance_id
    member = body.members.get(request.member_id)
    if instance_id is None:
        return member or new_member(
            draft, request.member_id or new_member_id(draft.turn, joiner.client_id)
        )
    if request.member_id:
        check_instance(body.static, member, instance_id)
        if member is None:
            raise unknown_member(request.member_id)
        return member
    holder = draft.holder_of(instance_id)
    member_id = new_member_id(draft.turn, instance_id)
    return take_place(draft, holder, member_id) if holder else new_member(draft, member_id)


def _joined(member: ConsumerMember, request: JoinGroupRequest) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=member.epoch,
        protocol_type=CONSUMER,
        protocol_name=request.protocols[0].name,
        leader="",
        member_id=member.id,
    )
