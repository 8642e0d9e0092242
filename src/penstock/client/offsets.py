"""Where partitions begin and end, what lies at a point in time, their sizes; and cutting them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, Lost, Unreachable, may_pass, refused
from penstock.client.metadata import Topic
from penstock.errors import ErrorCode
from penstock.wire.codec import Message
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from penstock.wire.messages.k35_describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

M = TypeVar("M", bound=Message)
T = TypeVar("T")

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
"""In place of a timestamp: the high watermark, the log's start, the newest record."""

_CONSUMER, _OBSERVER = -1, -2
"""Who asks: an observer is told of what no consumer may see yet."""


class Found(NamedTuple):
    offset: int
    """-1 if there is none, that is, no record is so late."""
    timestamp: int


class Behind(NamedTuple):
    """How far a reader is behind. None is what the leader does not know, or does not tell."""

    lag: int | None
    lag_ms: int | None


class ReplicaSize(NamedTuple):
    broker: int
    partition: int
    size_bytes: int


class Survey(NamedTuple):
    """What is known of some partitions, and why it is not of others."""

    found: dict[int, Found]
    failures: dict[int, ClientError]

    @property
    def offsets(self) -> dict[int, int]:
        return {index: each.offset for index, each in self.found.items()}


@dataclass(frozen=True, slots=True)
class _Question(Generic[M, T]):
    """What leaders are asked of partitions of a topic, and how their answers are read."""

    topic: str
    indexes: Collection[int]
    kind: type[M]
    request: Callable[[list[int]], Message]
    read: Callable[[str, M], dict[int, T | ClientError]]


def offsets_at(
    client: WireClient,
    topic: str,
    timestamps: Mapping[int, int],
    *,
    replica_id: int = _CONSUMER,
    committed: bool = False,
) -> dict[int, Found]:
    """For each partition, the first record that is not older than the timestamp given for it.

    `committed`: LATEST is where transactions that are open begin.
    """
    question = _places(client, topic, timestamps, replica_id, committed=committed)
    return _ask_leaders(client, question)


def survey(
    client: WireClient,
    topic: str,
    timestamps: Mapping[int, int],
    *,
    replica_id: int = _CONSUMER,
    is_patient: bool = True,
) -> Survey:
    """The same of partitions of which some may not be readable; it fails only if nobody answers.

    Who is not patient does not wait for new leaders to learn where their partitions end.
    """
    question = _places(client, topic, timestamps, replica_id)
    last = Survey({}, {})

    def attempt(deadline: float) -> Survey:
        nonlocal last
        last = Survey({}, {})
        last = Survey(*_ask_once(client, question, deadline))
        for error in filter(may_pass, last.failures.values()):
            if is_patient or error.code is not ErrorCode.OFFSET_NOT_AVAILABLE:
                raise error
        return last

    try:
        return client.retry(attempt)
    except ClientError as error:
        nobody = not last.found and isinstance(error, Lost | Unreachable)
        if nobody or not last.failures:
            raise
        return last


def survey_log_ends(client: WireClient, topic: str, indexes: Iterable[int]) -> Survey:
    """Past the last record of each partition, those that are not committed yet included."""
    return survey(client, topic, dict.fromkeys(indexes, LATEST), replica_id=_OBSERVER)


def survey_bounds(client: WireClient, topic: Topic) -> tuple[Survey, Survey, Survey]:
    """Starts, high watermarks and ends of partitions that have a leader; who fails with one of them
    is not asked for the next.

    That a new leader has no high watermark yet is no failure: who asks may want to know why.
    """
    led = [index for index, each in topic.partitions.items() if each.leader >= 0]
    starts = survey(client, topic.name, dict.fromkeys(led, EARLIEST))
    latest = dict.fromkeys(starts.found, LATEST)
    marks = survey(client, topic.name, latest, is_patient=False)
    for index, error in list(marks.failures.items()):
        if error.code is ErrorCode.OFFSET_NOT_AVAILABLE:
            del marks.failures[index]
    whole = [index for index in starts.found if index not in marks.failures]
    return starts, marks, survey_log_ends(client, topic.name, whole)


def _places(
    client: WireClient,
    topic: str,
    timestamps: Mapping[int, int],
    replica_id: int,
    *,
    committed: bool = False,
) -> _Question[ListOffsetsResponse, Found]:
    def request(indexes: list[int]) -> Message:
        wanted = [
            ListOffsetsPartition(partition_index=index, timestamp=timestamps[index])
            for index in indexes
        ]
        made = _listing(client, topic, wanted, committed=committed)
        made.replica_id = replica_id
        return made

    return _Question(topic, timestamps, ListOffsetsResponse, request, _offsets)


def ends(
    client: WireClient, topic: str, indexes: Iterable[int], which: int, *, committed: bool = False
) -> dict[int, int]:
    """The offset LATEST or EARLIEST of each partition."""
    found = offsets_at(client, topic, dict.fromkeys(indexes, which), committed=committed)
    return {index: each.offset for index, each in found.items()}


def deleted(client: WireClient, topic: str, indexes: Iterable[int]) -> dict[int, int]:
    """Up to where DeleteRecords has removed records; 0 also where the broker does not tell."""

    def request(share: list[int]) -> Message:
        wanted = [
            ListOffsetsPartition(partition_index=index, timestamp=EARLIEST) for index in share
        ]
        made = _listing(client, topic, wanted)
        made.with_deleted = True
        return made

    question = _Question(topic, list(indexes), ListOffsetsResponse, request, _deleted)
    return _ask_leaders(client, question)


def behind(client: WireClient, topic: str, offsets: Mapping[int, int]) -> dict[int, Behind]:
    """How far readers at these offsets are behind; only of partitions whose leader answers."""

    def request(indexes: list[int]) -> Message:
        wanted = [
            ListOffsetsPartition(partition_index=index, timestamp=LATEST, lag_of=offsets[index])
            for index in indexes
        ]
        return _listing(client, topic, wanted)

    return _told(client, _Question(topic, offsets, ListOffsetsResponse, request, _behind))


def vacancies(
    client: WireClient, topic: str, offsets: Mapping[int, int], *, committed: bool = False
) -> dict[int, int]:
    """At how many offsets from these on there is nothing for a reader: markers of transactions,
    say. Only of partitions whose leader answers; 0 also where it does not tell."""

    def request(indexes: list[int]) -> Message:
        wanted = [
            ListOffsetsPartition(index, timestamp=LATEST, vacant_from=offsets[index])
            for index in indexes
        ]
        return _listing(client, topic, wanted, committed=committed)

    return _told(client, _Question(topic, offsets, ListOffsetsResponse, request, _vacant))


def delete_records(client: WireClient, topic: str, before: Mapping[int, int]) -> dict[int, int]:
    """Drops what lies before these offsets; gives where each partition begins now."""

    def request(indexes: list[int]) -> Message:
        wanted = [DeleteRecordsPartition(index, before[index]) for index in indexes]
        return DeleteRecordsRequest([DeleteRecordsTopic(topic, wanted)], _ms(client))

    question = _Question(topic, before, DeleteRecordsResponse, request, _low_watermarks)
    return _ask_leaders(client, question)


def replica_sizes(client: WireClient, topic: str, indexes: Iterable[int]) -> list[ReplicaSize]:
    """What every broker that can be reached holds of these partitions."""
    wanted = DescribableLogDirTopic(topic, list(indexes))
    request = DescribeLogDirsRequest(topics=[wanted])
    deadline = client.deadline()
    requests = dict.fromkeys(client.brokers(deadline), request)
    found = []
    answers = client.ask_nodes(requests, DescribeLogDirsResponse, deadline)
    for node, answer in answers.items():
        if not isinstance(answer, ClientError):
            found += _sizes(node, topic, answer)
    return found


def _ask_leaders(client: WireClient, question: _Question[M, T]) -> dict[int, T]:
    """Asks each leader for its share, and all again where one has moved: it does no harm here."""

    def attempt(deadline: float) -> dict[int, T]:
        found, failures = _ask_once(client, question, deadline)
        for error in failures.values():
            raise error
        return found

    return client.retry(attempt)


def _told(client: WireClient, question: _Question[M, T]) -> dict[int, T]:
    """What is good to know, and not waited for: of partitions whose leader answers."""
    try:
        found, _ = _ask_once(client, question, client.deadline())
    except ClientError:
        return {}
    return found


def _ask_once(
    client: WireClient, question: _Question[M, T], deadline: float
) -> tuple[dict[int, T], dict[int, ClientError]]:
    """What was found, and what failed, by partition."""
    topic = client.topic(question.topic, deadline=deadline)
    shares, failures = topic.shares(question.indexes)
    requests = {node: question.request(share) for node, share in shares.items()}
    found: dict[int, T] = {}
    for node, answer in client.ask_nodes(requests, question.kind, deadline).items():
        if isinstance(answer, ClientError):
            failures |= dict.fromkeys(shares[node], answer)
            continue
        for index, each in question.read(question.topic, answer).items():
            if isinstance(each, ClientError):
                failures[index] = each
            else:
                found[index] = each
    return dict(sorted(found.items())), dict(sorted(failures.items()))


def _listing(
    client: WireClient, topic: str, wanted: list[ListOffsetsPartition], *, committed: bool = False
) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=int(committed),
        topics=[ListOffsetsTopic(topic, wanted)],
        timeout_ms=_ms(client),
    )


def _offsets(topic: str, answer: ListOffsetsResponse) -> dict[int, Found | ClientError]:
    return {
        each.partition_index: refused(f"{topic}-{each.partition_index}", each.error_code)
        if each.error_code
        else Found(each.offset, each.timestamp)
        for told in answer.topics
        for each in told.partitions
    }


def _deleted(topic: str, answer: ListOffsetsResponse) -> dict[int, int | ClientError]:
    return {
        each.partition_index: refused(f"{topic}-{each.partition_index}", each.error_code)
        if each.error_code
        else max(0, each.deleted_to)
        for told in answer.topics
        for each in told.partitions
    }


def _vacant(topic: str, answer: ListOffsetsResponse) -> dict[int, int | ClientError]:
    return {
        each.partition_index: refused(f"{topic}-{each.partition_index}", each.error_code)
        if each.error_code
        else max(0, each.vacant)
        for told in answer.topics
        for each in told.partitions
    }


def _behind(topic: str, answer: ListOffsetsResponse) -> dict[int, Behind | ClientError]:
    return {
        each.partition_index: Behind(
            each.lag if each.lag >= 0 else None, each.lag_ms if each.lag_ms >= 0 else None
        )
        for told in answer.topics
        for each in told.partitions
    }


def _low_watermarks(topic: str, answer: DeleteRecordsResponse) -> dict[int, int | ClientError]:
    return {
        each.partition_index: refused(f"{topic}-{each.partition_index}", each.error_code)
        if each.error_code
        else each.low_watermark
        for told in answer.topics
        for each in told.partitions
    }


def _sizes(node: int, topic: str, answer: DescribeLogDirsResponse) -> list[ReplicaSize]:
    return [
        ReplicaSize(node, each.partition_index, each.partition_size)
        for folder in answer.results
        for told in folder.topics
        if told.name == topic
        for each in told.partitions
        if not each.is_future_key
    ]


def _ms(client: WireClient) -> int:
    return int(client.timeout_s * 1000)
