"""ConsumerGroupHeartbeat: members join, say what they want and have, and learn what is theirs."""

from __future__ import annotations

from msgspec.structs import replace

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer.converting import Conversion
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.joining import member_of
from penstock.coordination.group.consumer.leaving import leave, no_such_group
from penstock.coordination.group.consumer.member import ConsumerMember, Profile
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.reconciling import Trust, Word, reconcile
from penstock.coordination.group.consumer.records import assignment_of, listed
from penstock.coordination.group.consumer.requests import (
    JOIN,
    check_request,
    is_full,
    profile_after,
    says_nothing_new,
)
from penstock.coordination.group.consumer.searches import check_expressions, resolve
from penstock.coordination.group.consumer.sessions import interval_ms, touch, watch_progress
from penstock.coordination.group.consumer.shown import has_new_ids, meant, shown
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.subscriptions import check_names, wanted
from penstock.coordination.group.consumer.targets import settle
from penstock.coordination.group.consumer.upgrading import end_round, upgraded
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn
from penstock.metadata.image import Image
from penstock.wire.messages import k68_consumer_group_heartbeat as k68
from penstock.wire.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def heartbeat(
    turn: Turn,
    group: Group,
    request: ConsumerGroupHeartbeatRequest,
    client_id: str,
    client_host: str,
    ready: Conversion | None = None,
) -> ConsumerGroupHeartbeatResponse:
    """`ready`: what the group becomes if it is of the classic protocol and has many members."""
    body = group.body
    if isinstance(body, Consumer):
        member = body.members.get(request.member_id)
        if member is not None and _is_at_rest(body, member, request, client_id, client_host):
            touch(turn, group.name, body, member)
            body.hear(member.id, member.holding, _owned(turn.image, request))
            return _answer(turn, group.name, len(body.members), member)
    check_request(turn.config, request)
    if request.member_epoch < JOIN:
        return leave(turn, group, request)
    draft = _draft(turn, group, request, ready)
    member = member_of(draft, request, client_id)
    profile = profile_after(member.profile, request, client_id, client_host)
    answer = _go_on(draft, member, profile, request)
    if isinstance(body, Classic):
        end_round(turn, body)
    return answer


def _is_at_rest(
    body: Consumer,
    member: ConsumerMember,
    request: ConsumerGroupHeartbeatRequest,
    client_id: str,
    client_host: str,
) -> bool:
    """Nothing is to be done for a member but to note that it lives: nearly always so."""
    holding = member.holding
    return (
        request.member_epoch == holding.epoch == body.target_epoch == body.epoch
        and holding.state is MemberState.STABLE
        and request.instance_id in (None, member.instance_id)
        and client_id == member.profile.client_id
        and client_host == member.profile.client_host
        and says_nothing_new(request)
    )


def _draft(
    turn: Turn,
    group: Group,
    request: ConsumerGroupHeartbeatRequest,
    ready: Conversion | None,
) -> Draft:
    body = group.body
    if isinstance(body, Consumer):
        return Draft(turn, group.name, body)
    if not isinstance(body, Classic) or request.member_epoch != JOIN:
        raise no_such_group(group.name)
    return upgraded(turn, group, body, ready)


def _go_on(
    draft: Draft,
    before: ConsumerMember,
    profile: Profile,
    request: ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse:
    member = advance(draft, before, profile, _word(draft.turn.image, request))
    draft.write()
    turn, name = draft.turn, draft.name
    touch(turn, name, draft.body, member)
    watch_progress(draft, before.holding, member)
    is_told = is_full(request) or _may_not_know(turn, before, member, request.member_epoch)
    return _answer(turn, name, draft.size, member, is_told=is_told)


def _may_not_know(turn: Turn, before: ConsumerMember, member: ConsumerMember, epoch: int) -> bool:
    """What it is to have. An answer may have got lost: who comes with another epoch than it has, or
    has yet to give something up, is told again."""
    assigned = member.holding.assigned
    return (
        epoch != member.epoch
        or member.holding.state is MemberState.REVOKING
        or assigned != before.holding.assigned
        or (member.epoch != before.epoch and has_new_ids(turn.image, assigned))
    )


def _owned(image: Image, request: ConsumerGroupHeartbeatRequest) -> Assignment | None:
    parts = request.topic_partitions
    return None if parts is None else meant(image, assignment_of(parts))


def _word(image: Image, request: ConsumerGroupHeartbeatRequest) -> Word:
    owned = _owned(image, request)
    if request.member_epoch == JOIN:
        return Word(owned, Trust.SURE)
    return Word(owned, Trust.REPEAT if is_full(request) else Trust.ANSWER)


def advance(draft: Draft, before: ConsumerMember, profile: Profile, word: Word) -> ConsumerMember:
    """A member with what it says of itself now, brought nearer to its target."""
    is_new = draft.member(before.id) is None
    is_renewed = profile.wishes != before.profile.wishes
    member = before if profile is before.profile else replace(before, profile=profile)
    if is_new or member is not before:
        draft.put(member)
    if is_new or is_renewed:
        check_names(draft, before.profile, profile)
        check_expressions(draft, before.profile.regex, profile.regex)
        resolve(draft, profile.regex)
        draft.bump()
    settle(draft)
    holding = reconcile(
        member.holding,
        wanted(draft, member),
        draft.target_epoch,
        word._replace(named=draft.body.named.get(member.id, {})),
        lambda place: draft.is_free_for(member.id, place),
        draft.is_there,
        is_renewed=is_renewed,
    )
    draft.body.hear(member.id, member.holding, word.owned)
    return draft.hold(member, holding)


def _answer(
    turn: Turn, group: str, size: int, member: ConsumerMember, *, is_told: bool = False
) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if is_told:
        shown_parts = shown(turn.image, member.holding.assigned)
        assignment = k68.Assignment(listed(shown_parts, k68.TopicPartitions))
    return ConsumerGroupHeartbeatResponse(
        member_id=member.id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=interval_ms(turn, group, size),
        assignment=assignment,
    )
