"""How the target of a large group is made: a step at a time, in turns of its own.

In one go, ten thousand members would hold up everyone else for the twentieth of a second. Meanwhile
the group goes on: who comes, goes or wants something else has another target made after this one
(`Draft.bump`). Its parts are written before its epoch. Until that is there, members that are stable
stay as they are, and nobody gets what another has, whatever a part says.
"""

from __future__ import annotations

from itertools import islice

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.subscriptions import subscribed
from penstock.coordination.group.consumer.targets import Plan, is_due, settle
from penstock.coordination.pace import COST_A_SLICE

PARTS_A_TURN = 200
"""Written at once: some milliseconds."""


class Making:
    """A target on its way. It is lost with the leader, who makes one anew."""

    __slots__ = ("_made", "_plan", "_steps")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._steps = plan.carry_out()
        self._made: dict[str, Assignment] | None = None
        """Parts that have yet to be written."""

    @property
    def epoch(self) -> int:
        return self._plan.epoch

    @property
    def metadata_hash(self) -> int:
        return self._plan.metadata_hash

    def go_on(self, draft: Draft) -> bool:
        """Take a step; False after the last one."""
        if self._made is None:
            draft.turn.spend(COST_A_SLICE)
            try:
                next(self._steps)
            except StopIteration as end:
                self._made = end.value
            return True
        for member_id in list(islice(self._made, PARTS_A_TURN)):
            part = self._made.pop(member_id)
            if draft.member(member_id) is not None:
                draft.targets[member_id] = part
                draft.turn.spend(sum(map(len, part.values())))
        if self._made:
            return True
        self._plan.end(draft)
        return False


def make_on(draft: Draft) -> None:
    """In a turn that is for nothing else: begin the target that is due, or go on with it. One that
    is begun is for the group as it is, so that comes when there is nothing to be written first."""
    body, turn = draft.body, draft.turn
    if body.making is None:
        settle(draft)
        if not is_due(draft) or not draft.is_blank:
            return
        body.making = Making(Plan(draft, subscribed(draft)))
    if body.making.go_on(draft):
        turn.wake_at(turn.time_ms)
        return
    body.making = None
    is_due(draft)  # there may be a next one
