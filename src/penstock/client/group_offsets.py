"""Where groups are in their topics, how far behind, and setting it for those that are down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import check, refused
from penstock.client.groups import ask_coordinator, missing
from penstock.client.offsets import behind
from penstock.errors import ErrorCode
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopics,
)
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)

Place = tuple[str, int]
"""A topic and a partition."""


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    lag: int | None
    """In messages; None where the coordinator does not know, as any other broker than ours."""
    lag_ms: int | None
    """How long the first record that was not read has been waiting."""


def committed_offsets(
    client: WireClient, group: str, *, is_final: bool = False
) -> dict[Place, CommittedOffset]:
    """All that a group has; nothing if there is no such group.

    `is_final`: transactions that are about to change it are waited for.
    """
    wanted = OffsetFetchRequestGroup(group_id=group, topics=None)
    request = OffsetFetchRequest(groups=[wanted], require_stable=is_final, with_lag=True)

    def read(answer: OffsetFetchResponse, _: int) -> OffsetFetchResponseGroup:
        (told,) = answer.groups
        check(f"group {group}", told.error_code)
        for topic in told.topics:
            for each in topic.partitions:
                if each.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
                    raise refused(f"group {group}", each.error_code, "a transaction is under way")
        return told

    told = ask_coordinator(client, group, request, OffsetFetchResponse, read)
    names = _names(client, told.topics)
    found = {}
    for topic in told.topics:
        name = topic.name or names.get(topic.topic_id, "")
        for each in topic.partitions:
            if name and not each.error_code and each.committed_offset >= 0:
                found[name, each.partition_index] = CommittedOffset(
                    each.committed_offset,
                    each.committed_leader_epoch,
                    each.metadata or "",
                    each.lag if each.lag >= 0 else None,
                    each.lag_ms if each.lag_ms >= 0 else None,
                )
    return dict(sorted(found.items()))


def with_known_lags(
    client: WireClient, committed: Mapping[Place, CommittedOffset]
) -> dict[Place, CommittedOffset]:
    """The coordinator knows the lag of what it leads; the leaders of all else are asked."""
    known = dict(committed)
    unknown = [place for place, each in committed.items() if each.lag is None]
    for topic, indexes in by_topic(unknown).items():
        offsets = {index: committed[topic, index].offset for index in indexes}
        for index, (lag, lag_ms) in behind(client, topic, offsets).items():
            known[topic, index] = committed[topic, index]._replace(lag=lag, lag_ms=lag_ms)
    return known


def end_and_lag(
    committed: CommittedOffset | None, bounds: tuple[int, int] | None
) -> tuple[int | None, int | None]:
    """The coordinator has told the lag before the end was asked for, and records come in all the
    time: so the end is the one that its figure is true of. Where it has told none, we count."""
    if committed is None or bounds is None:
        return bounds[1] if bounds else None, committed.lag if committed else None
    start, end = bounds
    first = max(committed.offset, start)
    if committed.lag is None:
        return end, max(0, end - first)
    return (first + committed.lag if committed.lag else min(end, first)), committed.lag


def _names(client: WireClient, topics: Iterable[OffsetFetchResponseTopics]) -> dict[bytes, str]:
    """Newer answers give ids in place of names."""
    if all(topic.name for topic in topics):
        return {}
    return {each.topic_id: name for name, each in client.metadata().topics.items()}


def commit_offsets(client: WireClient, group: str, offsets: Mapping[Place, int]) -> None:
    """For a group without members: it is refused if it has any by then."""
    topics = [
        OffsetCommitRequestTopic(
            name,
            client.topic(name).topic_id,
            [OffsetCommitRequestPartition(index, offsets[name, index]) for index in indexes],
        )
        for name, indexes in by_topic(offsets).items()
    ]

    def read(answer: OffsetCommitResponse, _: int) -> None:
        for topic, asked in zip(answer.topics, topics, strict=True):
            for each in topic.partitions:
                if each.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                    raise refused(f"group {group}", ErrorCode.NON_EMPTY_GROUP, "it has members")
                check(f"group {group} in {asked.name}-{each.partition_index}", each.error_code)

    request = OffsetCommitRequest(group_id=group, topics=topics)
    ask_coordinator(client, group, request, OffsetCommitResponse, read)


def delete_offsets(client: WireClient, group: str, places: Iterable[Place]) -> None:
    """Refused for topics that the group's members are subscribed to."""
    topics = [
        OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(index) for index in indexes])
        for name, indexes in by_topic(places).items()
    ]

    def read(answer: OffsetDeleteResponse, _: int) -> None:
        if answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise missing(group)
        check(f"group {group}", answer.error_code)
        for topic in answer.topics:
            for each in topic.partitions:
                check(f"group {group} in {topic.name}", each.error_code)

    request = OffsetDeleteRequest(group_id=group, topics=topics)
    ask_coordinator(client, group, request, OffsetDeleteResponse, read)


def by_topic(places: Iterable[Place]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, index in places:
        grouped.setdefault(topic, []).append(index)
    return grouped
