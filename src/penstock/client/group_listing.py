"""All groups of a cluster: every broker tells of those that it looks after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, check
from penstock.client.groups import CLASSIC, CONSUMER, SHARE
from penstock.wire.messages.k15_describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from penstock.wire.messages.k16_list_groups import ListGroupsRequest, ListGroupsResponse
from penstock.wire.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from penstock.wire.messages.k77_share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

EMPTY = "Empty"
_AT_ONCE = 100
"""Groups of one request: an answer holds all that is known of all their members."""


class ListedGroup(NamedTuple):
    name: str
    kind: str
    """classic, consumer, share, or what else the broker has."""
    state: str
    protocol_type: str
    coordinator: int


def list_groups(
    client: WireClient, states: Sequence[str] = (), kinds: Sequence[str] = ()
) -> list[ListedGroup]:
    """By name; only those in one of the states and of one of the kinds, if any are given."""
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(kinds))

    def attempt(deadline: float) -> list[ListedGroup]:
        found: list[ListedGroup] = []
        requests = dict.fromkeys(client.brokers(deadline), request)
        for node, answer in client.ask_nodes(requests, ListGroupsResponse, deadline).items():
            if isinstance(answer, ClientError):
                raise answer
            check(f"broker {node}", answer.error_code)
            found += _listed(answer, node)
        return sorted(found)

    return client.retry(attempt)


def member_counts(client: WireClient, groups: Iterable[ListedGroup]) -> dict[str, int]:
    """By name. A group that has moved or ended since it was listed is left out."""
    counts: dict[str, int] = {}
    asked: dict[tuple[int, str], list[str]] = {}
    for group in groups:
        if group.state == EMPTY:
            counts[group.name] = 0
        else:
            asked.setdefault((group.coordinator, group.kind), []).append(group.name)
    for (node, kind), names in asked.items():
        for some in _some_at_a_time(names):
            counts.update(_counted(client, node, kind, some))
    return counts


def _listed(answer: ListGroupsResponse, node: int) -> list[ListedGroup]:
    return [
        ListedGroup(
            each.group_id,
            each.group_type.lower() or CLASSIC,
            each.group_state,
            each.protocol_type,
            node,
        )
        for each in answer.groups
    ]


def _counted(client: WireClient, node: int, kind: str, names: list[str]) -> dict[str, int]:
    deadline = client.deadline()
    answer: ConsumerGroupDescribeResponse | DescribeGroupsResponse | ShareGroupDescribeResponse
    if kind == CONSUMER:
        asked = ConsumerGroupDescribeRequest(group_ids=names)
        answer = client.ask_node(node, asked, ConsumerGroupDescribeResponse, deadline)
    elif kind == CLASSIC:
        request = DescribeGroupsRequest(groups=names)
        answer = client.ask_node(node, request, DescribeGroupsResponse, deadline)
    elif kind == SHARE:
        shared = ShareGroupDescribeRequest(group_ids=names)
        answer = client.ask_node(node, shared, ShareGroupDescribeResponse, deadline)
    else:
        return {}
    return {each.group_id: len(each.members) for each in answer.groups if not each.error_code}


def _some_at_a_time(names: list[str]) -> Iterator[list[str]]:
    left = iter(names)
    while some := list(islice(left, _AT_ONCE)):
        yield some
