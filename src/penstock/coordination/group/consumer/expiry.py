"""What falls due without anyone asking: sessions, revocations, targets, topics to look at again."""

from __future__ import annotations

from math import inf

from penstock.coordination.group.consumer.downgrading import go_back, is_to_be_classic
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.leaving import depart
from penstock.coordination.group.consumer.making import make_on
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.searches import are_open, search_on
from penstock.coordination.group.consumer.sessions import give_time, touch
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.topics import look_again
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn


def begin_sessions(turn: Turn, body: Consumer) -> None:
    """A coordinator has been loaded: its members are given the time to find it."""
    body.sessions.clear()
    body.rebalances.clear()
    body.named.clear()
    body.refresh_ms = body.due_ms = 0.0
    if body.members:
        turn.wake_at(turn.time_ms)


def expire(turn: Turn, group: Group) -> None:
    """One thing that is due, and the time of the next, which may be now."""
    body = group.body
    if not isinstance(body, Consumer) or not body.members:
        return
    late = _late(turn, group.name, body)
    if late:
        depart(turn, group, body, sorted(late))
        turn.wake_at(turn.time_ms)
    elif is_to_be_classic(draft := Draft(turn, group.name, body)):
        go_back(draft, group)
    elif body.refresh_ms <= turn.time_ms:
        body.refresh_ms = turn.time_ms + turn.config.group_consumer_regex_refresh_interval_ms
        look_again(turn, group, body)
        turn.wake_at(turn.time_ms)
    else:
        body.returning = None
        if are_open(body):
            search_on(draft)
        if draft.resolved:
            draft.bump()
        make_on(draft)
        draft.write()
    _wake_for_the_next(turn, body)


def _late(turn: Turn, group: str, body: Consumer) -> set[str]:
    """Who has not done in time what it should. All members are looked at only when that may be so:
    the target of a large group takes many turns."""
    if body.due_ms > turn.time_ms and len(body.sessions) == len(body.members):
        return set()
    turn.spend(len(body.members))
    _tend_sessions(turn, group, body)
    deadlines = (body.sessions, body.rebalances)
    body.due_ms = min(min(each.values(), default=inf) for each in deadlines)
    return {
        member_id
        for each in deadlines
        for member_id, due_ms in each.items()
        if due_ms <= turn.time_ms
    }


def _tend_sessions(turn: Turn, group: str, body: Consumer) -> None:
    """Begin those of members that came with another coordinator, or from the other protocol, and
    drop those of members that never came to be, because it could not be written."""
    for kept in (body.sessions, body.rebalances, body.named):
        for member_id in kept.keys() - body.members.keys():
            del kept[member_id]
    for member_id in body.members.keys() - body.sessions.keys():
        member = body.members[member_id]
        touch(turn, group, body, member)
        if member.holding.state is MemberState.REVOKING:
            give_time(turn, body, member)


def _wake_for_the_next(turn: Turn, body: Consumer) -> None:
    soonest_ms = min(body.refresh_ms if body.regexes else inf, body.due_ms)
    if soonest_ms < inf:
        turn.wake_at(soonest_ms)
