"""What to ask one leader for, by incremental fetch sessions (KIP-227): all once, then changes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from penstock.replication.follower import Follower
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

Place = tuple[bytes, int]
"""A partition, by its topic's id and its index."""

EPOCH_MAX = 0x7FFFFFFF
PLACES_A_REQUEST = 5000
"""The rest comes with the next one."""


class FetchPlan:
    def __init__(
        self, node_id: int, *, max_wait_ms: int, max_bytes: int, partition_max_bytes: int
    ) -> None:
        self._node_id = node_id
        self._max_wait_ms = max_wait_ms
        self._max_bytes = max_bytes
        self._partition_max_bytes = partition_max_bytes
        self._followers: dict[Place, Follower] = {}
        self._touched: dict[Place, None] = {}
        """Partitions that the leader is to be asked for otherwise than it was."""
        self._forgotten: dict[Place, None] = {}
        self._session_id = self._epoch = 0

    def __len__(self) -> int:
        return len(self._followers)

    def get(self, place: Place) -> Follower | None:
        return self._followers.get(place)

    def asked(self, place: Place) -> Follower | None:
        """Who waits for the answer that is under way. Not who was added since it was asked for:
        that may have been in an earlier term of the same leader."""
        return None if place in self._touched else self._followers.get(place)

    def add(self, place: Place, follower: Follower) -> None:
        self._followers[place] = follower
        self._touched[place] = None
        self._forgotten.pop(place, None)

    def touch(self, place: Place) -> None:
        """It has got further."""
        self._touched[place] = None

    def drop(self, place: Place) -> None:
        if self._followers.pop(place, None) is not None:
            self._touched.pop(place, None)
            self._forgotten[place] = None

    def reset(self) -> None:
        """The leader knows of no session: it is asked for everything."""
        self._session_id = self._epoch = 0
        self._touched = dict.fromkeys(self._followers)
        self._forgotten.clear()

    def request(self, broker_epoch: int) -> FetchRequest:
        touched = list(islice(self._touched, PLACES_A_REQUEST))
        for place in touched:
            del self._touched[place]
        forgotten, self._forgotten = self._forgotten, {}
        return FetchRequest(
            replica_state=ReplicaState(self._node_id, broker_epoch),
            max_wait_ms=self._max_wait_ms,
            min_bytes=1,
            max_bytes=self._max_bytes,
            session_id=self._session_id,
            session_epoch=self._epoch,
            topics=[
                FetchTopic(topic_id=topic_id, partitions=self._partitions(topic_id, indexes))
                for topic_id, indexes in _by_topic(touched).items()
            ],
            forgotten_topics_data=[
                ForgottenTopic(topic_id=topic_id, partitions=indexes)
                for topic_id, indexes in _by_topic(forgotten).items()
            ],
        )

    def _partitions(self, topic_id: bytes, indexes: list[int]) -> list[FetchPartition]:
        followers = (self._followers[topic_id, index] for index in indexes)
        return [follower.request(self._partition_max_bytes) for follower in followers]

    def answered(self, session_id: int) -> None:
        """The leader goes on with the session, if it has given one."""
        if not session_id:
            self.reset()
            return
        self._session_id = session_id
        self._epoch = self._epoch % EPOCH_MAX + 1


def _by_topic(places: Iterable[Place]) -> dict[bytes, list[int]]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, index in places:
        topics.setdefault(topic_id, []).append(index)
    return topics
