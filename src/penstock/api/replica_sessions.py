"""A follower's fetch session, in which partitions rest that have nothing for it.

A follower has thousands of partitions with each leader, and few of them have news. One rests when
the follower has all of it and was told so. It is looked at again when its log grows, or when the
follower speaks of it: so a fetch costs what there is to be copied, however much there is besides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from penstock.api.fetch_sessions import FetchSession, Key, forgotten, named, news_of
from penstock.replication.leader import Leader
from penstock.replication.signals import Signal
from penstock.wire.messages.k01_fetch import FetchPartition, FetchRequest, PartitionData


class ReplicaSession(FetchSession):
    __slots__ = ("_active", "_resting", "asked_ms", "replica_id", "roused", "woken")

    def __init__(self, session_id: int, uses_ids: bool, used_ms: int) -> None:
        super().__init__(session_id, uses_ids, used_ms)
        self.replica_id = -1
        self.asked_ms = 0.0
        """When the follower last asked for anything, on a clock that never goes back."""
        self._active: dict[Key, None] = {}
        self._resting: dict[Key, tuple[Leader, Callable[[], None]]] = {}
        self.roused: list[Key] = []
        """Those that rest no more since a fetch began."""
        self.woken = Signal()

    def begin(self, replica_id: int, now_ms: float) -> None:
        """A request has come."""
        self.replica_id, self.asked_ms = replica_id, now_ms
        self.roused = []

    def to_look_at(self) -> list[tuple[Key, FetchPartition]]:
        return [(key, self.partitions[key]) for key in self._active]

    def hold(self, partitions: list[tuple[Key, FetchPartition]]) -> None:
        super().hold(partitions)
        self._active.update(dict.fromkeys(self.partitions))

    def update(self, request: FetchRequest) -> int:
        more = super().update(request)
        for key, _ in named(request):
            self._end_rest(key)
            self._active[key] = None
        for key in forgotten(request):
            self._end_rest(key)
            self._active.pop(key, None)
        return more

    def rest(self, key: Key, leader: Leader, data: PartitionData) -> bool:
        """The follower has all of it: whether it knows that, so that it rests from here on."""
        if key not in self._active or self.told.get(key) != news_of(data):
            return False
        del self._active[key]
        rouse = partial(self._rouse, key, leader)
        self._resting[key] = leader, rouse
        leader.grown.watch(rouse)
        return True

    def _rouse(self, key: Key, leader: Leader) -> None:
        """There is more than the follower has: it had all when it last asked."""
        leader.had_all(self.replica_id, self.asked_ms)
        del self._resting[key]
        self._active[key] = None
        self.roused.append(key)
        self.woken.fire()

    def _end_rest(self, key: Key) -> None:
        if resting := self._resting.pop(key, None):
            leader, rouse = resting
            leader.grown.unwatch(rouse)

    def close(self) -> None:
        for key in list(self._resting):
            self._end_rest(key)
