"""Whose heartbeat it is: a member that is known, a new one, or a static one that has come back."""

from __future__ import annotations

from msgspec.structs import replace

from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.member import LEFT_FOR_NOW, ConsumerMember
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.reconciling import without
from penstock.coordination.group.consumer.records import assignment_of
from penstock.coordination.group.consumer.requests import JOIN
from penstock.coordination.group.members import check_instance, new_member_id, unknown_member
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def member_of(
    draft: Draft, request: ConsumerGroupHeartbeatRequest, client_id: str
) -> ConsumerMember:
    """A member that is not in the group yet has no epoch, and is not in the draft yet either."""
    body, instance_id = draft.body, request.instance_id
    member = draft.member(request.member_id)
    if request.member_epoch != JOIN:
        check_instance(body.static, member, instance_id)
        if member is None:
            raise unknown_member(request.member_id)
        check_epoch(member, request)
        return member
    holder = draft.holder_of(instance_id)
    if holder is not None and holder.id != request.member_id:
        if holder.epoch != LEFT_FOR_NOW and holder.profile.classic is None:
            raise Refused(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"instance {(instance_id or '')[:300]!r} is in use: stop it first, or wait until "
                "its session ends",
            )
        return take_place(draft, holder, request.member_id or new_member_id(draft.turn, client_id))
    return member or new_member(draft, request.member_id or new_member_id(draft.turn, client_id))


def new_member(draft: Draft, member_id: str) -> ConsumerMember:
    limit = draft.turn.config.group_consumer_max_size
    if draft.size >= limit:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"the group has group.consumer.max.size={limit} members",
        )
    return ConsumerMember(member_id)


def take_place(draft: Draft, holder: ConsumerMember, member_id: str) -> ConsumerMember:
    """A static member was started again: what was its own is its own, under the new id."""
    target = draft.target(holder.id)
    draft.remove(holder.id)
    holding = replace(holder.holding, epoch=LEFT_FOR_NOW, state=MemberState.STABLE, revoking={})
    member = ConsumerMember(member_id, holder.profile, holding)
    draft.put(member)
    draft.targets[member_id] = target
    if draft.body.making is not None:  # it is made for the former id
        draft.bump()
    return member


def check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
    """One that is an epoch behind may not have got our answer, if it has no more than that says."""
    epoch, holding = request.member_epoch, member.holding
    if epoch == holding.epoch:
        return
    if epoch == holding.previous_epoch and request.topic_partitions is not None:
        owned = assignment_of(request.topic_partitions)
        if not without(owned, holding.assigned):
            return
    raise Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"the member is at epoch {holding.epoch}, not {epoch}: it must give up its partitions and "
        "join again",
    )
