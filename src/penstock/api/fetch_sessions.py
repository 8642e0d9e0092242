"""Incremental fetch sessions (KIP-227): a client names its partitions once, then only changes.

The broker answers an incremental fetch with those partitions alone that have news. A session is
known by its id and by an epoch that goes up with each request, so that a lost answer is noticed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k01_fetch import FetchPartition, FetchRequest, PartitionData
from penstock.world.ports import Chance

FINAL, INITIAL = -1, 0
SAFE_FROM_EVICTION_MS = 120_000
PARTITIONS_MAX = 500_000
"""Over all sessions. A client past that is served without one, or loses the one it has."""
EPOCH_MAX = 0x7FFFFFFF

Key = tuple[str, bytes, int]
"""Topic name and id, one of them empty, and partition."""


News = tuple[int, int, int]
"""What a client was last told of a partition: high watermark, last stable offset, log start."""
NOTHING_TOLD: News = (-1, -1, -1)


def news_of(data: PartitionData) -> News:
    return data.high_watermark, data.last_stable_offset, data.log_start_offset


class FetchSession:
    __slots__ = ("epoch", "partitions", "session_id", "told", "used_ms", "uses_ids")

    def __init__(self, session_id: int, uses_ids: bool, used_ms: int) -> None:
        self.session_id = session_id
        self.uses_ids = uses_ids
        self.used_ms = used_ms
        self.epoch = 1
        self.partitions: OrderedDict[Key, FetchPartition] = OrderedDict()
        self.told: dict[Key, News] = {}

    def hold(self, partitions: list[tuple[Key, FetchPartition]]) -> None:
        """What the first request of the session names."""
        self.partitions.update(partitions)

    def to_look_at(self) -> list[tuple[Key, FetchPartition]]:
        return list(self.partitions.items())

    def has_news(self, key: Key, data: PartitionData) -> bool:
        """Whether the client must hear of this partition; it counts as told from here on."""
        if key not in self.partitions:  # a later request forgot it while this one waited
            return True
        news = news_of(data)
        if data.error_code:  # said again until the client forgets the partition
            self.told.pop(key, None)
            return True
        is_new = self.told.get(key, NOTHING_TOLD) != news
        self.told[key] = news
        if data.records:
            self.partitions.move_to_end(key)  # the others come first next time
            return True
        return is_new or data.diverging_epoch.epoch >= 0

    def update(self, request: FetchRequest) -> int:
        """How many partitions more it has afterwards. One that is named and forgotten is gone."""
        before = len(self.partitions)
        for key, partition in named(request):
            self.partitions[key] = partition
        for key in forgotten(request):
            self.partitions.pop(key, None)
            self.told.pop(key, None)
        return len(self.partitions) - before

    def close(self) -> None:
        pass


class Fetching(NamedTuple):
    """The partitions that one request asks for, and the session it belongs to, if any."""

    partitions: list[tuple[Key, FetchPartition]]
    session: FetchSession | None
    is_incremental: bool

    @property
    def session_id(self) -> int:
        return self.session.session_id if self.session else 0


class FetchSessions:
    def __init__(self, slots: int, chance: Chance) -> None:
        self._slots = slots
        self._chance = chance
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(
        self,
        request: FetchRequest,
        *,
        uses_ids: bool,
        now_ms: int,
        kind: type[FetchSession] = FetchSession,
    ) -> Fetching:
        if request.session_epoch in (INITIAL, FINAL):
            self._remove(request.session_id)
            partitions = list(named(request))
            if request.session_epoch == FINAL or not partitions:
                return Fetching(partitions, None, False)
            session = self._create(kind, partitions, uses_ids, now_ms)
            return Fetching(partitions, session, False)
        session = self._session(request, uses_ids, kind)
        self._partitions += session.update(request)
        if self._partitions > PARTITIONS_MAX:
            self._remove(session.session_id)
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)  # it begins anew, with a full one
        session.epoch = 1 if session.epoch == EPOCH_MAX else session.epoch + 1
        session.used_ms = now_ms
        self._sessions.move_to_end(session.session_id)
        return Fetching(session.to_look_at(), session, True)

    def _session(
        self, request: FetchRequest, uses_ids: bool, kind: type[FetchSession]
    ) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if type(session) is not kind:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_ids != uses_ids:
            raise Refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return session

    def _create(
        self,
        kind: type[FetchSession],
        partitions: list[tuple[Key, FetchPartition]],
        uses_ids: bool,
        now_ms: int,
    ) -> FetchSession | None:
        if not self._make_room(len(partitions), now_ms):
            return None
        session_id = 0
        while session_id == 0 or session_id in self._sessions:
            session_id = self._chance.below(EPOCH_MAX)
        session = kind(session_id, uses_ids, now_ms)
        session.hold(partitions)
        self._sessions[session_id] = session
        self._partitions += len(session.partitions)
        return session

    def _remove(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partitions -= len(session.partitions)
            session.close()

    def _make_room(self, partitions: int, now_ms: int) -> bool:
        """Sessions unused for long give way, the longest unused first."""
        while self._sessions and not self._has_room(partitions):
            oldest = next(iter(self._sessions.values()))
            if now_ms - oldest.used_ms < SAFE_FROM_EVICTION_MS:
                return False
            self._remove(oldest.session_id)
        return self._has_room(partitions)

    def _has_room(self, partitions: int) -> bool:
        has_slot = len(self._sessions) < self._slots
        return has_slot and self._partitions + partitions <= PARTITIONS_MAX


def named(request: FetchRequest) -> Iterable[tuple[Key, FetchPartition]]:
    for topic in request.topics:
        for partition in topic.partitions:
            yield (topic.topic, topic.topic_id, partition.partition), partition


def forgotten(request: FetchRequest) -> Iterable[Key]:
    for topic in request.forgotten_topics_data:
        for index in topic.partitions:
            yield topic.topic, topic.topic_id, index
