"""ShareGroupHeartbeat: members join, say what they want, and learn what they are to have.

Nobody has to give anything up before another can have it, so a member has its part of the target as
soon as it is told of it.
"""

from __future__ import annotations

from msgspec.structs import replace

from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer.records import listed
from penstock.coordination.group.consumer.shown import has_new_ids, shown
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import unknown_member
from penstock.coordination.group.share.draft import Draft
from penstock.coordination.group.share.requests import (
    JOIN,
    LEAVE,
    check_request,
    check_subscription,
    profile_after,
)
from penstock.coordination.group.share.sessions import depart, interval_ms, touch
from penstock.coordination.group.share.state import ShareGroup, ShareMember
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages import k76_share_group_heartbeat as k76
from penstock.wire.messages.k76_share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


def heartbeat(
    turn: Turn,
    group: Group,
    request: ShareGroupHeartbeatRequest,
    client_id: str,
    client_host: str,
) -> ShareGroupHeartbeatResponse:
    check_request(request)
    body = _body(group, request)
    if request.member_epoch == LEAVE:
        return _leave(turn, group, body, request)
    before = _member(turn, body, request)
    profile = profile_after(before.profile, request, client_id, client_host)
    member = before if profile is before.profile else replace(before, profile=profile)
    is_changed = before.id not in body.members or profile.topics != before.profile.topics
    if is_changed:
        check_subscription(turn.image, body, before.profile, profile.topics)
    draft = Draft(turn, group.name, body)
    if is_changed or member is not before or member.epoch != body.target_epoch:
        member = _go_on(draft, member, is_changed=is_changed)
    touch(turn, group.name, body, member.id)
    if body is not group.body:  # what the group will be: its session begins when that is there
        turn.wake_at(turn.time_ms)
    is_told = request.subscribed_topic_names is not None or request.member_epoch != member.epoch
    is_told = is_told or _has_news(turn, before, member)
    return _answer(draft, member, is_told=is_told)


def _go_on(draft: Draft, member: ShareMember, *, is_changed: bool) -> ShareMember:
    draft.members[member.id] = member
    if is_changed:
        draft.settle(is_changed=True)
        draft.aim_at_own(member)
    member = draft.bring_up(member)
    draft.write()
    return member


def _body(group: Group, request: ShareGroupHeartbeatRequest) -> ShareGroup:
    """The group, which begins with its first member."""
    if isinstance(group.body, ShareGroup):
        return group.body
    if group.is_forgotten and request.member_epoch == JOIN:
        return ShareGroup()
    if isinstance(group.body, Classic) and group.is_forgotten:
        raise no_such_group(group.name)
    raise Refused(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"group {group.name[:300]!r} is a consumer group: share groups need names of their own",
    )


def no_such_group(name: str) -> Refused:
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no share group {name[:300]!r}")


def _member(turn: Turn, body: ShareGroup, request: ShareGroupHeartbeatRequest) -> ShareMember:
    """One that is known, or a new one, which is not in the group yet."""
    member, epoch = body.members.get(request.member_id), request.member_epoch
    if epoch == JOIN:
        return member or _new_member(turn, body, request.member_id)
    if member is None:
        raise unknown_member(request.member_id)
    if epoch not in (member.epoch, member.holding.previous_epoch):  # our answer may have got lost
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"the member is at epoch {member.epoch}, not {epoch}: it must join again",
        )
    return member


def _new_member(turn: Turn, body: ShareGroup, member_id: str) -> ShareMember:
    limit = turn.config.group_share_max_size
    if len(body.members) >= limit:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED, f"the group has group.share.max.size={limit} members"
        )
    return ShareMember(member_id)


def _leave(
    turn: Turn, group: Group, body: ShareGroup, request: ShareGroupHeartbeatRequest
) -> ShareGroupHeartbeatResponse:
    if request.member_id not in body.members:
        raise unknown_member(request.member_id)
    depart(turn, group, body, [request.member_id])
    return ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=LEAVE)


def _has_news(turn: Turn, before: ShareMember, member: ShareMember) -> bool:
    if before.holding.assigned != member.holding.assigned:
        return True
    return before.epoch != member.epoch and has_new_ids(turn.image, member.holding.assigned)


def _answer(draft: Draft, member: ShareMember, *, is_told: bool) -> ShareGroupHeartbeatResponse:
    assignment = None
    if is_told:
        parts = shown(draft.turn.image, member.holding.assigned)
        assignment = k76.Assignment(listed(parts, k76.TopicPartitions))
    return ShareGroupHeartbeatResponse(
        member_id=member.id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=interval_ms(draft),
        assignment=assignment,
    )
