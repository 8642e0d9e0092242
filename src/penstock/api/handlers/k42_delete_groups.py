"""DeleteGroups: groups without members, and their offsets, go for good.

Whether a group may go is decided once, and from then on nobody can join it. Everything else goes on
meanwhile: a group that has many offsets loses them in several turns, and ends with the last one,
whether its client waits for that or not. A share group ends when its shares are gone, which nobody
waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import Rest, not_here_any_more, once_committed
from penstock.api.shard import Shard
from penstock.api.slices import Writing, in_slices
from penstock.coordination.group import protocols
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import OFFSETS_A_TURN
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.wire.messages.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

TURN_COST = 40
"""What a turn takes by itself, in offsets that could be forgotten meanwhile."""


def delete_groups(
    broker: Broker, request: DeleteGroupsRequest, call: Call
) -> Outcome[DeleteGroupsResponse]:
    deletion = _Deletion(broker)
    return in_slices(
        broker,
        deletion.delete_each(dict.fromkeys(request.groups_names), call.version),
        lambda results: once_committed(deletion.rests(), DeleteGroupsResponse(results=results)),
    )


class _Deletion:
    """Of all groups of one request."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._ends: dict[Shard[Group], int] = {}
        self._cost = 0
        """Of what was done since the last pause."""

    def rests(self) -> list[Rest]:
        """One for each shard, however many groups there were."""
        return [Rest(shard, end) for shard, end in self._ends.items()]

    def delete_each(self, names: Iterable[str], version: int) -> Steps[Any]:
        results = Writing(version)
        for name in names:
            code = yield from self._delete(name)
            if results.add(DeletableGroupResult(name, code)):
                yield None
        return results

    def _delete(self, name: str) -> Steps[ErrorCode]:
        try:
            shard = self._broker.groups.shard(name)
            self._ends[shard] = shard.end
            group = shard.kept.get(name)
            if group is None:
                return ErrorCode.GROUP_ID_NOT_FOUND
            self._take_turn(shard, group, protocols.delete)
            self._ends[shard] = shard.end
            yield from self._end(shard, group)
        except Refused as refused:
            return refused.code
        return ErrorCode.NONE

    def _end(self, shard: Shard[Group], group: Group) -> Steps[None]:
        """It is decided: what cannot be done now is done later, and is no reason to refuse."""
        yield from self._pause()
        while protocols.ends_in_turns(group) and shard.kept.get(group.name) is group:
            try:
                self._take_turn(shard, group, protocols.end_on)
            except Refused:
                return
            yield from self._pause()

    def _take_turn(
        self, shard: Shard[Group], group: Group, decide: Callable[[Turn, Group], None]
    ) -> None:
        if shard.is_over or not shard.is_true:
            raise not_here_any_more()
        before = shard.end
        shard.take_away(group, decide)
        self._cost += TURN_COST + shard.end - before

    def _pause(self) -> Steps[None]:
        if self._cost >= OFFSETS_A_TURN:
            self._cost = 0
            yield None


def delete_groups_failed(
    request: DeleteGroupsRequest, code: ErrorCode, message: str
) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(name, code) for name in dict.fromkeys(request.groups_names)]
    )
