"""How long members may be silent, and how long they may take to do what they were told to."""

from __future__ import annotations

from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.member import ConsumerMember, Holding
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.reconciling import held, without
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.turn import Turn

INTERVAL_MS_MIN = 500
INTERVAL_MS_MAX = 5_000
INTERVAL_MS_EACH = 10
"""So that a group sends about a hundred heartbeats a second, and small ones settle fast."""


def touch(turn: Turn, group: str, body: Consumer, member: ConsumerMember) -> None:
    """It has shown that it is alive."""
    classic = member.profile.classic
    if classic is not None:
        timeout_ms = classic.session_timeout_ms
    else:
        timeout_ms = turn.image.settings.of_group(group).consumer_session_timeout_ms
    deadline_ms = turn.time_ms + timeout_ms
    body.sessions[member.id] = deadline_ms
    body.due_ms = min(body.due_ms, deadline_ms)
    turn.wake_at(deadline_ms)


def give_time(turn: Turn, body: Consumer, member: ConsumerMember) -> None:
    """It has been told to do something, and may take so long as it said."""
    deadline_ms = turn.time_ms + member.profile.rebalance_timeout_ms
    deadline_ms = body.rebalances.setdefault(member.id, deadline_ms)
    body.due_ms = min(body.due_ms, deadline_ms)
    turn.wake_at(deadline_ms)


def watch_progress(draft: Draft, before: Holding, member: ConsumerMember) -> None:
    """Each revocation has its own time, and so has taking up what is to be revoked then."""
    if member.holding != before and _has_gone_on(draft.body, before, member):
        draft.body.rebalances.pop(member.id, None)
    if member.holding.state is MemberState.REVOKING or member.epoch < draft.target_epoch:
        give_time(draft.turn, draft.body, member)


def _has_gone_on(body: Consumer, before: Holding, member: ConsumerMember) -> bool:
    """One that is told to take something up, to give it up, and to take it up again has not, as
    long as it does not name that: its time would never end."""
    after = member.holding
    if after.epoch != before.epoch or held(after) != held(before):
        return True
    return bool(after.revoking) and not without(after.revoking, body.named.get(member.id, {}))


def interval_ms(turn: Turn, group: str, size: int) -> int:
    """How often members are to send heartbeats."""
    given = turn.image.settings.of_group(group).consumer_heartbeat_interval_ms
    return given or interval_by_size(size)


def interval_by_size(size: int, least_ms: int = INTERVAL_MS_MIN) -> int:
    return min(max(size * INTERVAL_MS_EACH, least_ms), INTERVAL_MS_MAX)
