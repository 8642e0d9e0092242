"""How long members may be silent, and how they go: by themselves, or when that time is over."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from penstock.coordination.group.consumer.sessions import INTERVAL_MS_MIN, interval_by_size
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share.draft import Draft
from penstock.coordination.group.share.making import make_on
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.turn import Turn

SOON_MS = 100
"""Between two heartbeats of a small group that waits for partitions."""
GONE_A_TURN = 100
"""Members whose time is over, and of which that is written at once."""


def touch(turn: Turn, group: str, body: ShareGroup, member_id: str) -> None:
    """It has shown that it is alive."""
    deadline_ms = turn.time_ms + turn.image.settings.of_group(group).share_session_timeout_ms
    body.sessions[member_id] = deadline_ms
    body.due_ms = min(body.due_ms, deadline_ms)
    turn.wake_at(deadline_ms)


def interval_ms(draft: Draft) -> int:
    """How often members are to send heartbeats. While partitions are being set up there will be
    something to tell them soon."""
    given = draft.turn.image.settings.of_group(draft.name).share_heartbeat_interval_ms
    least_ms = SOON_MS if draft.begun.initializing else INTERVAL_MS_MIN
    return given or interval_by_size(len(draft.members), least_ms)


def depart(turn: Turn, group: Group, body: ShareGroup, member_ids: Iterable[str]) -> None:
    """Without them, the others share the work anew."""
    draft = Draft(turn, group.name, body)
    for member_id in member_ids:
        del draft.members[member_id]
    draft.settle(is_changed=True)
    draft.write()


def begin_sessions(turn: Turn, body: ShareGroup) -> None:
    """A coordinator has been loaded: its members are given the time to find it, and topics may have
    changed while there was none."""
    body.sessions.clear()
    body.due_ms = 0.0
    body.has_been_told = False
    if body.members:
        turn.wake_at(turn.time_ms)


def expire(turn: Turn, group: Group, body: ShareGroup) -> None:
    """What is due by now, and the time of the next."""
    if not body.members:
        return
    late = _late(turn, group.name, body)
    if late:
        depart(turn, group, body, sorted(late)[:GONE_A_TURN])  # others are due at once, too
    elif not body.has_been_told:
        body.has_been_told = True
        look_again(turn, group, body)
    else:
        make_on(turn, group, body)
    if body.due_ms < inf:
        turn.wake_at(body.due_ms)


def _late(turn: Turn, group: str, body: ShareGroup) -> set[str]:
    _tend_sessions(turn, group, body)
    body.due_ms = min(body.sessions.values(), default=inf)
    return {each for each, due_ms in body.sessions.items() if due_ms <= turn.time_ms}


def _tend_sessions(turn: Turn, group: str, body: ShareGroup) -> None:
    """Begin those of members that came with another coordinator, or with the group, and drop those
    of members that never came to be, because it could not be written."""
    for member_id in body.sessions.keys() - body.members.keys():
        del body.sessions[member_id]
    for member_id in body.members.keys() - body.sessions.keys():
        touch(turn, group, body, member_id)


def topics_changed(turn: Turn, group: Group, body: ShareGroup, topics: Iterable[str]) -> None:
    """Their partitions are others now, or they are new, or gone."""
    if any(body.begun.has(name) or body.reads(name) for name in topics):
        look_again(turn, group, body)


def look_again(turn: Turn, group: Group, body: ShareGroup) -> None:
    draft = Draft(turn, group.name, body)
    draft.settle(is_changed=False)
    draft.write()
