"""OffsetCommit: where a group is.

Versions up to 4 can say when the offsets are to be forgotten; 6 brought the leader epoch, 7 static
members, 9 epochs of KIP-848 in place of the generation, 10 topic ids. A partition that is not there
is refused by itself, everything else for the request as a whole. Of a partition that is named more
than once the last mention counts. Thousands are committed in several turns, with everything else in
between.

In partitions that a topic has lost, commits are taken and forgotten: a Java consumer of the classic
protocol would not rejoin its group before they are taken, or minutes have passed. Topics are known
by ids of before, too, so that a member can commit what it has read before it hears of the new one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import once_committed
from penstock.api.slices import in_slices, written
from penstock.coordination.group import protocols
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import (
    NEVER_MS,
    OFFSETS_A_TURN,
    Committed,
    write_commit,
)
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps, exhaust
from penstock.metadata.cluster import Topic
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

METADATA_BYTES_MAX = (1 << 15) - 1
"""As many as can be stored, whatever the setting allows."""
LATE = ErrorCode.REQUEST_TIMED_OUT
"""What is not committed in time is sent here again. Who hears that there is no coordinator looks
for another, and librdkafka may not get any commit through for as long as it does."""
NOT_FOUND_SINCE = 9
TOPIC_IDS_SINCE = 10
TIME_MS_MAX = (1 << 63) - 1

TopicKey = tuple[str, bytes]
"""Name and id, of which a version has one."""
Partitions = dict[int, OffsetCommitRequestPartition]


def offset_commit(
    broker: Broker, request: OffsetCommitRequest, call: Call
) -> Outcome[OffsetCommitResponse]:
    shard = broker.groups.shard(request.group_id)
    if broker.disk_is_full:
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the disk is full; try again")
    commits = _Commits(broker, request, call.version)
    if sum(len(topic.partitions) for topic in request.topics) <= OFFSETS_A_TURN:
        return shard.decide(request.group_id, commits.at_once, LATE)
    return in_slices(broker, commits.in_turns(), commits.stored)


class _Commits:
    """Of one request. Of many partitions some are committed in each turn, which sees the group as
    it is by then: who has lost its place on the way is told so of the rest."""

    def __init__(self, broker: Broker, request: OffsetCommitRequest, version: int) -> None:
        self._broker = broker
        self._request = request
        self._version = version
        self._told: dict[TopicKey, OffsetCommitResponseTopic] = {}

    def at_once(self, turn: Turn, group: Group) -> OffsetCommitResponse:
        self._check(turn, group)
        for each in exhaust(_once_each(self._request.topics)).items():
            topic = _topic(each)
            self._tell(topic, self._commit(turn, group, topic))
        return OffsetCommitResponse(topics=list(self._told.values()))

    def in_turns(self) -> Steps[Any]:
        topics = yield from _once_each(self._request.topics)
        is_first = True
        for some in portions(map(_topic, topics.items())):
            try:
                self._take_turn(some)
            except Refused as refused:
                if is_first:
                    raise
                self._refuse(some, refused.code)
            is_first = False
            yield None
        return (yield from written(self._version, self._told.values()))

    def stored(self, topics: Any) -> Outcome[OffsetCommitResponse]:
        rest = self._broker.groups.shard(self._request.group_id).rest(None)
        return once_committed([rest], OffsetCommitResponse(topics=topics), LATE)

    def _take_turn(self, topics: Sequence[OffsetCommitRequestTopic]) -> None:
        """What was decided is told once it is carried out: the turn may be refused until then."""
        codes: list[list[ErrorCode]] = []

        def decide(turn: Turn, group: Group) -> bool:
            self._check(turn, group)
            codes.extend(self._commit(turn, group, topic) for topic in topics)
            return True

        name = self._request.group_id
        self._broker.groups.shard(name).decide(name, decide)
        for topic, told in zip(topics, codes, strict=True):
            self._tell(topic, told)

    def _check(self, turn: Turn, group: Group) -> None:
        request = self._request
        generation = request.generation_id_or_member_epoch
        if self._version >= NOT_FOUND_SINCE and generation >= 0 and group.is_forgotten:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, "there is no such group")
        protocols.check_may_commit(
            turn, group, request.member_id, request.group_instance_id, generation
        )

    def _commit(self, turn: Turn, group: Group, topic: OffsetCommitRequestTopic) -> list[ErrorCode]:
        by_id = self._version >= TOPIC_IDS_SINCE
        expire_ms = NEVER_MS
        if self._request.retention_time_ms >= 0:
            expire_ms = min(turn.now_ms + self._request.retention_time_ms, TIME_MS_MAX)
        return commit_topic(turn, group, topic, by_id=by_id, expire_ms=expire_ms)

    def _refuse(self, topics: Sequence[OffsetCommitRequestTopic], code: ErrorCode) -> None:
        for topic in topics:
            self._tell(topic, [code] * len(topic.partitions))

    def _tell(self, topic: OffsetCommitRequestTopic, codes: Sequence[ErrorCode]) -> None:
        key = topic.name, topic.topic_id
        told = self._told.setdefault(key, OffsetCommitResponseTopic(*key))
        told.partitions += [
            OffsetCommitResponsePartition(part.partition_index, code)
            for part, code in zip(topic.partitions, codes, strict=True)
        ]


def _once_each(
    asked: Iterable[OffsetCommitRequestTopic],
) -> Generator[None, None, dict[TopicKey, Partitions]]:
    """The last mention of each partition, however many entries of its topic there are."""
    pace = Pace()
    topics: dict[TopicKey, Partitions] = {}
    for each in asked:
        partitions = topics.setdefault((each.name, each.topic_id), {})
        partitions.update((part.partition_index, part) for part in each.partitions)
        if pace.is_spent(2 + len(each.partitions)):
            yield None
    return topics


def _topic(asked: tuple[TopicKey, Partitions]) -> OffsetCommitRequestTopic:
    key, partitions = asked
    return OffsetCommitRequestTopic(*key, list(partitions.values()))


def portions(
    topics: Iterable[OffsetCommitRequestTopic],
) -> Iterator[list[OffsetCommitRequestTopic]]:
    """All of them, each for one turn."""
    some: list[OffsetCommitRequestTopic] = []
    room = OFFSETS_A_TURN
    for topic in topics:
        for start in range(0, max(len(topic.partitions), 1), OFFSETS_A_TURN):
            parts = topic.partitions[start : start + OFFSETS_A_TURN]
            if len(parts) > room:
                yield some
                some, room = [], OFFSETS_A_TURN
            some.append(OffsetCommitRequestTopic(topic.name, topic.topic_id, parts))
            room -= len(parts)
    if some:
        yield some


def commit_topic(
    turn: Turn,
    group: Group,
    asked: OffsetCommitRequestTopic,
    *,
    by_id: bool,
    expire_ms: int = NEVER_MS,
) -> list[ErrorCode]:
    """What is to be said of each partition."""
    image = turn.image
    topic = image.shown.topic_meant(asked.topic_id) if by_id else image.readable.topic(asked.name)
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    codes = []
    for part in asked.partitions:
        code = unknown if topic is None else _check(turn, topic, part)
        codes.append(code)
        if topic is not None and not code and not _is_of_before(topic, asked.topic_id, part):
            committed = Committed(
                part.committed_offset,
                part.committed_leader_epoch,
                part.committed_metadata or "",
                turn.now_ms,
                expire_ms,
                topic.log_id(part.partition_index),
            )
            write_commit(turn, group.name, topic.name, part.partition_index, committed)
    return codes


def _is_of_before(topic: Topic, shown_id: bytes, part: OffsetCommitRequestPartition) -> bool:
    """Whether it is meant for a partition that is no more, though there may be another in its place
    by now: then it is taken and forgotten."""
    index, epoch = part.partition_index, part.committed_leader_epoch
    return topic.has_lost(index) or topic.is_newer(index, shown_id, epoch)


def _check(turn: Turn, topic: Topic, part: OffsetCommitRequestPartition) -> ErrorCode:
    index = part.partition_index
    if topic.partition(index) is None and not topic.has_lost(index):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    limit = min(turn.config.offset_metadata_max_bytes, METADATA_BYTES_MAX)
    metadata = part.committed_metadata
    if metadata and (len(metadata) > limit or len(metadata.encode()) > limit):
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def offset_commit_failed(
    request: OffsetCommitRequest, code: ErrorCode, message: str
) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    OffsetCommitResponsePartition(part.partition_index, code)
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
