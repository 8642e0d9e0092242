"""Offsets of groups that have been empty for long go, some in each turn, and so does the group."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import MINUTE_MS, NEVER_MS, OFFSETS_A_TURN, count, forget
from penstock.coordination.group.protocols import write_end
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.turn import Turn


class Aging:
    """Of one group, from one look at all of its offsets to the next."""

    __slots__ = ("_places", "is_done")

    def __init__(self, group: Group) -> None:
        self._places = _places(group)
        self.is_done = False

    def go_on(self, turn: Turn, group: Group) -> None:
        """Only without members: a group that has some, however quiet, keeps its place. It may have
        got them since the last turn. So does one of which a transaction is about to commit
        offsets. Share groups have none, and stay until somebody deletes them."""
        is_share = isinstance(group.body, ShareGroup)
        if is_share or not group.is_empty or group.pending is not None:
            self.is_done = True
            return
        places = list(islice(self._places, OFFSETS_A_TURN))
        self.is_done = len(places) < OFFSETS_A_TURN
        turn.spend(len(places))
        old = [place for place in places if _is_old(turn, group, *place)]
        for topic, partition in old:
            forget(turn, group.name, topic, partition)
        if self.is_done and len(old) == count(group):
            write_end(turn, group)


def _places(group: Group) -> Iterator[tuple[str, int]]:
    """Topics and partitions may come and go meanwhile: those that come are not old."""
    for topic in list(group.offsets):
        for partition in list(group.offsets.get(topic, ())):
            yield topic, partition


def _is_old(turn: Turn, group: Group, topic: str, partition: int) -> bool:
    committed = group.offsets.get(topic, {}).get(partition)
    if committed is None:
        return False
    if committed.expire_ms != NEVER_MS:
        return turn.now_ms >= committed.expire_ms
    since_ms = max(committed.commit_ms, group.emptied_ms)
    return turn.now_ms - since_ms >= turn.config.offsets_retention_minutes * MINUTE_MS
