"""A topic that is to have fewer partitions: beginning that, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.client.admin import add_partitions, alter_topic, topic_configs
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, check
from penstock.client.group_listing import ListedGroup, list_groups
from penstock.client.group_offsets import committed_offsets
from penstock.client.groups import SHARE
from penstock.client.metadata import Topic
from penstock.client.share_offsets import share_starts
from penstock.errors import ErrorCode
from penstock.wire.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)

OPEN = "partitions.open"
WHEN = "partitions.close.when"
MAX_PAUSE = "partitions.close.max.pause.ms"
RETENTION, DRAINED = "retention", "drained"
GROUPS_MAX = 200
"""That are looked at: each takes a request."""


@dataclass(slots=True)
class State:
    """How far it is. Times are in milliseconds, None where there is none."""

    open_partitions: int
    since_ms: int
    closed_ms: int | None
    reopened_ms: int | None
    reopened_reason: str
    when: str
    due_ms: int | None
    """With `retention`: when the partitions go."""
    groups: dict[str, int] = field(default_factory=dict)
    """Those that have not read what is waited for, with how many messages."""
    writers: dict[str, int] = field(default_factory=dict)
    """Clients that write to closing partitions, and when each last did."""


def begin_closing(
    client: WireClient, name: str, count: int, when: str | None, max_pause_ms: int | None
) -> None:
    """The topic is to have so many partitions; as many as it has: it is not to have fewer."""
    changes: dict[str, str | None] = {OPEN: str(count)}
    if when is not None:
        changes[WHEN] = when
    if max_pause_ms is not None:
        changes[MAX_PAUSE] = str(max_pause_ms)
    alter_topic(client, name, changes)
    client.forget()


class NotFewer(ClientError):
    """It was said when partitions are to go, and none are."""


class Resized(NamedTuple):
    before: int
    is_fewer: bool
    """It is to have fewer than before, or was and is not any more."""


def set_partitions(
    client: WireClient, name: str, count: int, when: str | None, max_pause_ms: int | None
) -> Resized:
    """More at once, fewer by and by."""
    known = client.topic(name)
    before, is_closing = len(known.partitions), known.open_partitions >= 0
    if count > before or (count == before and not is_closing):
        if when is not None or max_pause_ms is not None:
            raise NotFewer(
                ErrorCode.INVALID_REQUEST,
                f"--when and --max-pause are for fewer partitions, and {name} has {before}",
                f"when and max_pause_s are for fewer partitions, and {name} has {before}",
            )
        add_partitions(client, name, count)
        return Resized(before, False)
    begin_closing(client, name, count, when, max_pause_ms)
    return Resized(before, True)


def closing_state(
    client: WireClient, topic: Topic, ends: dict[int, int]
) -> tuple[State | None, str]:
    """None for a topic that keeps its partitions; and the topic that those of a sealed one were in,
    empty for any other. `ends`: the high watermarks."""
    told = _told(client, topic)
    if told is None:
        return None, ""
    return _state(client, topic, told, ends), told.sealed_from


def _state(
    client: WireClient,
    topic: Topic,
    told: DescribeTopicPartitionsResponseTopic,
    ends: dict[int, int],
) -> State | None:
    if told.open_partitions < 0:
        return None
    configs = topic_configs(client, topic.name)
    when, retention_ms = configs[WHEN].value or "", int(configs["retention.ms"].value or -1)
    state = State(
        told.open_partitions,
        told.closing_since_ms,
        told.closed_ms if told.closed_ms >= 0 else None,
        told.reopened_ms if told.reopened_ms >= 0 else None,
        told.reopened_reason,
        when,
        told.closing_since_ms + retention_ms if when == RETENTION and retention_ms >= 0 else None,
    )
    for part in told.partitions:
        for each in part.writers:
            state.writers[each.client_id] = max(state.writers.get(each.client_id, 0), each.last_ms)
    waited = _waited_for(told.open_partitions, len(topic.partitions))
    state.groups = _groups_behind(client, topic.name, {each: ends.get(each, 0) for each in waited})
    return state


def _waited_for(left: int, count: int) -> range:
    """Partitions that groups have to read first: all, where keys move between those that stay."""
    return range(0 if count % left else left, count)


def _told(client: WireClient, topic: Topic) -> DescribeTopicPartitionsResponseTopic | None:
    """By every broker that leads some of it, as each knows who writes to its own."""
    first: DescribeTopicPartitionsResponseTopic | None = None
    for node in sorted({part.leader for part in topic.partitions.values() if part.leader >= 0}):
        told = _told_by(client, topic.name, node)
        if first is None:
            first = told
        elif told is not None:
            first.partitions += told.partitions
    return first


def _told_by(
    client: WireClient, name: str, node: int
) -> DescribeTopicPartitionsResponseTopic | None:
    found: DescribeTopicPartitionsResponseTopic | None = None
    cursor: Cursor | None = None
    while True:
        request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name)], cursor=cursor)
        try:
            answer = client.ask_node(
                node, request, DescribeTopicPartitionsResponse, client.deadline()
            )
        except ClientError:
            return found
        for topic in answer.topics:
            check(f"topic {name}", topic.error_code)
            if found is None:
                found = topic
            else:
                found.partitions += topic.partitions
        cursor = answer.next_cursor
        if cursor is None or cursor.topic_name != name:
            return found


def _groups_behind(client: WireClient, name: str, ends: dict[int, int]) -> dict[str, int]:
    """Of those that have read the topic at all."""
    behind = {}
    for group in list_groups(client)[:GROUPS_MAX]:
        reached = _reached(client, group, name)
        lag = sum(max(0, end - reached.get(index, 0)) for index, end in ends.items())
        if lag and reached:
            behind[group.name] = lag
    return behind


def _reached(client: WireClient, group: ListedGroup, name: str) -> dict[int, int]:
    """By partition of the topic, up to where the group has done with it."""
    if group.kind == SHARE:
        starts = share_starts(client, group.name).items()
        return {index: each.offset or 0 for (topic, index), each in starts if topic == name}
    committed = committed_offsets(client, group.name).items()
    return {index: max(each.offset, 0) for (topic, index), each in committed if topic == name}
