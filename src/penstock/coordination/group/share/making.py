"""How the target of a large share group is made: some members at a time, in turns of its own.

In one go, a thousand members would hold up everyone else for some hundredths of a second, whenever
one of them comes or goes. Nobody has to wait for it: who comes has its own part at once, and others
go on with what they have until all parts are written. Its epoch is written behind them. A thousand
that come together cost a few targets and not a thousand: between two there is a pause, in
proportion to what one costs.
"""

from __future__ import annotations

from math import ceil

from penstock.coordination.group.groups import Group
from penstock.coordination.group.share.draft import SIZE_COST, Draft
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.turn import Turn

PARTS_A_TURN = 100
"""Written at once: some milliseconds."""
PAUSE_MS_EACH = 0.05
"""The pause after a target, for what `size_of` counts."""


class Making:
    """A target on its way. It is lost with the leader, who makes one anew."""

    __slots__ = ("_epoch", "_left", "_lots", "_size")

    def __init__(self, draft: Draft) -> None:
        self._epoch = draft.epoch
        self._lots, self._size = draft.lots()
        self._left = list(draft.members)
        draft.turn.spend(SIZE_COST * self._size)

    def go_on(self, draft: Draft) -> bool:
        """Take a step; False after the last one."""
        for member_id in self._left[-PARTS_A_TURN:]:
            if member_id in draft.members:
                draft.target[member_id] = self._lots.part_of(member_id)
        del self._left[-PARTS_A_TURN:]
        if self._left:
            return True
        draft.target_epoch = self._epoch
        draft.body.target_due_ms = draft.turn.time_ms + ceil(self._size * PAUSE_MS_EACH)
        return False


def make_on(turn: Turn, group: Group, body: ShareGroup) -> None:
    """In a turn that is for nothing else: begin the target that is due, or go on with it."""
    if body.making is None and body.epoch == body.target_epoch:
        return
    if body.making is None and turn.time_ms < body.target_due_ms:
        turn.wake_at(body.target_due_ms)
        return
    draft = Draft(turn, group.name, body)
    making = body.making or Making(draft)
    is_under_way = making.go_on(draft)
    body.making = making if is_under_way else None
    if is_under_way or draft.epoch != draft.target_epoch:
        turn.wake_at(turn.time_ms if is_under_way else body.target_due_ms)
    draft.write()
