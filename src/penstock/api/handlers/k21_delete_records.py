"""DeleteRecords: move a partition's start. -1 means up to the high watermark.

Answered once all replicas in sync have moved theirs, as else the records would be there again under
another leader; REQUEST_TIMED_OUT where that takes too long. Of a partition that comes twice the
last offset counts, as in Kafka.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.open_first import open_first
from penstock.api.outcome import Later, Outcome, Resume
from penstock.api.slices import SLICE_HEAVY, Writing, in_slices, written
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.internal_topics import refuse_internal
from penstock.replication.leader import Leader
from penstock.replication.signals import Source
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

UP_TO_HIGH_WATERMARK = -1

Results = Mapping[str, list[DeleteRecordsPartitionResult]]


def _named(request: DeleteRecordsRequest) -> Iterator[tuple[str, int]]:
    for topic in request.topics:
        yield from ((topic.name, each.partition_index) for each in topic.partitions)


@open_first(_named)
def delete_records(
    broker: Broker, request: DeleteRecordsRequest, call: Call
) -> Outcome[DeleteRecordsResponse]:
    deletion = Deletion(broker, call.version)
    return in_slices(
        broker, deletion.delete(request), lambda _: deletion.outcome(request.timeout_ms)
    )


class Deletion:
    def __init__(self, broker: Broker, version: int) -> None:
        self._broker = broker
        self._version = version
        self._results: dict[str, list[DeleteRecordsPartitionResult]] = {}
        self._waiting: deque[tuple[Leader, int, DeleteRecordsPartitionResult]] = deque()
        """Partitions whose replicas have not all let go yet, as far as is known."""
        self._sources: list[Source] = []
        """Of the first of these alone: there may be thousands."""

    def delete(self, request: DeleteRecordsRequest) -> Steps[None]:
        count = 0
        for name, offsets in _wanted(request).items():
            for index, offset in offsets.items():
                result = self._delete(name, index, offset)
                self._results.setdefault(name, []).append(result)
                count += 1
                if count % SLICE_HEAVY == 0:
                    yield None

    def _delete(self, topic: str, index: int, offset: int) -> DeleteRecordsPartitionResult:
        result = DeleteRecordsPartitionResult(index, low_watermark=-1)
        try:
            leader = _deletable(self._broker, topic, index)
            if offset == UP_TO_HIGH_WATERMARK:
                offset = leader.high_watermark
            if not 0 <= offset <= leader.high_watermark:
                raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset} is past the high watermark")
            self._broker.delete_to(leader, offset)
            self._waiting.append((leader, offset, result))
        except Refused as refused:
            result.error_code = refused.code
        return result

    def outcome(self, timeout_ms: int) -> Outcome[DeleteRecordsResponse]:
        answer = self._answer(timeout_ms <= 0)
        return answer or Later(self._sources, self._answer, timeout_ms)

    def _answer(
        self, time_is_up: bool
    ) -> DeleteRecordsResponse | Resume[DeleteRecordsResponse] | None:
        while self._waiting and (time_is_up or _is_done(*self._waiting[0][:2])):
            _conclude(*self._waiting.popleft())
        if self._waiting:
            self._sources[:] = [self._waiting[0][0].trimmed]
            return None
        outcome = in_slices(self._broker, _topics(self._results, self._version), _response)
        assert isinstance(outcome, DeleteRecordsResponse | Resume)
        return outcome


def _wanted(request: DeleteRecordsRequest) -> dict[str, dict[int, int]]:
    """Offsets by topic and partition."""
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = wanted.setdefault(topic.name, {})
        offsets.update((each.partition_index, each.offset) for each in topic.partitions)
    return wanted


def _deletable(broker: Broker, topic: str, index: int) -> Leader:
    refuse_internal(topic)
    leader = broker.leader(topic, index)
    if not leader.log.config.deletes:
        raise Refused(ErrorCode.POLICY_VIOLATION, "the topic is compacted, not deleted")
    return leader


def _is_done(leader: Leader, offset: int) -> bool:
    return leader.over is not None or leader.low_watermark >= offset


def _conclude(leader: Leader, offset: int, result: DeleteRecordsPartitionResult) -> None:
    if leader.over is not None:
        result.error_code = leader.over
    elif leader.low_watermark >= offset:
        result.low_watermark = leader.low_watermark
    else:
        result.error_code = ErrorCode.REQUEST_TIMED_OUT


def _topics(results: Results, version: int) -> Steps[Any]:
    topics = Writing(version)
    for name, partitions in results.items():
        listed = yield from written(version, partitions)
        if topics.add(DeleteRecordsTopicResult(name, listed)):
            yield None
    return topics


def _response(topics: Any) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(topics=topics)
