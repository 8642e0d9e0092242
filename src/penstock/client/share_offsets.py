"""Where share groups begin in partitions, how far behind they are, and setting that for those that
are down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import check
from penstock.client.group_offsets import Place, by_topic
from penstock.client.groups import ask_coordinator, missing
from penstock.errors import ErrorCode
from penstock.wire.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from penstock.wire.messages.k91_alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from penstock.wire.messages.k92_delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)


class ShareStart(NamedTuple):
    offset: int | None
    """All records before it are finished. None: the group has not begun with the partition."""
    lag: int | None
    """Offsets from there on that are not finished; None where nobody knows."""
    end: int | None = None
    """Nothing was said of what comes from here on; None where the broker does not tell."""


def share_starts(client: WireClient, group: str) -> dict[Place, ShareStart]:
    """Of all partitions that the group shares."""
    wanted = DescribeShareGroupOffsetsRequestGroup(group, None)

    def read(answer: DescribeShareGroupOffsetsResponse, _: int) -> dict[Place, ShareStart]:
        (told,) = answer.groups
        check(f"group {group}", told.error_code, told.error_message)
        found = {}
        for topic in told.topics:
            for each in topic.partitions:
                place = topic.topic_name, each.partition_index
                check(_where(group, *place), each.error_code, each.error_message)
                found[place] = ShareStart(
                    _known(each.start_offset), _known(each.lag), _known(each.end_offset)
                )
        return dict(sorted(found.items()))

    request = DescribeShareGroupOffsetsRequest([wanted], with_end=True)
    return ask_coordinator(client, group, request, DescribeShareGroupOffsetsResponse, read)


def set_share_starts(client: WireClient, group: str, offsets: Mapping[Place, int]) -> None:
    """For a group without members: it is refused if it has any by then. Once more does no harm."""
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            name,
            [
                AlterShareGroupOffsetsRequestPartition(index, offsets[name, index])
                for index in indexes
            ],
        )
        for name, indexes in by_topic(offsets).items()
    ]

    def read(answer: AlterShareGroupOffsetsResponse, _: int) -> None:
        _check_group(group, answer.error_code, answer.error_message)
        for topic in answer.responses:
            for each in topic.partitions:
                where = _where(group, topic.topic_name, each.partition_index)
                check(where, each.error_code, each.error_message)

    request = AlterShareGroupOffsetsRequest(group, topics)
    ask_coordinator(client, group, request, AlterShareGroupOffsetsResponse, read)


def forget_share_topics(client: WireClient, group: str, topics: Iterable[str]) -> None:
    """For a group without members: should it share these topics again, it begins anew."""

    def read(answer: DeleteShareGroupOffsetsResponse, _: int) -> None:
        _check_group(group, answer.error_code, answer.error_message)
        for each in answer.responses:
            check(f"group {group} in {each.topic_name}", each.error_code, each.error_message)

    named = [DeleteShareGroupOffsetsRequestTopic(name) for name in topics]
    request = DeleteShareGroupOffsetsRequest(group, named)
    ask_coordinator(client, group, request, DeleteShareGroupOffsetsResponse, read)


def _check_group(group: str, code: int, message: str | None) -> None:
    if code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise missing(group)
    check(f"group {group}", code, message)


def _where(group: str, topic: str, index: int) -> str:
    return f"group {group} in {topic}-{index}"


def _known(number: int) -> int | None:
    return number if number >= 0 else None
