"""Where a share group is in its partitions, and how far behind."""

from __future__ import annotations

from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import check
from penstock.client.groups import ask_coordinator
from penstock.wire.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)

Place = tuple[str, int]
"""A topic and a partition."""


class Begun(NamedTuple):
    """None is what is not known: where the group has not begun yet, say."""

    start: int | None
    """Up to here all records are finished."""
    lag: int | None
    """Records after that which are not."""


def share_places(client: WireClient, group: str) -> dict[Place, Begun]:
    """Of all partitions that the group has begun with, or is about to."""

    def read(answer: DescribeShareGroupOffsetsResponse, _: int) -> dict[Place, Begun]:
        (told,) = answer.groups
        check(f"group {group}", told.error_code, told.error_message)
        return {
            (topic.topic_name, each.partition_index): _begun(each.start_offset, each.lag)
            for topic in told.topics
            for each in topic.partitions
        }

    asked = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group)])
    return ask_coordinator(client, group, asked, DescribeShareGroupOffsetsResponse, read)


def _begun(start: int, lag: int) -> Begun:
    return Begun(start if start >= 0 else None, lag if lag >= 0 else None)
