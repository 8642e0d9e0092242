"""DeleteGroups: groups without members, and their offsets, go for good.

Everything else goes on meanwhile: a group that has many offsets loses them in several turns, and
ends in the last one. Should the broker stop in between, a group with fewer offsets is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import Rest, once_committed
from penstock.api.shard import Shard
from penstock.api.slices import Writing, in_slices
from penstock.coordination.group import protocols
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import every, forget
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.wire.messages.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

OFFSETS_A_TURN = 1000
"""A few milliseconds."""
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
    """Of all groups of one request. After each pause they are looked for anew."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._ends: dict[Shard, int] = {}
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
            turns = self._count(name) // OFFSETS_A_TURN
            for _ in range(turns):
                yield from self._take_turn(name, _forget_some)
            is_found = yield from self._take_turn(name, protocols.delete)
        except Refused as refused:
            return refused.code
        return ErrorCode.NONE if is_found or turns else ErrorCode.GROUP_ID_NOT_FOUND

    def _count(self, name: str) -> int:
        group = self._broker.groups.shard(name).groups.get(name)
        return _offsets_count(group) if group else 0

    def _take_turn(self, name: str, decide: Callable[[Turn, Group], None]) -> Steps[bool]:
        """False if there is no such group, or no more."""
        shard = self._broker.groups.shard(name)
        group = shard.groups.get(name)
        if group is not None:
            before = _offsets_count(group)
            shard.look_after(group, decide)
            self._cost += TURN_COST + before - _offsets_count(group)
        self._ends[shard] = shard.end
        if self._cost >= OFFSETS_A_TURN:
            self._cost = 0
            yield None
        return group is not None


def _forget_some(turn: Turn, group: Group) -> None:
    if not group.is_empty:
        raise Refused(ErrorCode.NON_EMPTY_GROUP, f"group {group.name} has members")
    for topic, partition, _ in islice(every(group), OFFSETS_A_TURN):
        forget(turn, group.name, topic, partition)


def _offsets_count(group: Group) -> int:
    return sum(map(len, group.offsets.values()))


def delete_groups_failed(
    request: DeleteGroupsRequest, code: ErrorCode, message: str
) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(name, code) for name in dict.fromkeys(request.groups_names)]
    )
