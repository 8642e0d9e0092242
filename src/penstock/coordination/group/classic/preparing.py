"""A leader's plan for thousands, made ready ahead of the turn that takes it, with pauses.

All of a plan is one record, and to encode ten thousand members takes longer than one turn should.
What is written of a member does not change as long as its generation waits for the plan: whatever
changes it, be it that someone joins, leaves or comes back, begins a new round. So what was made
ready is good if it is still the same generation of the same group that waits, and else is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.stored import WRITTEN_VERSION, member_value
from penstock.coordination.pace import Pace
from penstock.log.steps import Steps
from penstock.wire.messages.k14_sync_group import SyncGroupRequest
from penstock.wire.primitives import Sink
from penstock.wire.stored.group_metadata import MemberMetadata

AT_ONCE_MAX = 500
"""Parts of a plan that need no preparation."""
PART_COST = 8
"""Of a part that is made ready, in the unit of `Pace`."""


class Part(MemberMetadata):
    """What is written of a member, encoded already."""

    raw: bytes = b""

    def write(self, out: Sink, version: int) -> None:
        assert version == WRITTEN_VERSION
        out += self.raw


class Ready(NamedTuple):
    body: Classic
    generation: int
    plan: Mapping[str, bytes]
    parts: list[MemberMetadata]

    def is_for(self, body: Classic) -> bool:
        """While that waits for its plan."""
        return body is self.body and body.generation == self.generation


def plan_in(request: SyncGroupRequest) -> dict[str, bytes]:
    return {each.member_id: bytes(each.assignment) for each in request.assignments}


def brings_plan(body: Classic, request: SyncGroupRequest) -> bool:
    return body.phase is Phase.SYNCING and request.member_id == body.leader


def has_to_be_prepared(body: Classic, request: SyncGroupRequest) -> bool:
    is_large = max(len(body.members), len(request.assignments)) > AT_ONCE_MAX
    return is_large and brings_plan(body, request)


def prepare(body: Classic, request: SyncGroupRequest) -> Steps[Ready]:
    generation, plan = body.generation, plan_in(request)
    parts: list[MemberMetadata] = []
    pace = Pace()
    for member in list(body.members.values()):
        assignment = plan.get(member.id, b"")
        out = Sink()
        member_value(body, member, assignment).write(out, WRITTEN_VERSION)
        parts.append(Part(member.id, assignment=assignment, raw=bytes(out)))
        if pace.is_spent(PART_COST):
            yield None
    return Ready(body, generation, plan, parts)
